"""Columns made of features: complete, scaled, the same whatever the form of X."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from xdcc.linear import columns as module
from xdcc.linear.columns import Columns


def learn(X, n_categories=None, weight=None, text_like=None):
    n_features = X.shape[1]
    categories = np.zeros(n_features, np.intp) if n_categories is None else np.array(n_categories)
    return Columns.learn(X, categories, weight, text_like)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def words(n_rows=60, n_words=80, seed=0):
    return np.random.default_rng(seed).poisson(0.2, (n_rows, n_words)).astype(np.float32)


def test_numbers_are_divided_by_their_deviations():
    X = np.random.default_rng(0).normal([5, -3], [2, 0.1], (100, 2)).astype(np.float32)
    scaler = StandardScaler(with_mean=False).fit(X.astype(float))
    assert learn(X).transform(X) == pytest.approx(scaler.transform(X.astype(float)))


def test_text_is_what_scikit_learn_makes_of_it():
    X = words()
    columns = learn(X)
    assert columns.text_like
    expected = TfidfTransformer().fit_transform(sparse.csr_matrix(X, dtype=float))
    for form in (X, sparse.csr_matrix(X)):
        found = columns.transform(form)
        assert sparse.issparse(found)
        assert dense(found) == pytest.approx(dense(expected))


def test_rows_without_words_are_zero():
    X = words()
    columns = learn(X)
    assert not columns.transform(np.zeros_like(X)).toarray().any()


@pytest.mark.parametrize(
    ("X", "text_like"),
    [
        (words(), True),
        (words(n_words=49), False),
        (words() - 1e-3, False),
        (words() + (np.arange(80) < 30), False),
        (np.where(np.arange(80) < 30, np.nan, words()), True),
        (np.full((3, 80), np.nan), False),
    ],
    ids=["words", "few features", "negative", "few zeros", "missing", "all missing"],
)
def test_what_is_taken_for_text(X, text_like):
    X = X.astype(np.float32)
    assert learn(X).text_like is text_like
    assert learn(sparse.csr_matrix(X)).text_like is text_like
    assert learn(X, text_like=not text_like).text_like is not text_like


def test_explicit_zeros_are_zeros():
    X = sparse.csr_matrix(words())
    zeros = X.copy()
    zeros.data[::3] = 0
    without = zeros.copy()
    without.eliminate_zeros()
    assert learn(zeros).scale == pytest.approx(learn(without).scale)


def test_categories_are_no_text():
    X = words()
    assert not learn(X, n_categories=[9] + [0] * 79).text_like


def test_missing_numbers_are_means_and_marked():
    X = np.array([[1, 2, 0], [np.nan, 4, 0], [3, np.nan, 5]], np.float32)
    expected = [[1, 2, 0, 0, 0], [2, 4, 0, 1, 0], [3, 3, 5, 0, 1]]
    for form in (X, sparse.csr_matrix(X)):
        assert dense(learn(form).complete(form)) == pytest.approx(np.array(expected))


def test_missing_values_that_training_had_none_of_are_means():
    X = np.array([[1, 2], [3, 6]], np.float32)
    new = np.array([[np.nan, 0]], np.float32)
    for form in (X, sparse.csr_matrix(X)):
        columns = learn(form)
        assert dense(columns.complete(new)).tolist() == [[2, 0]]
        assert dense(columns.complete(sparse.csr_matrix(new))).tolist() == [[2, 0]]


def test_a_feature_that_is_missing_everywhere():
    X = np.array([[1, np.nan], [3, np.nan]], np.float32)
    for form in (X, sparse.csr_matrix(X)):
        assert dense(learn(form).transform(form))[:, 1:].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("most_entries", [0, 2**25])
def test_categories_are_one_column_per_value(monkeypatch, most_entries):
    monkeypatch.setattr(module, "_MOST_ENTRIES", most_entries)
    X = np.array([[0.5, 2, 0], [1.5, np.nan, 1], [2.5, 0, 1]], np.float32)
    columns = learn(X, n_categories=[0, 3, 2])
    expected = [
        [0.5, 0, 0, 1, 1, 0, 0],
        [1.5, 0, 0, 0, 0, 1, 1],
        [2.5, 1, 0, 0, 0, 1, 0],
    ]
    complete = columns.complete(X)
    assert sparse.issparse(complete) is (most_entries == 0)
    assert dense(complete).tolist() == expected
    values = {1: np.array(["a", "b", "c"]), 2: np.array([False, True])}
    assert columns.names(["x", "colour", "big"], values).tolist() == [
        "x",
        "colour=a",
        "colour=b",
        "colour=c",
        "big=False",
        "big=True",
        "colour is missing",
    ]


@pytest.mark.parametrize("text_like", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_weights_are_repeated_rows(make, text_like):
    rng = np.random.default_rng(0)
    X = words()
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 3, len(X)).astype(np.float32)
    weighted = learn(make(X), weight=weight, text_like=text_like)
    repeated = learn(make(np.repeat(X, weight.astype(int), axis=0)), text_like=text_like)
    assert weighted.fill == pytest.approx(repeated.fill)
    assert weighted.scale == pytest.approx(repeated.scale)
    assert weighted.has_indicator.tolist() == repeated.has_indicator.tolist()


def test_constant_columns_count_for_nothing():
    X = np.tile(np.float32([0, 1e6, 0.1]), (7, 1))
    X[:, 0] = range(7)
    for form in (X, sparse.csr_matrix(X)):
        assert (learn(form).scale > 0).tolist() == [True, False, False]


def test_X_is_not_changed():
    X = sparse.csr_matrix(np.where(words() == 1, np.nan, words()))
    before = X.copy()
    learn(X).transform(X)
    assert (X.indices == before.indices).all()
    assert X.data == pytest.approx(before.data, nan_ok=True)
