from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.lacovac.tree import GrowthRules

KINDS: dict[str, int]
"""Numbers of the kinds of node."""

CRITERIA: dict[str, int]
"""Numbers of the criteria of horizontal splits."""

CLUSTERINGS: dict[str | None, int]
"""Numbers of the ways to separate labels."""

def grow(
    X: Features,
    category: NDArray[np.float32],
    category_start: NDArray[np.int32],
    label_start: NDArray[np.int64],
    label: NDArray[np.int32],
    nlogn: NDArray[np.float64],
    n_labels: int,
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    how: GrowthRules,
    n_threads: int,
) -> list[dict[str, NDArray[Any]]]:
    """Grow one tree per seed.

    X is [n_samples, n_features] in Fortran order or CSR. `category` holds the sorted values of the
    nominal features one after the other, those of feature f from ``category_start[f]`` on; a
    feature without is a number.
    Row i has the labels ``label[label_start[i]:label_start[i + 1]]``, sorted. `nlogn` is
    n log2(n) for n up to the number of a tree's rows; `rows` is [n_trees, n_rows]. Returns the
    arrays of each tree.
    """
