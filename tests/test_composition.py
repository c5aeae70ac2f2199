"""The estimators inside scikit-learn: meta-estimators, searches, pipelines, routing, inspection.

Data are small and models have few trees: what is tested is that the parts fit together, and that
what comes out is what the estimator alone says.
"""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import multioutput
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
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
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier

X, Y = make_multilabel_classification(
    n_samples=90, n_features=6, n_classes=3, n_labels=2, random_state=0
)
x, y = make_classification(n_samples=90, n_features=6, n_informative=4, random_state=0)
CLASSES = np.array(["ham", "spam"])[y]
FRAME = pd.DataFrame(X, columns=[f"word {j}" for j in range(6)])
WEIGHT = np.arange(90) % 3 + 0.5

_TREE = DecisionTreeClassifier(max_depth=2)
_SEEDED_TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
ESTIMATORS = [
    MultiLabelXGBClassifier(n_estimators=3, n_jobs=1),
    DynamicChainClassifier(n_estimators=2, n_jobs=1),
    OrderFreeChainClassifier(
        MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), n_estimators=3, cv=2, n_jobs=1
    ),
    BinaryRelevance(n_estimators=3, n_jobs=1),
    ClassifierChain(n_estimators=3, n_jobs=1),
    BinaryRelevance(estimator=_TREE),
    LabelPowerset(estimator=_TREE, random_state=0),
    HOMER(estimator=_TREE, random_state=0),
    LPBR(estimator=_TREE, cv=2, random_state=0),
    ProbabilisticClassifierChain(random_state=0),
    EnsembleOfChains(n_estimators=2, estimator=_TREE, random_state=0),
    ProbabilisticEnsembleOfChains(n_estimators=2, random_state=0),
    ThresholdClassifier(MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), cv=2),
    TunedDecisionClassifierCV(MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), cv=2),
    TunedDecisionClassifierCV(_SEEDED_TREE, cv=2, ensemble=False, n_jobs=1),
    MultiLabelClassifier(cv=2, n_jobs=1),
    LaCovaCClassifier(n_jobs=1),
    LaCovaCForestClassifier(n_estimators=3, random_state=0, n_jobs=1),
    SketchedExtraTreesClassifier(n_estimators=5, random_state=0, n_jobs=1),
    RandomDecisionTreeClassifier(n_estimators=5, random_state=0, n_jobs=1),
    BoomerClassifier(n_rules=10, random_state=0, n_jobs=1),
    CTBNClassifier(C=1.0, n_jobs=1, random_state=0),
    CTBNMixtureClassifier(max_components=2, C=1.0, n_jobs=1, random_state=0),
]


def _name(estimator: BaseEstimator) -> str:
    inner = getattr(estimator, "estimator", None)
    return type(estimator).__name__ + ("" if inner is None else f"-{type(inner).__name__}")


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=_name)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@every_estimator
def test_chain_of_single_targets(estimator: Any) -> None:
    chain = multioutput.ClassifierChain(estimator, order=[2, 0, 1]).fit(X, Y)
    assert chain.predict(X).shape == (90, 3)
    alone = clone(estimator).fit(X, Y[:, 2])
    np.testing.assert_array_equal(chain.predict_proba(X)[:, 2], alone.predict_proba(X)[:, 1])


@every_estimator
def test_one_estimator_for_each_target(estimator: Any) -> None:
    meta = multioutput.MultiOutputClassifier(estimator).fit(X, Y)
    assert meta.predict(X).shape == (90, 3)
    alone = clone(estimator).fit(X, Y[:, 1])
    np.testing.assert_array_equal(meta.predict_proba(X)[1], alone.predict_proba(X))


@every_estimator
def test_one_versus_rest_of_classes_and_of_labels(estimator: Any) -> None:
    three = np.array(["a", "b", "c"])[np.arange(90) % 3]
    meta = OneVsRestClassifier(estimator).fit(x, three)
    assert set(meta.predict(x)) <= set("abc")
    assert meta.predict_proba(x).shape == (90, 3)
    labels = OneVsRestClassifier(estimator).fit(X, Y)
    assert labels.predict_proba(X).shape == (90, 3)


@every_estimator
def test_stacking(estimator: Any) -> None:
    stack = StackingClassifier(
        [("first", estimator), ("second", DecisionTreeClassifier(max_depth=2))],
        LogisticRegression(),
        cv=2,
    ).fit(x, CLASSES)
    assert stack.transform(x).shape == (90, 2)
    np.testing.assert_array_equal(stack.classes_, ["ham", "spam"])
    assert stack.score(x, CLASSES) > 0.5


def test_stacking_of_label_matrices() -> None:
    stack = StackingClassifier(
        [("boosted", MultiLabelXGBClassifier(n_estimators=3, n_jobs=1))],
        MultiLabelXGBClassifier(n_estimators=3, n_jobs=1),
        cv=2,
    ).fit(X, Y)
    assert stack.predict(X).shape == (90, 3)


