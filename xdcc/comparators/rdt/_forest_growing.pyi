from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.comparators.rdt.forest import TreeShape

KINDS: dict[str, int]
"""Codes of the kinds of nodes."""

MAX_NODES: int
"""Maximum number of nodes of a forest."""

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
    """Grow one tree per seed and return the arrays of a `Forest`.

    X is [n_samples, n_features] in Fortran order or CSC, Y [n_samples, n_labels] in Fortran order.
    `categories` is the result of ``category_values``; features without categories are numeric.
    `is_sparse` [n_features] marks the features that disjunctions may join. Raises ValueError if the
    trees have more than `MAX_NODES` nodes.
    """
