"""The kernels and their reference implementations agree bit for bit."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import rdt as reference
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.comparators.rdt.chains import ChainRule, run_chain
from xdcc.comparators.rdt.forest import TreeShape, Weighting, forest_posteriors, grow_forest
from xdcc.decision.labelsets import number_labelsets

SHAPE = {
    "max_depth": 30, "min_samples_split": 4, "label_test_fraction": 0.2, "disjunction_size": 1,
    "retry": False,
}  # fmt: skip


def rows_to_grow(seed):
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
    given = labelset, categorical, TreeShape(**SHAPE | shape), seeds
    grown = grow_forest(X, Y, *given, n_threads)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = reference.grow_forest(dense, Y, *given)
    for field in fields(expected):
        found, wanted = getattr(grown, field.name), getattr(expected, field.name)
        np.testing.assert_array_equal(found, wanted, field.name, strict=True)
    return set(grown.kind.tolist())


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("retry", [False, True])
@pytest.mark.parametrize("fraction", [0, 0.2, 1])
@pytest.mark.parametrize("missing", [0, 0.2])
def test_forests_equal_the_reference(n_threads, retry, fraction, missing):
    X, Y = rows_to_grow(seed=0)
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    kinds = assert_equal_forests(
        X, Y, n_threads=n_threads, retry=retry, label_test_fraction=fraction
    )
    assert kinds == {0: {0, 1, 2}, 0.2: {0, 1, 2, 3}, 1: {0, 3}}[fraction]


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("retry", [False, True])
def test_disjunctions(convert, retry):
    X, Y = rows_to_grow(seed=2)
    X[3, 5] = np.nan
    X[:9, 0] = np.nan
    kinds = assert_equal_forests(convert(X), Y, disjunction_size=3, retry=retry)
    assert kinds == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("shape", [{"max_depth": 0}, {"max_depth": 3}, {"min_samples_split": 40}])
def test_limits_of_trees(shape):
    assert_equal_forests(*rows_to_grow(seed=3), **shape)


def test_path_ends_after_testing_all_labels():
    X, Y = rows_to_grow(seed=4)
    Y[:] = np.arange(70)[:, np.newaxis] >> np.arange(4) & 1
    assert_equal_forests(X, Y, label_test_fraction=1, min_samples_split=2)


RULES = [
    (order, threshold, candidates, early_stop)
    for order in (False, True)
    for threshold in ("label", "probability")
    for candidates in (("open",) if order else ("open", "positive"))
    for early_stop in (False, True)
]


def mixed_data(seed, n_rows=40):
    """Numbers, mostly zeros, categories, missing values; labels that depend on each other."""
    rng = np.random.default_rng(seed)
    X = np.hstack(
        (
            rng.normal(size=(n_rows, 2)).round(1),
            (rng.random((n_rows, 3)) < 0.3) * rng.integers(1, 3, (n_rows, 3)),
            rng.integers(0, 4, (n_rows, 1)),
        )
    ).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    Y = (rng.random((n_rows, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(np.int8)
    Y[:, 3] |= Y[:, 0] & Y[:, 1]
    return X, Y


def drawn_model(seed, **params):
    X, Y = mixed_data(seed)
    settings = {"n_estimators": 5, "label_test_fraction": 0.4, "disjunction_size": 2}
    model = RandomDecisionTreeClassifier(
        **settings | params, categorical_features=[5], random_state=seed, n_jobs=1
    )
    return model.fit(X, Y), mixed_data(seed + 1, 6)[0]


@pytest.mark.parametrize(("static", "threshold", "candidates", "early_stop"), RULES)
@given(
    seed=st.integers(0, 1000),
    gini=st.booleans(),
    exponent=st.sampled_from([0.0, 0.5]),
    sigma=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=8, deadline=None)
def test_chains_equal_the_reference(
    static, threshold, candidates, early_stop, seed, gini, exponent, sigma
):
    model, X = drawn_model(seed)
    order = np.random.default_rng(seed).permutation(4) if static else None
    rule = ChainRule(order, threshold, candidates, early_stop)
    weighting = Weighting(gini, exponent)
    kernel = run_chain(model.forest_, X, rule, weighting, sigma=sigma, n_threads=1)
    expected = reference.run_chain(model.forest_, X, rule, weighting, sigma=sigma)
    for field in ("Y_pred", "Y_proba", "labels", "numbers"):
        np.testing.assert_array_equal(getattr(kernel, field), getattr(expected, field), field)


@given(
    seed=st.integers(0, 1000),
    labelsets=st.booleans(),
    redraw=st.booleans(),
    fraction=st.sampled_from([0.0, 0.4, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_posteriors_equal_the_reference(seed, labelsets, redraw, fraction):
    model, X = drawn_model(seed, redraw=redraw, label_test_fraction=fraction)
    known = np.random.default_rng(seed).integers(-1, 2, (len(X), 4)).astype(np.int8)
    weighting = Weighting(True, 0.0)
    proba, number = forest_posteriors(
        model.forest_, X, weighting, sigma=0.7, known=known, labelsets=labelsets, n_threads=1
    )
    for row, x in enumerate(X):
        expected = reference.posteriors(
            model.forest_, x, known[row], weighting, 0.7, labelsets=labelsets
        )
        np.testing.assert_array_equal(proba[row], expected[0])
        assert number[row] == expected[1]


def test_every_kind_of_node_occurs():
    kinds = np.concatenate([drawn_model(seed)[0].forest_.kind for seed in range(3)])
    assert sorted(set(kinds.tolist())) == [0, 1, 2, 3, 4]
