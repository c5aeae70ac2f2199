from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.comparators.lacovac.tree import GrowthRules

KINDS: dict[str, int]
"""Codes of the kinds of nodes."""

def grow(
    X: Features,
    Y: sparse.csr_array,
    categories: tuple[NDArray[np.float32], NDArray[np.int32]],
    rules: GrowthRules,
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> list[dict[str, NDArray[Any]]]:
    """Grow one tree per seed and return its arrays, named as in `LabelTrees`.

    X is [n_samples, n_features] in Fortran order or CSR. Y [n_samples, n_labels] stores the
    positive labels with sorted indices. `categories` is the result of ``category_values``; features
    without categories are numeric. `rows` is [n_trees, n_rows].
    """
