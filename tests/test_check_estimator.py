"""scikit-learn's estimator checks for every estimator, which brings a binary target to most."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
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
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels

ESTIMATORS = [
    MultiLabelXGBClassifier(n_estimators=3, n_jobs=1),
    MultiTargetXGBRegressor(n_estimators=20, n_jobs=1),
    MultiClassXGBClassifier(n_estimators=20, n_jobs=1),
    DynamicChainClassifier(n_estimators=3, n_jobs=1),
    OrderFreeChainClassifier(n_estimators=3, n_masks=1, cv=2, n_jobs=1),
    BinaryRelevance(n_estimators=3, n_jobs=1),
    ClassifierChain(n_estimators=3, n_jobs=1),
    LabelPowerset(random_state=0),
    HOMER(random_state=0),
    LPBR(cv=2, random_state=0),
    ProbabilisticClassifierChain(random_state=0),
    EnsembleOfChains(n_estimators=3, random_state=0),
    ProbabilisticEnsembleOfChains(n_estimators=3, random_state=0),
    ThresholdClassifier(MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), method="fixed"),
    TunedDecisionClassifierCV(MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), cv=2),
    MultiLabelClassifier(cv=2, n_jobs=1),
    DistilledClassifier(
        MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), n_estimators=10, n_jobs=1
    ),
    LaCovaCClassifier(n_jobs=1),
    LaCovaCForestClassifier(n_estimators=10, random_state=0, n_jobs=1),
    SketchedExtraTreesClassifier(n_estimators=30, n_jobs=1),
    RandomDecisionTreeClassifier(n_estimators=30, n_jobs=1),
    BoomerClassifier(n_rules=50, n_jobs=1),
    LogisticLabels(C=1.0, n_jobs=1),
    CTBNClassifier(C=1.0, n_jobs=1),
    CTBNMixtureClassifier(max_components=2, C=1.0, prediction="hamming", n_jobs=1),
]

VARIANTS = [
    MultiTargetXGBRegressor(n_estimators=20, objective={"target_0": "reg:absoluteerror"}, n_jobs=1),
    BinaryRelevance(estimator=DecisionTreeClassifier()),
    ClassifierChain(estimator=LogisticRegression()),
    ThresholdClassifier(BinaryRelevance(n_estimators=3, n_jobs=1), method="per_label"),
    TunedDecisionClassifierCV(BinaryRelevance(n_estimators=3, n_jobs=1), cv=2, ensemble=False),
    LaCovaCClassifier(criterion="gain_ratio", clustering=None, n_jobs=1),
    SketchedExtraTreesClassifier(n_estimators=30, sketch_size=1, oob_proba=True, n_jobs=1),
    RandomDecisionTreeClassifier(n_estimators=30, threshold="probability", n_jobs=1),
    BoomerClassifier(n_rules=50, loss="logistic_example_wise", head="complete", n_jobs=1),
    LogisticLabels(n_jobs=1),
    LogisticLabels(C=1.0, text_like=True, n_jobs=1),
]
"""Other parameters of some of them, whose own tests run by default."""

_CAPITAL_Y = "the check passes `y` as a keyword; labels are a matrix in general and are called `Y`"

EXPECTED_FAILURES = {
    "check_dataframe_column_names_consistency": "columns are matched by name, in any order",
    "check_sample_weight_equivalence_on_dense_data": _CAPITAL_Y,
    "check_sample_weight_equivalence_on_sparse_data": _CAPITAL_Y,
}

# The check brings other targets than the one named here.
NAMED_TARGETS = {"check_regressor_multioutput": "it has a target without an objective"}

# Thresholds and rules that are chosen in cross-validation: they need not be 0.5, and repeated rows
# change the folds.
CHOSEN_THRESHOLDS = {
    "check_classifier_multioutput": "predict is not predict_proba, rounded",
    "check_sample_weight_equivalence_on_dense_data": "repeated rows make other folds",
    "check_sample_weight_equivalence_on_sparse_data": "repeated rows make other folds",
}

# The rule that is chosen for the check's labels happens to be rounding.
CHOSEN_RULE = {k: v for k, v in CHOSEN_THRESHOLDS.items() if k != "check_classifier_multioutput"}

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

# A booster adds in single precision, the check compares to 1e-7; and it takes what a sparse X does
# not store as zeros.
SINGLE_PRECISION = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows are rounded in another way",
    "check_sample_weight_equivalence_on_sparse_data": "what is not stored is missing",
}

# Every row of positive weight is as likely to be drawn, so a repeated one is drawn more often.
DRAWN_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows make other samples",
    "check_sample_weight_equivalence_on_sparse_data": "repeated rows make other samples",
}

# Estimators with a decision_function.
LISTED_CLASSES = {
    "check_classifier_multioutput": "the check indexes classes_, which has a row per label here"
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
    if isinstance(estimator, TunedDecisionClassifierCV | MultiLabelClassifier):
        failures = failures | CHOSEN_RULE
    if isinstance(getattr(estimator, "objective", None), dict):
        failures = failures | NAMED_TARGETS
    if isinstance(estimator, MultiClassXGBClassifier):
        failures = failures | SINGLE_PRECISION
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


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=_expected_failures)
def test_estimator_check(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [*ESTIMATORS, BinaryRelevance(estimator=DecisionTreeClassifier())],
    ids=lambda each: type(each).__name__,
)
def test_names_of_columns(estimator: BaseEstimator) -> None:
    """What scikit-learn's check demands, but for another order of the columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 8))).add_prefix("col_")
    fitted = clone(estimator).fit(X, (X["col_0"] > X["col_1"]).astype(int))
    assert fitted.feature_names_in_.tolist() == X.columns.tolist()
    methods = [
        getattr(fitted, name) for name in ("predict", "predict_proba") if hasattr(fitted, name)
    ]
    for method in methods:
        np.testing.assert_array_equal(method(X[X.columns[::-1]]), method(X))
        for columns, message in (
            (X.columns.str.replace("col", "other"), "unseen at fit time:\n- other_0\n- other_1\n"),
            (X.columns[:3], "seen at fit time, yet now missing:\n- col_3\n"),
        ):
            renamed = X.iloc[:, : len(columns)].set_axis(columns, axis=1)
            with pytest.raises(
                ValueError, match=f"should match .* during fit.\nFeature names {message}"
            ):
                method(renamed)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=_expected_failures)
def test_estimator_check_of_variants(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)
