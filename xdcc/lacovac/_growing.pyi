from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.lacovac.tree import GrowthRules

KINDS: dict[str, int]
"""Numbers of the kinds of node."""

def grow(
    X: Features,
    Y: sparse.csr_array,
    categories: tuple[NDArray[np.float32], NDArray[np.int32]],
    rules: GrowthRules,
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> list[dict[str, NDArray[Any]]]:
    """Grow one tree per seed.

    X is [n_samples, n_features] in Fortran order or CSR, Y [n_samples, n_labels] stores which
    labels a sample has, its indices sorted. `categories` are what ``category_values`` returns; a
    feature without is a number. `rows` is [n_trees, n_rows]. Returns the arrays of each tree,
    named as in `LabelTrees`.
    """
