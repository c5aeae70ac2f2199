"""The kernels and their reference implementations grow and read the same forests."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import forest as reference
from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.columns import CategoryBins, FeatureColumns, are_sparse, feature_columns
from xdcc.forest.forest import ExtraTrees, TreeShape, grow_forest, label_rows, mean_proba

SHAPE = TreeShape(
    n_sampled=60, n_drawn_dense=3, sparse_share=0.4, min_samples_leaf=1, sketch_size=1
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


def columns_of(X, categorical, max_bin, n_threads) -> FeatureColumns:
    categories = CategoryBins.of(X, categorical, max_bin)
    return feature_columns(X, are_sparse(X, categorical), categories, max_bin, n_threads)


def assert_equal_forests(
    X, Y, shape=SHAPE, weight=None, *, categorical=CATEGORICAL, max_bin=20, n_threads=1
):
    columns = columns_of(X, categorical, max_bin, n_threads)
    labels = label_rows(Y, weight)
    seeds = np.array([0, 1, 7, 2**63], np.uint64)
    grown = grow_forest(columns, labels, shape, seeds, n_threads)
    expected = reference.grow_forest(columns, labels, shape, seeds)
    for field in fields(ExtraTrees):
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
    n_drawn=st.integers(0, 6),
    sparse_share=st.sampled_from([0, 0.3, 1]),
    min_samples_leaf=st.integers(1, 8),
    sketch_size=st.integers(0, 5),
    max_bin=st.sampled_from([2, 5, 255]),
)
@settings(max_examples=40, deadline=None)
def test_reference_and_kernel_agree_on_anything(
    seed, missing, unknown, binary, weighted, n_sampled, n_drawn, sparse_share,
    min_samples_leaf, sketch_size, max_bin,
):  # fmt: skip
    X, Y = labelled_rows(seed, binary=binary, missing=missing, unknown=unknown)
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).gamma(1, size=60).astype(np.float32)
    shape = TreeShape(n_sampled, n_drawn, sparse_share, min_samples_leaf, sketch_size)
    forest = assert_equal_forests(X, Y, shape, weight, max_bin=max_bin)
    assert_rows_reach_their_leaves(forest, X)
    rows, _ = labelled_rows(seed + 1, 10, binary=binary, missing=missing)
    rows[0] += 100  # categories that did not occur
    np.testing.assert_allclose(
        mean_proba(forest, rows, 1), reference.mean_proba(forest, Y, rows), rtol=1e-6, atol=1e-9
    )


def assert_rows_reach_their_leaves(forest, X):
    """A training row that a leaf lists reaches this leaf in prediction."""
    trees = np.repeat(np.arange(len(forest.start) - 1), np.diff(forest.start))
    for node in np.flatnonzero(forest.kind == KINDS["leaf"]):
        leaf = forest.child[node]
        for row in forest.row[forest.row_start[leaf] : forest.row_start[leaf + 1]]:
            assert reference.leaf_of(forest, trees[node], X[row]) == leaf


@given(
    seed=st.integers(0, 1000),
    n_rows=st.sampled_from([3, 30, 100]),
    n_values=st.sampled_from([2, 4, 1000]),
    n_drawn=st.integers(7, 30),
    weighted=st.booleans(),
    min_samples_leaf=st.integers(1, 4),
    sketch_size=st.integers(0, 5),
)
@settings(max_examples=30, deadline=None)
def test_batches_of_numeric_features(
    seed, n_rows, n_values, n_drawn, weighted, min_samples_leaf, sketch_size
):
    """Features are tried eight at a time; some are constant, in small nodes most of them."""
    random = np.random.default_rng(seed)
    X = (random.integers(0, n_values, (n_rows, 30)) + 1).astype(np.float32)
    X[:, random.random(30) < 0.2] = 1
    Y = (random.random((n_rows, 3)) < 0.3).astype(np.float32)
    weight = random.gamma(1, size=n_rows).astype(np.float32) if weighted else None
    shape = TreeShape(n_rows, n_drawn, 0, min_samples_leaf, sketch_size)
    assert_equal_forests(X, Y, shape, weight, categorical=np.zeros(30, bool), max_bin=255)


def test_batches_of_many_rows():
    """More than 255 rows on one side of a cut: more than a byte can count."""
    random = np.random.default_rng(0)
    X = (random.random((600, 16)) + 1).astype(np.float32)
    Y = (X[:, :1] < 1.1).astype(np.float32)
    columns = columns_of(X, np.zeros(16, bool), 255, 1)
    labels = label_rows(Y, None)
    shape = TreeShape(600, 16, 0, 1, 1)
    seeds = np.arange(20, dtype=np.uint64)
    grown = grow_forest(columns, labels, shape, seeds, 1)
    expected = reference.grow_forest(columns, labels, shape, seeds)
    np.testing.assert_array_equal(grown.threshold, expected.threshold)


@given(
    seed=st.integers(0, 1000),
    rate=st.sampled_from([0.005, 0.02, 0.15]),
    binary=st.booleans(),
    missing=st.sampled_from([0, 0.001]),
    weighted=st.booleans(),
    sketch_size=st.integers(0, 4),
)
@settings(max_examples=20, deadline=None)
def test_sparse_features_of_many_rows(seed, rate, binary, missing, weighted, sketch_size):
    """Nodes with sums of sparse features, of which some are on in few of the rows; both signs."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(160, 20)).astype(np.float32)
    X[:, :10] = np.abs(X[:, :10])
    X = np.where(random.random(X.shape) < rate, X != 0 if binary else X, 0).astype(np.float32)
    X[random.random(X.shape) < missing] = np.nan
    Y = (random.random((160, 3)) < 0.1).astype(np.float32)
    weight = random.gamma(1, size=160).astype(np.float32) if weighted else None
    shape = TreeShape(160, 0, 0.5, 1, sketch_size)
    assert_equal_forests(X, Y, shape, weight, categorical=np.zeros(20, bool))


