from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.rdt.forest import TreeShape

KINDS: dict[str, int]
"""Numbers of the kinds of node."""

MAX_NODES: int
"""How many nodes the trees of a forest can have together."""

def grow(
    X: Features,
    categories: tuple[NDArray[np.float32], NDArray[np.int32]],
    is_sparse: NDArray[np.uint8],
    Y: NDArray[np.uint8],
    labelset: NDArray[np.int32],
    shape: TreeShape,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> dict[str, NDArray[Any]]:
    """Grow one tree per seed.

    X is [n_samples, n_features] in Fortran order or CSC. `categories` are what ``category_values``
    returns; a feature without is a number. `is_sparse` [n_features] tells which features a
    disjunction may join. Y is [n_samples, n_labels] in Fortran order.

    Returns the arrays of a `Forest`.

    Raises
    ------
    ValueError
        If the trees have more than `MAX_NODES` nodes.
    """
