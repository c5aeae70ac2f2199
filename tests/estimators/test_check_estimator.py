"""scikit-learn's estimator checks for every estimator.

Many checks bring labels 1 and 2, or "one" and "two", or expect one-dimensional predictions. Ours
takes 0 and 1 only and always predicts a matrix, so these checks fail on the estimator itself;
they run on `OneLabelClassifier`, which puts an estimator into the form that they expect.
"""

from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import LabelEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from xdcc.baselines import (
    HOMER,
    LPBR,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    ProbabilisticClassifierChain,
    ProbabilisticEnsembleOfChains,
)
from xdcc.boomer import BoomerClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.thresholds import ThresholdClassifier

ESTIMATORS = [
    MultiLabelXGBClassifier(n_estimators=3, n_jobs=1),
    DynamicChainClassifier(n_estimators=3, n_jobs=1),
    BinaryRelevance(n_estimators=3, n_jobs=1),
    ClassifierChain(n_estimators=3, n_jobs=1),
    BinaryRelevance(estimator=DecisionTreeClassifier()),
    ClassifierChain(estimator=LogisticRegression()),
    LabelPowerset(random_state=0),
    HOMER(random_state=0),
    LPBR(cv=2, random_state=0),
    ProbabilisticClassifierChain(random_state=0),
    EnsembleOfChains(n_estimators=3, random_state=0),
    ProbabilisticEnsembleOfChains(n_estimators=3, random_state=0),
    ThresholdClassifier(MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), method="fixed"),
    ThresholdClassifier(BinaryRelevance(n_estimators=3, n_jobs=1), method="per_label"),
    LaCovaCClassifier(n_jobs=1),
    LaCovaCForestClassifier(n_estimators=10, random_state=0, n_jobs=1),
    LaCovaCClassifier(criterion="gain_ratio", clustering=None, n_jobs=1),
    RandomDecisionTreeClassifier(n_estimators=30, n_jobs=1),
    RandomDecisionTreeClassifier(n_estimators=30, threshold="probability", n_jobs=1),
    BoomerClassifier(n_rules=50, n_jobs=1),
    BoomerClassifier(n_rules=50, loss="logistic_example_wise", head="complete", n_jobs=1),
    CTBNClassifier(C=1.0, n_jobs=1),
    CTBNMixtureClassifier(max_components=2, C=1.0, prediction="hamming", n_jobs=1),
]

_OTHER_LABELS = "the check's labels are not 0 and 1; a value that is neither is an error here"
_MATRIX = "predictions have the shape (n_samples, n_labels), for a single label too"
_CAPITAL_Y = "the check passes `y` as a keyword; the labels are a matrix and are called `Y`"

EXPECTED_FAILURES = {
    "check_estimators_dtypes": _OTHER_LABELS,
    "check_sample_weights_pandas_series": _OTHER_LABELS,
    "check_sample_weights_not_an_array": _OTHER_LABELS,
    "check_sample_weights_shape": _OTHER_LABELS,
    "check_sample_weights_not_overwritten": _OTHER_LABELS,
    "check_estimator_sparse_array": _OTHER_LABELS,
    "check_estimator_sparse_matrix": _OTHER_LABELS,
    "check_classifier_data_not_an_array": _OTHER_LABELS,
    "check_classifiers_classes": _OTHER_LABELS,
    "check_fit2d_1feature": _OTHER_LABELS,
    "check_classifiers_one_label": _MATRIX,
    "check_classifiers_train": _MATRIX,
    "check_decision_proba_consistency": _MATRIX,
    "check_sample_weight_equivalence_on_dense_data": _CAPITAL_Y,
    "check_sample_weight_equivalence_on_sparse_data": _CAPITAL_Y,
}

# Thresholds that are chosen in cross-validation: what the checks say of 0.5 and of rows that are
# repeated does not hold for them, in the other form neither.
CHOSEN_THRESHOLDS = {
    "check_classifier_multioutput": "predict is not predict_proba, rounded",
    "check_sample_weight_equivalence_on_dense_data": "repeated rows make other folds",
    "check_sample_weight_equivalence_on_sparse_data": "repeated rows make other folds",
}

# The label method limits the number of positive labels, whatever their probabilities.
LIMITED_NUMBER = {"check_classifier_multioutput": "predict is not predict_proba, rounded"}

