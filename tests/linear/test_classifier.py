"""`LogisticLabels`: the solutions of scikit-learn and of the reference, for every kind of data."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.reference import linear as reference
from xdcc.base import side_by_side
from xdcc.base.folds import TrainsOutOfFold, stratified_folds
from xdcc.data import make_multilabel
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.linear import LogisticLabels, classifier
from xdcc.linear.logistic import Penalty


def numbers(n_rows=150, n_features=6, n_labels=4, seed=0, **params):
    data = make_multilabel(n_rows, n_features, n_labels, random_state=seed, **params)
    return data.X.astype(np.float32), data.Y.astype(float)


def words(n_rows=150, n_words=60, n_labels=4, seed=0):
    """Counts of words, and labels that depend on a few of them."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.25, (n_rows, n_words)).astype(np.float32)
    coef = 3 * rng.normal(size=(n_words, n_labels)) * (rng.random((n_words, n_labels)) < 0.2)
    z = X @ coef
    return X, (z + rng.logistic(size=z.shape) > 0).astype(float)


def of_scikit_learn(scaler, C, X, Y, X_new):
    """Log-odds by a pipeline per label, in double precision."""
    X, X_new = X.astype(float), X_new.astype(float)
    models = [
        make_pipeline(scaler, LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8)).fit(X, y)
        for y in Y.T
    ]
    return np.column_stack([model.decision_function(X_new) for model in models])


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_agrees_with_scikit_learn(C, make):
    X, Y = numbers()
    X = X * np.float32([1, 10, 100, 0.1, 1, 1]) + np.float32([0, 5, -50, 1, 0, 0])
    model = LogisticLabels(C=C).fit(make(X[:100]), Y[:100])
    expected = of_scikit_learn(StandardScaler(), C, X[:100], Y[:100], X[100:])
    assert model.decision_function(make(X[100:])) == pytest.approx(expected, abs=1e-3, rel=1e-3)
    margins = X[100:].astype(float) @ model.coef_.T + model.intercept_
    assert model.decision_function(X[100:]) == pytest.approx(margins, abs=1e-8)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_agrees_with_scikit_learn_on_text(C, make):
    X, Y = words()
    model = LogisticLabels(C=C).fit(make(X[:100]), Y[:100])
    assert model.text_like_
    expected = of_scikit_learn(TfidfTransformer(), C, X[:100], Y[:100], X[100:])
    assert model.decision_function(make(X[100:])) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("make_data", "text_like"), [(numbers, False), (words, True)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_agrees_with_the_reference(make_data, text_like, make):
    """Missing values, unknown labels and weights."""
    X, Y = make_data()
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    Y[rng.random(Y.shape) < 0.2] = np.nan
    weight = rng.integers(0, 3, len(X)).astype(float)
    model = LogisticLabels(C=2.0).fit(make(X), Y, sample_weight=weight)
    expected = reference.margins(X.astype(float), Y, weight, 2.0, text_like)
    assert model.text_like_ is text_like
    assert model.decision_function(make(X)) == pytest.approx(expected, abs=2e-3)


def test_strengths_of_each_label():
    X, Y = numbers()
    together = LogisticLabels(C=[0.1, 10.0, 0.1, 1.0]).fit(X, Y)
    assert together.C_.tolist() == [0.1, 10.0, 0.1, 1.0]
    for label, C in enumerate(together.C_):
        alone = LogisticLabels(C=C).fit(X, Y[:, [label]])
        assert together.coef_[label] == pytest.approx(alone.coef_[0], abs=1e-4)


def test_the_strength_is_near_the_best_of_scikit_learn():
    X, Y = numbers(400, 20)
    model = LogisticLabels().fit(X[:200], Y[:200])
    grid = 10.0 ** (np.arange(-8, 5) / 2)

    def loss(z):
        return np.mean(np.logaddexp(0, z) - Y[200:] * z)

    losses = [loss(of_scikit_learn(StandardScaler(), C, X[:200], Y[:200], X[200:])) for C in grid]
    assert loss(model.decision_function(X[200:])) < min(losses) * 1.02
    assert set(model.C_.round(10)) <= set(grid.round(10))
    assert len(set(model.C_)) <= 3


@pytest.mark.parametrize("make_data", [numbers, words])
def test_out_of_fold(make_data):
    X, Y = make_data()
    Y[3, 0] = np.nan
    weight = np.linspace(0.5, 2, len(X)).astype(np.float32)
    folds = stratified_folds(Y, 3, 0)
    model = LogisticLabels()
    found = model.out_of_fold(X, Y, folds, weight)
    assert isinstance(model, TrainsOutOfFold)
    assert not hasattr(model, "coef_")
    assert len(found.estimators) == 3
    for fold, estimator in enumerate(found.estimators):
        rows = folds == fold
        assert estimator.decision_function(X[rows]) == pytest.approx(found.margins[rows], abs=1e-3)
        assert np.array_equal(estimator.C_, found.unfitted.C)
    given = LogisticLabels(C=found.unfitted.C).out_of_fold(X, Y, folds, weight)
    assert given.margins == pytest.approx(found.margins, abs=0.15)
    assert found.unfitted.fit(X, Y, weight).C_.tolist() == found.unfitted.C.tolist()
    mean = classifier.mean_model(found.estimators)
    together = np.mean([each.decision_function(X) for each in found.estimators], axis=0)
    np.testing.assert_allclose(mean.decision_function(X), together, rtol=1e-12, atol=1e-12)
    assert (mean.coef_ != found.estimators[0].coef_).any()
    with pytest.raises(ValueError, match="folds has the shape"):
        model.out_of_fold(X, Y, folds[1:], weight)


@pytest.mark.parametrize("ensemble", [True, False])
def test_decision_rules_take_it(ensemble):
    X, Y = numbers(60)
    tuned = TunedDecisionClassifierCV(LogisticLabels(), cv=3, ensemble=ensemble)
    assert tuned.fit(X, Y).predict(X).shape == Y.shape


def test_forms_of_X():
    X, Y = words()
    dense, sparse_ = (LogisticLabels().fit(form, Y) for form in (X, sparse.csr_matrix(X)))
    assert dense.C_.tolist() == sparse_.C_.tolist()
    assert dense.coef_ == pytest.approx(sparse_.coef_, abs=1e-9)
    assert dense.predict_proba(sparse.csr_matrix(X)) == pytest.approx(sparse_.predict_proba(X))


@pytest.mark.parametrize("make_data", [numbers, words])
def test_threads_do_not_change_the_model(make_data, monkeypatch):
    monkeypatch.setattr(side_by_side, "_LEAST_ENTRIES", 0)
    X, Y = make_data(n_labels=70, n_rows=90)
    one, two = (LogisticLabels(n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)
    assert np.array_equal(one.C_, two.C_)


def test_seeds():
    X, Y = numbers(60)
    one, other = (LogisticLabels(random_state=seed).fit(X, Y) for seed in (1, 1))
    assert np.array_equal(one.coef_, other.coef_)
    random = np.random.RandomState(1)
    assert LogisticLabels(random_state=random).fit(X, Y).coef_.shape == one.coef_.shape


@pytest.mark.filterwarnings("ignore:Only positives are known")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 40),
    n_features=st.integers(1, 8),
    C=st.floats(1e-3, 1e2),
    unknown=st.sampled_from([0.0, 0.5]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_properties(seed, n_rows, n_features, C, unknown, missing):
    """A label does not depend on the others, and units, order and copies of rows do not matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    Y = rng.integers(0, 2, (n_rows, 3)).astype(float)
    Y[1:][rng.random((n_rows - 1, 3)) < unknown] = np.nan
    weight = rng.integers(1, 3, n_rows)
    model = LogisticLabels(C=C, n_jobs=1).fit(X, Y, sample_weight=weight)
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    assert proba == pytest.approx(expit(model.decision_function(X)))
    order = rng.permutation(n_rows)
    order = np.repeat(order, weight[order])
    other = LogisticLabels(C=C, n_jobs=1).fit(4 * X[order], Y[order][:, [2]])
    constant = np.nanmin(Y[:, 2]) == np.nanmax(Y[:, 2])
    if not constant:  # of a constant label the number of rows counts, not their weights
        assert proba[:, [2]] == pytest.approx(other.predict_proba(4 * X), abs=2e-3)


def test_constant_labels():
    X, Y = numbers(30)
    Y[:, 1], Y[:, 2] = 0, 1
    for C in ("auto", 1.0):
        proba = LogisticLabels(C=C).fit(X, Y).predict_proba(X)
        assert proba[:, 1] == pytest.approx(np.full(30, 1 / 32))
        assert proba[:, 2] == pytest.approx(np.full(30, 31 / 32))


def test_labels_that_are_constant_without_a_fold():
    X, Y = numbers(40)
    Y[:, 0] = 0
    Y[7, 0] = 1
    model = LogisticLabels().fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.predict_proba(X)[:, 0].mean() == pytest.approx(1 / 40, abs=1e-4)


def test_unknown_rows_count_for_nothing():
    X, Y = numbers()
    Y[100:] = np.nan
    weight = (np.arange(len(X)) < 100).astype(float)
    one = LogisticLabels(C=1.0).fit(X, Y, sample_weight=weight)
    other = LogisticLabels(C=1.0).fit(X[:100], Y[:100])
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-4)


def test_a_label_that_is_unknown_everywhere():
    X, Y = numbers()
    Y[:, 3] = np.nan
    with pytest.warns(UserWarning, match="label 'label_3'. "):
        model = LogisticLabels(C=1.0).fit(X, Y)
    assert (model.predict_proba(X)[:, 3] < 0.01).all()


def test_one_binary_target():
    X, Y = numbers()
    y = np.where(Y[:, 0] == 1, "yes", "no")
    model = LogisticLabels().fit(X, y)
    matrix = LogisticLabels().fit(X, Y[:, [0]])
    assert model.decision_function(X).shape == (len(X),)
    assert model.decision_function(X) == pytest.approx(matrix.decision_function(X)[:, 0])
    assert model.predict_proba(X)[:, [1]] == pytest.approx(matrix.predict_proba(X))
    assert ((model.predict(X) == "yes") == matrix.predict(X)[:, 0]).all()


def frame():
    X, Y = numbers(200)
    X = pd.DataFrame(X, columns=list("abcdef"))
    X["colour"] = pd.Categorical(np.where(Y[:, 0] == 1, "red", np.where(X["a"] > 0, "blue", "no")))
    X.loc[:4, "colour"] = np.nan
    X.loc[5:9, "b"] = np.nan
    return X, pd.DataFrame(Y, columns=["p", "q", "r", "s"])


def test_categories_have_a_column_for_each_value():
    X, Y = frame()
    model = LogisticLabels().fit(X, Y)
    names = [*"abcdef", "colour=blue", "colour=no", "colour=red", "b is missing"]
    assert model.coef_names_.tolist() == [*names, "colour is missing"]
    red = model.coef_names_.tolist().index("colour=red")
    assert model.coef_[0, red] == model.coef_[0].max()
    assert model.coef_.shape == (4, 11)
    assert model.label_names_.tolist() == ["p", "q", "r", "s"]


def test_a_new_category_is_none_of_the_known_ones():
    X, Y = frame()
    model = LogisticLabels(C=1.0, unknown_categories="missing").fit(X, Y)
    new, missing = X.iloc[20:21].copy(), X.iloc[20:21].copy()
    new["colour"] = pd.Categorical(["green"])
    missing["colour"] = pd.Categorical([None], categories=["red"])
    with pytest.warns(UserWarning, match="did not occur in fit, in column 'colour'"):
        proba = model.predict_proba(new)
    assert proba == pytest.approx(model.predict_proba(missing))


def test_a_text_may_be_forced_or_refused():
    X, Y = words()
    assert not LogisticLabels(C=1.0, text_like=False).fit(X, Y).text_like_
    X, Y = numbers()
    assert LogisticLabels(C=1.0, text_like=True).fit(np.abs(X), Y).text_like_


def test_features_that_are_not_rotated(monkeypatch):
    X, Y = numbers()
    rotated = LogisticLabels(C=1.0).fit(X, Y)
    monkeypatch.setattr("xdcc.linear.design.MOST_AXES", 2)
    plain = LogisticLabels(C=1.0).fit(X, Y)
    assert plain.coef_ == pytest.approx(rotated.coef_, abs=1e-3)


def test_no_convergence_is_a_warning(monkeypatch):
    monkeypatch.setattr(classifier, "Penalty", partial(Penalty, max_iter=1))
    X, Y = numbers()
    with pytest.warns(ConvergenceWarning, match="did not converge for label 'label_0', 'label_1'"):
        LogisticLabels(C=1.0).fit(X, Y)


def test_separable_labels_converge():
    X = np.arange(20.0)[:, None]
    Y = np.column_stack((X[:, 0] > 9, X[:, 0] > 12)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticLabels().fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.9


def test_the_model_is_a_copy_of_its_parameters():
    X, Y = numbers()
    model = LogisticLabels(C=np.array([1.0, 2.0, 1.0, 1.0]))
    assert clone(model).fit(X, Y).C_.tolist() == [1.0, 2.0, 1.0, 1.0]
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C=0: it must be"),
        ({"C": np.inf}, "C=inf: it must be"),
        ({"C": "best"}, "C='best': it must be"),
        ({"C": [1.0, -1.0, 1.0, 1.0]}, "C=.*it must be"),
        ({"C": [1.0, 2.0]}, "C has 2 entries; .* the 4 labels"),
        ({"text_like": "yes"}, "text_like='yes': it must be"),
        ({"cv": 1}, "cv=1: it must be"),
        ({"cv": 200}, "200 folds need as many rows, but n_samples=150"),
        ({"n_jobs": 0}, "n_jobs=0: it must be"),
        ({"random_state": -1}, "random_state=-1: it must be"),
    ],
)
def test_bad_parameters(params, message):
    X, Y = numbers()
    with pytest.raises(ValueError, match=message):
        LogisticLabels(**params).fit(X, Y)


def test_bad_data():
    X, Y = numbers()
    model = LogisticLabels(C=1.0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 1, np.inf, X), Y)
    with pytest.raises(ValueError, match="no known label"):
        model.fit(X, np.full_like(Y, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y[1:])
    with pytest.raises(ValueError, match="X has 5 features, but LogisticLabels is expecting 6"):
        model.fit(X, Y).predict(X[:, 1:])


def test_probabilities_as_labels():
    """A label y is a row of weight y with the label and one of weight 1 - y without it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    soft = expit(2 * X @ rng.normal(size=(3, 2)))
    soft[rng.random(soft.shape) < 0.1] = np.nan
    fitted = LogisticLabels(C=1.0, soft_labels=True, n_jobs=1).fit(X, soft)
    weight = np.concatenate((np.nan_to_num(soft), np.nan_to_num(1 - soft)))
    twice = np.repeat([[1.0, 1.0], [0.0, 0.0]], 80, axis=0)
    expected = LogisticLabels(C=1.0, n_jobs=1).fit(np.tile(X, (2, 1)), twice, sample_weight=weight)
    # Columns are scaled by the weights of rows, which differ.
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=0.02)
    chosen = LogisticLabels(soft_labels=True, cv=3, n_jobs=1).fit(X, soft)
    known = ~np.isnan(soft)
    assert np.abs(chosen.predict_proba(X) - soft)[known].mean() < 0.05
    with pytest.raises(ValueError, match="soft_labels=True"):
        LogisticLabels().fit(X, soft)
