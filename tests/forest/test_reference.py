"""The kernels and their reference implementations grow and read the same forests."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import forest as reference
from xdcc.forest.bins import MISSING, bin_features
from xdcc.forest.forest import Forest, TreeShape, grow_forest, label_rows, mean_proba

SHAPE = TreeShape(
    n_sampled=60, n_drawn_dense=3, n_drawn_sparse=3, min_samples_leaf=1, sketch_size=1
)
CATEGORICAL = np.isin(np.arange(14), [2, 3])


def labelled_rows(seed=0, n_rows=60, *, binary=False, missing=0.0, unknown=0.0):
    """Numbers, discrete features, sparse features, a constant; missing values, unknown labels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 14)).round(1).astype(np.float32)
    X[:, 2] = random.integers(0, 7, n_rows)
    X[:, 3] = random.integers(0, 2, n_rows)
    X[:, 5] = 1
    X[:, 6:] *= random.random((n_rows, 8)) < 0.1
    if binary:
        X[:, 6:] = X[:, 6:] != 0
    X[random.random(X.shape) < missing] = np.nan
    Y = (random.random((n_rows, 5)) < 0.3).astype(np.float32)
    Y[random.random(Y.shape) < unknown] = np.nan
    return X, Y


def assert_equal_forests(X, Y, shape=SHAPE, weight=None, *, max_bin=20, n_threads=1):
    bins = bin_features(X, CATEGORICAL, max_bin, n_threads)
    labels = label_rows(Y, weight)
    seeds = np.array([0, 1, 7, 2**63], np.uint64)
    grown = grow_forest(bins, labels, shape, seeds, n_threads)
    expected = reference.grow_forest(bins, labels, shape, seeds)
    for field in fields(Forest):
        found, wanted = getattr(grown, field.name), getattr(expected, field.name)
        if field.name == "labels":
            assert found is wanted
        else:
            np.testing.assert_array_equal(found, wanted, field.name, strict=True)
    return grown


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("sketch_size", [0, 1, 2, 4])
def test_reference_and_kernel_agree(n_threads, missing, sketch_size):
    X, Y = labelled_rows(missing=missing)
    shape = SHAPE._replace(sketch_size=sketch_size)
    forest = assert_equal_forests(X, Y, shape, n_threads=n_threads)
    assert set(forest.kind.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("binary", [False, True])
def test_sparse_features(convert, binary):
    X, Y = labelled_rows(1, binary=binary)
    forest = assert_equal_forests(convert(X), Y)
    assert (forest.feature >= 6).any()


@given(
    seed=st.integers(0, 1000),
    missing=st.sampled_from([0, 0.05, 0.3]),
    unknown=st.sampled_from([0, 0.2]),
    binary=st.booleans(),
    weighted=st.booleans(),
    n_sampled=st.sampled_from([60, 35]),
    drawn=st.tuples(st.integers(0, 6), st.integers(0, 8)),
    min_samples_leaf=st.integers(1, 8),
    sketch_size=st.integers(0, 3),
    max_bin=st.sampled_from([3, 5, 255]),
)
@settings(max_examples=40, deadline=None)
def test_reference_and_kernel_agree_on_anything(
    seed, missing, unknown, binary, weighted, n_sampled, drawn, min_samples_leaf, sketch_size,
    max_bin,
):  # fmt: skip
    X, Y = labelled_rows(seed, binary=binary, missing=missing, unknown=unknown)
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).gamma(1, size=60).astype(np.float32)
    shape = TreeShape(n_sampled, *drawn, min_samples_leaf, sketch_size)
    forest = assert_equal_forests(X, Y, shape, weight, max_bin=max_bin)
    rows, _ = labelled_rows(seed + 1, 10, binary=binary, missing=missing)
    rows[0] += 100  # categories that did not occur
    np.testing.assert_allclose(
        mean_proba(forest, rows, 1), reference.mean_proba(forest, Y, rows), rtol=1e-6, atol=1e-9
    )


@given(seed=st.integers(0, 1000), max_bin=st.integers(3, 40), n_rows=st.integers(2, 80))
@settings(max_examples=40, deadline=None)
def test_bins(seed, max_bin, n_rows):
    X, _ = labelled_rows(seed, n_rows, missing=0.1)
    bins = bin_features(X, np.zeros(14, bool), max_bin, 1)
    n_dense = len(bins.dense)
    by_columns = sparse.csr_matrix(
        (bins.row_bin + 1, bins.row_feature, bins.row_start), shape=(n_rows, 14 - n_dense)
    ).tocsc()
    np.testing.assert_array_equal(by_columns.data, bins.column_bin + 1)
    np.testing.assert_array_equal(by_columns.indices, bins.column_row)
    np.testing.assert_array_equal(by_columns.indptr, bins.column_start)
    for number, feature in enumerate(bins.feature.tolist()):
        expected, low, high = reference.bin_values(
            X[:, feature], max_bin, zero_apart=number >= n_dense
        )
        part = slice(bins.start[number], bins.start[number + 1])
        np.testing.assert_array_equal(bins.low[part], low)
        np.testing.assert_array_equal(bins.high[part], high)
        assert bins.has_missing[number] == (expected == MISSING).any()
        if number < n_dense:
            np.testing.assert_array_equal(bins.dense[number], expected)
        else:
            stored = X[:, feature] != 0
            column = slice(*bins.column_start[number - n_dense :][:2])
            np.testing.assert_array_equal(bins.column_row[column], np.flatnonzero(stored))
            np.testing.assert_array_equal(bins.column_bin[column], expected[stored])
            assert set(expected[~stored].tolist()) <= {int(bins.default[number - n_dense])}


def test_many_categories_share_a_bin():
    X = np.repeat(np.arange(10, dtype=np.float32), np.arange(1, 11))[:, np.newaxis]
    bins = bin_features(X, np.array([True]), 4, 1)
    assert bins.category_bin.tolist() == [3] * 7 + [2, 1, 0]
    assert bins.dense.max() == 3
