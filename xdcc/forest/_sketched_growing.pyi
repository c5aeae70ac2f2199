from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.forest.columns import FeatureColumns
from xdcc.forest.forest import LabelRows, TreeShape

KINDS: dict[str, int]
"""Numbers of the kinds of node."""

MAX_NODES: int
"""How many nodes the trees of a forest can have together."""

def grow(
    columns: FeatureColumns,
    labels: LabelRows,
    shape: TreeShape,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> dict[str, NDArray[Any]]:
    """Grow one tree per seed.

    Returns the arrays of a `ExtraTrees` that trees consist of.

    Raises
    ------
    ValueError
        If the trees have more than `MAX_NODES` nodes.
    """

def samples(n_rows: int, n_sampled: int, seeds: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Tell which rows the trees of some seeds grow on: 1 or 0, [n_trees, n_rows]."""
