from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.comparators.lacovac.tree import LabelTrees

def fill(
    trees: LabelTrees, X: Features, Y: sparse.csr_array, rows: NDArray[np.int32], n_threads: int
) -> list[dict[str, NDArray[Any]]]:
    """Count the labels and labelsets in the leaves of each tree.

    X is [n_samples, n_features] in C order or CSR, Y [n_samples, n_labels] stores the positive
    labels with sorted indices, and `rows` [n_trees, n_rows] are the training rows of each tree.
    Returns arrays of `LabelTrees` for each tree, with ends instead of starts.
    """

def apply(trees: LabelTrees, tree: int, X: Features, n_threads: int) -> NDArray[np.int32]:
    """Return the leaf that predicts each label, [n_rows, n_labels]; X is in C order or CSR."""

def predict(trees: LabelTrees, X: Features, n_threads: int) -> NDArray[np.int8]:
    """Predict a labelset for each row with each tree, [n_rows, n_trees, n_labels]."""

def mean_proba(
    trees: LabelTrees, smoothing: float, X: Features, n_threads: int
) -> NDArray[np.float64]:
    """Average the marginal probabilities of the labels over the trees, [n_rows, n_labels].

    `smoothing` is added to the positive and to the negative instances of each label in a leaf.
    """
