"""xdcc.decision.ThresholdClassifier against the functions on arrays."""

from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from xdcc import metrics
from xdcc.base.folds import stratified_folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain
from xdcc.decision import (
    LabelCosts,
    ThresholdClassifier,
    apply_thresholds,
    best_threshold,
    best_thresholds_per_label,
    pcut,
    per_label_pcut,
)

NAN = np.nan
METHODS = ["fixed", "pcut", "per_label_pcut", "global", "per_label"]

X, Y = make_multilabel_classification(
    n_samples=160, n_features=6, n_classes=4, n_labels=2, random_state=5
)
X, X_NEW, Y, Y_NEW = X[:100], X[100:], Y[:100], Y[100:]


class Given(ClassifierMixin, BaseEstimator):
    """Predicts X itself; for the rows that it was trained on 1."""

    def __init__(self, mark_seen: bool = False) -> None:
        self.mark_seen = mark_seen

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        self.X_, self.Y_, self.sample_weight_ = X, Y, sample_weight
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        proba = np.array(X, dtype=np.float64)
        if self.mark_seen:
            proba[[row in self.X_.tolist() for row in proba.tolist()]] = 1
        return proba


def given_data(n_rows=60):
    rng = np.random.default_rng(2)
    Y = (rng.random((n_rows, 3)) < [0.5, 0.3, 0.2]).astype(np.float64)
    return 0.3 * Y + 0.6 * rng.random(Y.shape), Y, rng.integers(1, 4, n_rows).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
def test_methods_are_the_functions_on_arrays(weighted):
    proba, labels, weight = given_data()
    labels[::7, 1] = NAN
    weight = weight if weighted else None
    entry_weight = np.where(
        np.isnan(labels), 0, np.ones((60, 1)) if weight is None else weight[:, None]
    )
    positive = entry_weight * np.nan_to_num(labels)
    frequencies = positive.sum(axis=0) / entry_weight.sum(axis=0)
    options = {"sample_weight": weight}
    expected = {
        "fixed": 0.4,
        "pcut": pcut(proba, positive.sum() / entry_weight.sum(), **options),
        "per_label_pcut": per_label_pcut(proba, frequencies, **options),
        "global": best_threshold(labels, proba, "micro_f1", **options),
        "per_label": best_thresholds_per_label(
            labels, proba, "micro_f1", min_positive=15, **options
        ),
    }
    assert list(expected) == METHODS
    for method, thresholds in expected.items():
        model = ThresholdClassifier(
            Given(), method=method, threshold=0.4, measure="micro_f1", min_positive=15
        ).fit(proba, labels, weight)
        np.testing.assert_array_equal(model.thresholds_, np.broadcast_to(thresholds, (3,)), method)
        np.testing.assert_array_equal(model.predict(proba), apply_thresholds(proba, thresholds))
        np.testing.assert_array_equal(model.predict_proba(proba), proba)
        np.testing.assert_array_equal(model.estimator_.X_, proba)
        np.testing.assert_array_equal(model.estimator_.sample_weight_, weight)


def test_probabilities_come_from_models_that_did_not_see_the_rows():
    proba, labels, _ = given_data()
    model = ThresholdClassifier(Given(mark_seen=True)).fit(proba, labels)
    # With the training rows marked all probabilities would be 1.
    np.testing.assert_array_equal(model.thresholds_, best_threshold(labels, proba))
    assert (model.predict_proba(proba) == 1).all()


@pytest.mark.parametrize("cv", [2, np.int64(4)])
def test_cross_validation_with_scikit_learns_models(cv):
    base = OneVsRestClassifier(LogisticRegression())
    model = ThresholdClassifier(base, method="per_label", cv=cv, random_state=7).fit(X, Y)
    folds, proba = stratified_folds(Y.astype(float), int(cv), 7), np.empty(Y.shape)
    for fold in range(cv):
        proba[folds == fold] = (
            clone(base).fit(X[folds != fold], Y[folds != fold]).predict_proba(X[folds == fold])
        )
    np.testing.assert_allclose(model.thresholds_, best_thresholds_per_label(Y, proba))
    np.testing.assert_allclose(
        model.predict_proba(X_NEW), clone(base).fit(X, Y).predict_proba(X_NEW)
    )
    assert not hasattr(base, "estimators_")


def test_random_state_decides_on_the_folds():
    def thresholds(seed):
        base = OneVsRestClassifier(LogisticRegression())
        return ThresholdClassifier(base, random_state=seed).fit(X, Y).thresholds_

    np.testing.assert_array_equal(thresholds(1), thresholds(1))
    assert any((thresholds(0) != thresholds(seed)).any() for seed in range(1, 4))