@pytest.mark.parametrize("max_bin", [2, 10, 255])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_columns(convert, max_bin):
    X, _ = labelled_rows(missing=0.1)
    columns = columns_of(convert(X), CATEGORICAL, max_bin, 1)
    n_dense = len(columns.dense)
    assert sorted(columns.feature.tolist()) == list(range(14))
    assert not set(range(4)) & set(columns.feature[n_dense:].tolist())
    stored = np.nan_to_num(X[:, columns.feature[n_dense:]], nan=-7)
    by_rows = sparse.csr_array(stored)
    by_columns = sparse.csc_array(stored)
    for found, wanted in [
        (columns.row_start, by_rows.indptr),
        (columns.row_feature, by_rows.indices),
        (np.nan_to_num(columns.row_value, nan=-7), by_rows.data),
        (columns.column_start, by_columns.indptr),
        (columns.column_row, by_columns.indices),
        (np.nan_to_num(columns.column_value, nan=-7), by_columns.data),
    ]:
        np.testing.assert_array_equal(found, wanted)
    for number, feature in enumerate(columns.feature.tolist()):
        assert columns.has_missing[number] == np.isnan(X[:, feature]).any()
        if number < n_dense and not columns.is_category[number]:
            bins, edges = reference.bin_values(X[:, feature], max_bin)
            np.testing.assert_array_equal(columns.dense[number], bins)
            found = columns.edge[slice(*columns.edge_start[number : number + 2])]
            np.testing.assert_array_equal(found, edges)
        elif number >= n_dense:
            column = np.append(X[:, feature], 0)
            assert columns.least[number - n_dense] == np.nanmin(column)
            assert columns.largest[number - n_dense] == np.nanmax(column)


def test_many_categories_share_a_bin():
    X = np.repeat(np.arange(10, dtype=np.float32), np.arange(1, 11))[:, np.newaxis]
    columns = columns_of(X, np.array([True]), 4, 1)
    assert columns.category_bin.tolist() == [3] * 7 + [2, 1, 0]
    assert columns.dense.max() == 3
