"""The kernel that grows trees and its slow twin grow the same forest, to the last bit."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from xdcc.decision.labelsets import number_labelsets
from xdcc.rdt import growth_reference
from xdcc.rdt.forest import TreeShape, grow_forest

DEFAULT = {
    "max_depth": 30, "min_samples_split": 4, "label_test_fraction": 0.2, "disjunction_size": 1,
    "retry": False,
}  # fmt: skip


def rows(seed):
    """Numbers, discrete features, many zeros, a constant, and missing values."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(70, 9)).round(1).astype(np.float32)
    X[:, 2] = random.integers(-1, 3, 70)
    X[:, 3] = random.integers(0, 2, 70)
    X[:, 4:8] *= random.random((70, 4)) < 0.3
    X[:, 8] = 1
    Y = (random.random((70, 4)) < 0.3).astype(np.float32)
    return X, Y


def assert_equal_forests(X, Y, *, n_threads=1, **shape):
    categorical = np.isin(np.arange(X.shape[1]), [2, 3])
    seeds = np.array([0, 1, 7, 2**63], np.uint64)
    _, labelset = number_labelsets(Y)
    given = labelset, categorical, TreeShape(**DEFAULT | shape), seeds
    grown = grow_forest(X, Y, *given, n_threads)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = growth_reference.grow_forest(dense, Y, *given)
    for field in fields(expected):
        found, wanted = getattr(grown, field.name), getattr(expected, field.name)
        np.testing.assert_array_equal(found, wanted, field.name, strict=True)
    return set(grown.kind.tolist())


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("retry", [False, True])
@pytest.mark.parametrize("fraction", [0, 0.2, 1])
@pytest.mark.parametrize("missing", [0, 0.2])
def test_twin_and_kernel_agree(n_threads, retry, fraction, missing):
    X, Y = rows(seed=0)
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    kinds = assert_equal_forests(
        X, Y, n_threads=n_threads, retry=retry, label_test_fraction=fraction
    )
    assert kinds == {0: {0, 1, 2}, 0.2: {0, 1, 2, 3}, 1: {0, 3}}[fraction]


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("retry", [False, True])
def test_disjunctions(convert, retry):
    X, Y = rows(seed=2)
    X[3, 5] = np.nan
    X[:9, 0] = np.nan
    kinds = assert_equal_forests(convert(X), Y, disjunction_size=3, retry=retry)
    assert kinds == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("shape", [{"max_depth": 0}, {"max_depth": 3}, {"min_samples_split": 40}])
def test_limits_of_trees(shape):
    assert_equal_forests(*rows(seed=3), **shape)


def test_label_tests_alone_use_up_the_labels():
    """A path ends where every label has been tested."""
    X, Y = rows(seed=4)
    Y[:] = np.arange(70)[:, np.newaxis] >> np.arange(4) & 1
    assert_equal_forests(X, Y, label_test_fraction=1, min_samples_split=2)