@pytest.mark.parametrize("cv", [None, 3])
def test_eval_set_replaces_the_folds(cv):
    proba, labels, weight = given_data()
    other_proba, other_labels, _ = (1 - array for array in given_data(30))
    model = ThresholdClassifier(Given(), cv=cv)
    model.fit(proba, labels, weight, eval_set=[(other_proba, other_labels)])
    np.testing.assert_array_equal(model.thresholds_, best_threshold(other_labels, other_proba))
    np.testing.assert_array_equal(model.estimator_.X_, proba)
    # PCut: as many labels on the validation data as the training data has.
    model = ThresholdClassifier(Given(), method="pcut", cv=cv)
    model.fit(proba, labels, eval_set=[(other_proba, other_labels)])
    np.testing.assert_array_equal(model.thresholds_, pcut(other_proba, labels.mean()))


def test_prefit_keeps_the_model():
    fitted = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    model = ThresholdClassifier(fitted, cv="prefit").fit(X_NEW, Y_NEW)
    assert model.estimator_ is fitted
    expected = best_threshold(Y_NEW, fitted.predict_proba(X_NEW))
    np.testing.assert_array_equal(model.thresholds_, expected)
    for method in METHODS:
        unfitted = OneVsRestClassifier(LogisticRegression())
        with pytest.raises(NotFittedError):
            ThresholdClassifier(unfitted, method=method, cv="prefit").fit(X, Y)


def test_fixed_thresholds_need_no_validation_data():
    proba, labels, _ = given_data()
    model = ThresholdClassifier(Given(), method="fixed", threshold=[0.2, 0.5, 0.7], cv=None)
    np.testing.assert_array_equal(model.fit(proba, labels).thresholds_, [0.2, 0.5, 0.7])
    assert model.get_params()["threshold"] == [0.2, 0.5, 0.7]


def test_a_callable_measure():
    proba, labels, _ = given_data()
    by_name, by_callable = (
        ThresholdClassifier(Given(), measure=measure).fit(proba, labels).thresholds_
        for measure in ("micro_f1", metrics.micro_f1)
    )
    np.testing.assert_array_equal(by_name, by_callable)


@pytest.mark.parametrize("method", ["pcut", "per_label"])
@pytest.mark.parametrize(
    "base", [BinaryRelevance, ClassifierChain, MultiLabelXGBClassifier, DynamicChainClassifier]
)
def test_estimators_of_the_package(base, method):
    labels = pd.DataFrame(Y, columns=list("abcd")).astype(float)
    labels.iloc[::9, 2] = NAN
    features = pd.DataFrame(X, columns=[f"feature {i}" for i in range(6)])
    features.iloc[3, 1] = NAN
    model = ThresholdClassifier(base(n_estimators=4, max_depth=3, n_jobs=1), method=method)
    model.fit(features, labels, sample_weight=np.ones(len(Y)))
    new = features[:7]
    expected = model.predict_proba(new) >= model.thresholds_
    np.testing.assert_array_equal(model.predict(new), expected)
    assert model.thresholds_.shape == (4,)
    assert list(model.label_names_) == list(model.estimator_.label_names_) == list("abcd")
    assert list(model.feature_names_in_) == list(features.columns)
    assert model.n_features_in_ == 6
    assert 0 <= model.score(features[["feature 0", *features.columns[1:]]], Y) <= 1


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist])
def test_forms_of_x_and_y(form):
    def fitted(features, labels):
        base = BinaryRelevance(n_estimators=3, n_jobs=1)
        return ThresholdClassifier(base, random_state=0).fit(features, labels)

    shifted = X + 1  # Nothing is 0, which sparse matrices would leave out.
    expected, found = fitted(shifted, Y), fitted(form(shifted), form(Y))
    np.testing.assert_array_equal(found.thresholds_, expected.thresholds_)
    np.testing.assert_array_equal(found.predict(form(X_NEW + 1)), expected.predict(X_NEW + 1))


def test_categories_reach_the_estimator():
    class Wants(Given):
        def fit(self, X, Y, sample_weight=None):
            assert str(X["colour"].dtype) == "category"
            return super().fit(X, Y)

        def predict_proba(self, X):
            assert str(X["colour"].dtype) == "category"
            return X[["a", "b", "c"]].to_numpy()

    proba, labels, _ = given_data()
    features = pd.DataFrame(proba, columns=list("abc"))
    features["colour"] = pd.Categorical(["red", None, "blue"] * 20)
    model = ThresholdClassifier(Wants()).fit(features, labels)
    np.testing.assert_array_equal(model.thresholds_, best_threshold(labels, proba))