@every_estimator
@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(ensemble: bool, estimator: Any) -> None:
    model = CalibratedClassifierCV(estimator, cv=2, ensemble=ensemble).fit(x, CLASSES)
    proba = model.predict_proba(x)
    assert proba.shape == (90, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@every_estimator
def test_partial_dependence(estimator: Any) -> None:
    model = clone(estimator).fit(x, CLASSES)
    found = partial_dependence(model, x, [0], grid_resolution=4)
    assert found["average"].shape == (1, 4)
    changed = x.copy()
    changed[:, 0] = found["grid_values"][0][2]
    np.testing.assert_allclose(
        found["average"][0, 2], model.predict_proba(changed)[:, 1].mean(), rtol=1e-5
    )


@every_estimator
def test_permutation_importance(estimator: Any) -> None:
    model = clone(estimator).fit(X, Y)
    found = permutation_importance(model, X, Y, n_repeats=1, random_state=0)
    assert found["importances_mean"].shape == (6,)


@every_estimator
def test_probabilities_out_of_fold(estimator: Any) -> None:
    folds = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    proba = cross_val_predict(estimator, X, Y, cv=folds, method="predict_proba")
    expected = clone(estimator).fit(X[:45], Y[:45]).predict_proba(X[45:])
    np.testing.assert_array_equal(np.asarray(proba)[45:], expected)
    binary = cross_val_predict(estimator, x, CLASSES, cv=folds, method="predict_proba")
    assert binary.shape == (90, 2)


_TUNABLE = {
    "estimator__max_depth": [1, 2],
    "n_estimators": [2, 4],
    "n_rules": [2, 4],
    "min_samples_split": [6, 20],
    "C": [0.1, 1.0],
    "random_state": [0, 1],
}


@every_estimator
def test_grid_search_over_a_pipeline(estimator: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    step = type(estimator).__name__.lower()
    name = next(name for name in _TUNABLE if name in estimator.get_params())
    search = GridSearchCV(pipeline, {f"{step}__{name}": _TUNABLE[name]}, cv=2).fit(X, Y)
    assert search.predict(X).shape == (90, 3)
    assert 0 <= search.score(X, Y) <= 1


@every_estimator
def test_column_transformer_with_names(estimator: Any) -> None:
    transformer = ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["word 0", "word 2"]),
            ("kept", "passthrough", ["word 4"]),
        ]
    )
    pipeline = make_pipeline(transformer, clone(estimator)).set_output(transform="pandas")
    pipeline.fit(FRAME, pd.DataFrame(Y, columns=list("abc")))
    assert list(pipeline[-1].feature_names_in_) == [
        "scaled__word 0",
        "scaled__word 2",
        "kept__word 4",
    ]
    assert list(pipeline[-1].label_names_) == list("abc")
    assert pipeline.predict(FRAME).shape == (90, 3)


@every_estimator
def test_clones_and_pickles(estimator: Any) -> None:
    model = clone(estimator).fit(X, Y)
    again = clone(model)
    assert not hasattr(again, "classes_")
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(again.fit(X, Y).predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


@pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if has_fit_parameter(e, "sample_weight")], ids=_name
)
def test_weights_are_routed(estimator: Any, routing: None) -> None:
    asking = clone(estimator).set_fit_request(sample_weight=True)
    meta = multioutput.MultiOutputClassifier(asking).fit(X, Y, sample_weight=WEIGHT)
    alone = clone(estimator).fit(X, Y[:, 0], sample_weight=WEIGHT)
    np.testing.assert_array_equal(meta.predict_proba(X)[0], alone.predict_proba(X))

    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, asking).fit(X, Y, sample_weight=WEIGHT)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(pipeline.predict_proba(X), alone.predict_proba(scaled))


def test_groups_are_routed_to_outer_and_inner_folds(routing: None) -> None:
    groups = np.arange(90) // 3
    asking = TunedDecisionClassifierCV(_SEEDED_TREE, cv=2).set_fit_request(groups=True)
    found = cross_validate(
        asking, X, Y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True
    )
    for model, (train, _) in zip(
        found["estimator"], GroupKFold(3).split(X, Y, groups), strict=True
    ):
        pairs = set(zip(groups[train], model.folds_, strict=True))
        assert len(pairs) == len(set(groups[train])) == 20


def test_weights_are_routed_to_folds_and_scores(routing: None) -> None:
    estimator = MultiLabelXGBClassifier(n_estimators=3, n_jobs=1)
    asking = estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    halves = [(np.arange(45), np.arange(45, 90))]
    found = cross_validate(asking, X, Y, cv=halves, params={"sample_weight": WEIGHT})
    alone = clone(estimator).fit(X[:45], Y[:45], sample_weight=WEIGHT[:45])
    assert found["test_score"][0] == alone.score(X[45:], Y[45:], sample_weight=WEIGHT[45:])
