from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.validation import Features
from xdcc.rdt.forest import Forest

KINDS: dict[str, int]
"""Numbers of the kinds of node."""

def build(
    X: Features,
    category: NDArray[np.float32],
    category_start: NDArray[np.int32],
    sparse_feature: NDArray[np.int32],
    is_sparse: NDArray[np.uint8],
    Y: NDArray[np.uint8],
    labelset: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    max_depth: int,
    min_samples_split: int,
    label_test_fraction: float,
    disjunction_size: int,
    retry: bool,
    n_threads: int,
) -> dict[str, NDArray[Any]]:
    """Grow one tree per seed.

    X is [n_samples, n_features] in Fortran order or CSC. `category` holds the sorted values of the
    discrete features one after the other, those of feature f from ``category_start[f]`` on; a
    feature without is a number.
    Y is [n_samples, n_labels] in Fortran order. Returns the arrays of a `Forest`.
    """

def posteriors(
    forest: Forest,
    X: Features,
    known: NDArray[np.int8] | None,
    labelsets: bool,
    sigma: float,
    gini: bool,
    size_exponent: float,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posteriors of labels (labelsets) [n_rows, n_labels (n_labelsets)], and R [n_rows].

    X is in C order or CSR.
    """

def chain(
    forest: Forest,
    X: Features,
    order: NDArray[np.int64] | None,
    by_number: bool,
    positive_only: bool,
    early_stop: bool,
    sigma: float,
    gini: bool,
    size_exponent: float,
    n_threads: int,
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Decide the labels of every instance one after the other.

    Returns decisions and their probabilities by label, and the labels and R by iteration, -1 and
    NaN where the chain had ended; all are [n_rows, n_labels].
    """