def test_text_reaches_the_estimator():
    proba, labels, _ = given_data()
    features = pd.DataFrame({"size": np.where(proba[:, 0] > 0.5, "large", "small")}, dtype=object)
    base = make_pipeline(OneHotEncoder(), OneVsRestClassifier(LogisticRegression()))
    model = ThresholdClassifier(base).fit(features, labels)
    assert model.predict(features).shape == labels.shape


def test_a_single_label():
    model = ThresholdClassifier(BinaryRelevance(n_estimators=3, n_jobs=1)).fit(X, Y[:, :1])
    assert model.predict(X_NEW).shape == (60, 1)


def test_a_binary_target():
    target = np.where(Y[:, 0], "yes", "no")
    model = ThresholdClassifier(LogisticRegression()).fit(X, target)
    found = model.predict_proba(X_NEW)[:, 1]
    np.testing.assert_array_equal(found, model.estimator_.predict_proba(X_NEW)[:, 1])
    expected = np.where(found >= model.thresholds_[0], "yes", "no")
    np.testing.assert_array_equal(model.predict(X_NEW), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": None}, "method='global' chooses thresholds on validation data, but cv is None"),
        ({"cv": 1}, "cv=1: it must be a whole number at least 2, 'prefit', or None"),
        ({"cv": "all"}, "cv='all': it must be"),
        ({"cv": 61}, "61 folds need as many rows, but n_samples=60"),
        ({"method": "best"}, "method='best': it must be one of 'fixed', 'pcut'"),
        ({"measure": "f1"}, "measure='f1': it must be one of"),
        ({"measure": "f1", "method": "per_label"}, "it must be one of 'hamming_accuracy'"),
        ({"min_positive": 1.5}, "min_positive=1.5: it must be a whole number"),
        ({"method": "fixed", "threshold": [0.1]}, r"each of 3; got float64 of shape \(1,\)"),
        ({"estimator": Ridge()}, r"estimator=Ridge\(\): it must be an instance of a classifier"),
    ],
)
def test_fit_refuses_arguments(options, message):
    proba, labels, _ = given_data()
    model = ThresholdClassifier(**({"estimator": Given()} | options))
    with pytest.raises(ValueError, match=message):
        model.fit(proba, labels)


@pytest.mark.parametrize(
    ("cv", "eval_set", "message"),
    [
        (3, [(X, Y[:, :3])], "eval_set has 3 labels, but in fit there were 4"),
        (3, [(X, Y * 2)], "Y holds 2 in row"),
        (3, [(X, Y[:50])], "inconsistent numbers of samples"),
        (3, (X, Y), r"eval_set must be a sequence of pairs \(X, Y\)"),
        (3, [(X, pd.DataFrame(Y, columns=list("abde")))], "missing: 'c'; unexpected: 'e'"),
        ("prefit", [(X, Y)], "With cv='prefit' the X and Y of fit are the validation data"),
    ],
)
def test_fit_refuses_eval_sets(cv, eval_set, message):
    model = ThresholdClassifier(OneVsRestClassifier(LogisticRegression()), cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, pd.DataFrame(Y, columns=list("abcd")), eval_set=eval_set)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_fit_refuses_probabilities_of_other_labels():
    proba, labels, _ = given_data()
    with pytest.raises(
        ValueError, match=r"Given gives scores of the shape \(.*, 3\); expected \(n_samples, 2\)"
    ):
        ThresholdClassifier(Given()).fit(proba, labels[:, :2])


def test_predicting_before_fit():
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(ThresholdClassifier(Given()), method)(X)


def test_thresholds_and_costs_by_name():
    proba, labels, _ = given_data()
    frame = pd.DataFrame(labels, columns=["new", "fraud", "vip"])
    model = ThresholdClassifier(Given(), method="fixed", threshold={"fraud": 0.3}).fit(proba, frame)
    assert model.thresholds_.tolist() == [0.5, 0.3, 0.5]
    with pytest.raises(ValueError, match="threshold: there is no label 'theft'"):
        ThresholdClassifier(Given(), method="fixed", threshold={"theft": 0.3}).fit(proba, frame)
    by_name = LabelCosts(1.0, {"fraud": 5.0})
    for method in ("global", "per_label"):
        found, expected = (
            ThresholdClassifier(Given(), method=method, measure=costs).fit(proba, frame).thresholds_
            for costs in (by_name, LabelCosts(1.0, [1.0, 5.0, 1.0]))
        )
        np.testing.assert_array_equal(found, expected)
    per_label = ThresholdClassifier(Given(), method="per_label", measure=metrics.macro_f1)
    assert len(set(per_label.fit(proba, frame).thresholds_)) > 1