# The most probable labelset is not what the labels' probabilities say one by one.
WHOLE_LABELSETS = {"check_classifier_multioutput": "predict is not predict_proba, rounded"}

# The check wants probabilities strictly between 0 and 1.
CERTAIN = {
    "check_classifiers_multilabel_output_format_predict_proba": (
        "relative frequencies in leaves or of votes may be 0 or 1"
    )
}

# Every row of positive weight is as likely to be drawn, so a repeated one is drawn more often.
DRAWN_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows make other samples",
    "check_sample_weight_equivalence_on_sparse_data": "repeated rows make other samples",
}

# The only estimators with a decision_function.
LISTED_CLASSES = {
    "check_classifier_multioutput": "the check indexes classes_, which is a list of arrays here"
}


def _chooses_thresholds(estimator: BaseEstimator) -> bool:
    return isinstance(estimator, ThresholdClassifier) and estimator.method != "fixed"


def _limits_number(estimator: BaseEstimator) -> bool:
    return isinstance(estimator, RandomDecisionTreeClassifier) and estimator.threshold == "label"


def _predicts_labelsets(estimator: BaseEstimator) -> bool:
    if isinstance(estimator, LaCovaCClassifier):
        return estimator.clustering is not None
    return isinstance(estimator, ProbabilisticEnsembleOfChains | LaCovaCForestClassifier)


def _is_certain(estimator: BaseEstimator) -> bool:
    on_trees = isinstance(getattr(estimator, "estimator", None), DecisionTreeClassifier)
    others = LabelPowerset | HOMER | LPBR | EnsembleOfChains | LaCovaCClassifier
    others |= LaCovaCForestClassifier
    return on_trees or isinstance(estimator, others)


def _expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    failures = EXPECTED_FAILURES
    if _chooses_thresholds(estimator):
        failures = failures | CHOSEN_THRESHOLDS
    if _limits_number(estimator):
        failures = failures | LIMITED_NUMBER
    if _predicts_labelsets(estimator):
        failures = failures | WHOLE_LABELSETS
    if _is_certain(estimator):
        failures = failures | CERTAIN
    if hasattr(estimator, "decision_function"):
        failures = failures | LISTED_CLASSES
    else:
        failures = {k: v for k, v in failures.items() if k != "check_decision_proba_consistency"}
    return failures


class OneLabelClassifier(ClassifierMixin, BaseEstimator):
    """A multi-label estimator as a binary classifier with any two classes."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        encoder = LabelEncoder()
        codes = encoder.fit_transform(np.asarray(y).ravel())
        self.classes_ = encoder.classes_
        # Random decision trees take no weights.
        weights = () if sample_weight is None else (sample_weight,)
        self.estimator_ = clone(self.estimator).fit(X, codes, *weights)
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self)
        positive = self.estimator_.predict_proba(X)
        return np.hstack((1 - positive, positive))

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self)
        return self.estimator_.decision_function(X)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return self.classes_[self.estimator_.predict(X)[:, 0]]


def _encoded_checks() -> list[Any]:
    return [
        pytest.param(
            check, adapted, id=f"{type(adapted.estimator).__name__}-{check.func.__name__}-{number}"
        )
        for estimator in ESTIMATORS
        for number, (adapted, check) in enumerate(
            estimator_checks_generator(OneLabelClassifier(estimator))
        )
        if check.func.__name__ in EXPECTED_FAILURES
        and not (_chooses_thresholds(estimator) and check.func.__name__ in CHOSEN_THRESHOLDS)
        and not (
            isinstance(estimator, EnsembleOfChains | ProbabilisticEnsembleOfChains)
            and check.func.__name__ in DRAWN_ROWS
        )
        and not (
            "sample_weight" in check.func.__name__
            and not has_fit_parameter(estimator, "sample_weight")
        )
    ]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=_expected_failures)
def test_estimator_check(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(("check", "estimator"), _encoded_checks())
def test_expected_failure_passes_with_encoded_labels(check: Any, estimator: BaseEstimator) -> None:
    check(estimator)


@pytest.mark.parametrize("name", EXPECTED_FAILURES)
def test_expected_failure_is_tried_in_the_other_form(name: str) -> None:
    tried = {param.values[0].func.__name__ for param in _encoded_checks()}
    assert name in tried
