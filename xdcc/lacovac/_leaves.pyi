from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.lacovac.tree import LabelTrees

def fill(
    trees: LabelTrees, X: Features, Y: sparse.csr_array, rows: NDArray[np.int32], n_threads: int
) -> list[dict[str, NDArray[Any]]]:
    """Count labels and labelsets in the leaves of every tree, which got the rows in `rows`.

    X is [n_samples, n_features] in C order or CSR, Y [n_samples, n_labels] stores which labels a
    sample has, its indices sorted; `rows` is [n_trees, n_rows]. The arrays of each tree are those
    of `LabelTrees` with ends instead of starts.
    """

def apply(trees: LabelTrees, tree: int, X: Features, n_threads: int) -> NDArray[np.int32]:
    """Leaf that decides each label, [n_rows, n_labels], as a number of a node.

    X is [n_rows, n_features] in C order or CSR, here and below.
    """

def predict(trees: LabelTrees, tree: int, X: Features, n_threads: int) -> NDArray[np.int8]:
    """Labelset that a tree predicts for each row, [n_rows, n_labels]."""

def mean_proba(
    trees: LabelTrees, smoothing: float, X: Features, n_threads: int
) -> NDArray[np.float64]:
    """Average the labels' marginal probabilities over the trees, [n_rows, n_labels].

    `smoothing` is added to a leaf's positive and negative instances of every label.
    """
