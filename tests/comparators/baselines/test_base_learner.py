"""Baselines with base learners of scikit-learn, compared with scikit-learn's meta-estimators."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as SklearnChain
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from xdcc.comparators.baselines import (
    HOMER,
    LPBR,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    ProbabilisticClassifierChain,
    ProbabilisticEnsembleOfChains,
)
from xdcc.comparators.baselines.learner import seeded

NAN = np.nan
PER_LABEL = [BinaryRelevance, ClassifierChain]
OTHERS = [
    LabelPowerset,
    HOMER,
    LPBR,
    ProbabilisticClassifierChain,
    EnsembleOfChains,
    ProbabilisticEnsembleOfChains,
]


def test_binary_relevance_equals_scikit_learn(rows: Any) -> None:
    learner = LogisticRegression()
    expected = (
        MultiOutputClassifier(learner).fit(rows.X.astype(float), rows.Y).predict_proba(rows.X_new)
    )
    found = BinaryRelevance(estimator=learner).fit(rows.X, rows.Y).predict_proba(rows.X_new)
    np.testing.assert_allclose(found, np.stack([p[:, 1] for p in expected], axis=1), rtol=1e-6)


def test_chain_equals_scikit_learn(rows: Any) -> None:
    learner, order = LogisticRegression(), [2, 0, 3, 1]
    expected = SklearnChain(learner, order=order).fit(rows.X, rows.Y)
    found = ClassifierChain(estimator=learner, order=order).fit(rows.X, rows.Y)
    proba = found.predict_proba(rows.X_new)
    np.testing.assert_allclose(proba, expected.predict_proba(rows.X_new), rtol=1e-6)


@pytest.mark.parametrize("model", PER_LABEL)
def test_base_learner_receives_missing_values_as_nan(model: type, rows: Any) -> None:
    X, X_new = rows.X.copy(), rows.X_new.copy()
    X[::3, 0] = X_new[::4, 0] = NAN
    learner = DecisionTreeClassifier(max_depth=3, random_state=0)
    given = {"order": [0, 1, 2, 3]} if model is ClassifierChain else {}
    found = model(estimator=learner, random_state=5, **given).fit(X, rows.Y)
    seed = seeded(learner, np.random.RandomState(5)).random_state
    tree = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(X, rows.Y[:, 0])
    np.testing.assert_allclose(found.predict_proba(X_new)[:, 0], tree.predict_proba(X_new)[:, 1])


def test_rows_with_an_unknown_label_are_not_used_for_that_label(rows: Any) -> None:
    Y = rows.Y.astype(float)
    Y[60:, 0] = NAN
    learner = LogisticRegression()
    found = BinaryRelevance(estimator=learner).fit(rows.X, Y).predict_proba(rows.X_new)[:, 0]
    expected = learner.fit(rows.X[:60].astype(float), rows.Y[:60, 0]).predict_proba(rows.X_new)[
        :, 1
    ]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("model", PER_LABEL)
@pytest.mark.parametrize(
    ("params", "name"),
    [({"n_estimators": 5}, "n_estimators=5"), ({"reg_lambda": 2.0}, "reg_lambda=2.0")],
)
def test_parameters_of_xgboost_are_rejected_with_a_base_learner(
    model: type, params: Any, name: str, rows: Any
) -> None:
    with pytest.raises(ValueError, match=f"{name} is a parameter of XGBoost"):
        model(estimator=LogisticRegression(), **params).fit(rows.X, rows.Y)


@pytest.mark.parametrize("model", PER_LABEL)
def test_categories_are_rejected_with_a_base_learner(model: type, rows: Any) -> None:
    X = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 50)})
    with pytest.raises(ValueError, match="categor"):
        model(estimator=DecisionTreeClassifier()).fit(X, rows.Y)


@pytest.mark.parametrize("model", [*PER_LABEL, *OTHERS])
def test_base_learner_without_probabilities_is_rejected(model: type, rows: Any) -> None:
    with pytest.raises(ValueError, match="instance of a classifier with fit and predict_proba"):
        model(estimator=LinearSVC()).fit(rows.X, rows.Y)


@pytest.mark.parametrize("model", [*PER_LABEL, *OTHERS])
def test_weights_are_rejected_if_the_base_learner_does_not_support_them(
    model: type, rows: Any
) -> None:
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit does not support it"):
        model(estimator=KNeighborsClassifier()).fit(rows.X, rows.Y, np.ones(len(rows.X)))


@pytest.mark.parametrize("model", OTHERS)
def test_unknown_labels_are_rejected(model: type, rows: Any) -> None:
    Y = rows.Y.astype(float)
    Y[7, 2] = NAN
    with pytest.raises(ValueError, match=rf"in row 7 for label 'label_2', but .*{model.__name__}"):
        model().fit(rows.X, Y)


@pytest.mark.parametrize("model", [*PER_LABEL, *OTHERS])
def test_sparse_x_is_passed_to_the_base_learner(model: type, rows: Any) -> None:
    X, X_new = np.where(rows.X > 15, 0, rows.X), np.where(rows.X_new > 15, 0, rows.X_new)
    learner = DecisionTreeClassifier(max_depth=4)
    dense = model(estimator=learner, random_state=1).fit(X, rows.Y).predict_proba(X_new)
    fitted = model(estimator=learner, random_state=1).fit(sparse.csr_array(X), rows.Y)
    np.testing.assert_allclose(fitted.predict_proba(sparse.csr_array(X_new)), dense)


@pytest.mark.parametrize("model", OTHERS)
def test_constant_label_and_single_label(model: type, rows: Any) -> None:
    Y = np.column_stack((rows.Y[:, 0], np.zeros(100), np.ones(100)))
    found = model(random_state=0).fit(rows.X, Y)
    np.testing.assert_array_equal(found.predict(rows.X_new)[:, 1:], [[0, 1]] * 50)
    np.testing.assert_allclose(found.predict_proba(rows.X_new)[:, 1:], [[0, 1]] * 50)
    one = model(random_state=0).fit(rows.X, rows.Y[:, :1])
    assert one.predict(rows.X_new).shape == (50, 1)


@pytest.mark.parametrize("model", OTHERS)
def test_the_same_seed_gives_the_same_model(model: type, rows: Any) -> None:
    learner = DecisionTreeClassifier(max_features=1)
    proba = [
        model(estimator=learner, random_state=seed).fit(rows.X, rows.Y).predict_proba(rows.X_new)
        for seed in (4, 4, 5)
    ]
    np.testing.assert_array_equal(proba[0], proba[1])
    assert (proba[0] != proba[2]).any()


def test_tags_are_those_of_the_learner() -> None:
    for model in (*PER_LABEL, *OTHERS):
        takes = get_tags(model(estimator=DecisionTreeClassifier())).input_tags
        assert takes.allow_nan
        assert takes.sparse
        assert not get_tags(model(estimator=LogisticRegression())).input_tags.allow_nan


def test_seeds_reach_nested_parameters_of_a_copy() -> None:
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    copy = seeded(pipeline, np.random.RandomState(1))
    assert copy.get_params()["decisiontreeclassifier__random_state"] != 0
    assert pipeline.get_params()["decisiontreeclassifier__random_state"] == 0
