"""Estimators whose parts do not fit together are refused."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from xgboost import XGBClassifier

from tests.serving.mixed_models import with_constant
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.serving.object_checks import check_object


def _trees(X, Y):
    return RandomDecisionTreeClassifier(n_estimators=2, random_state=0, n_jobs=1).fit(X, Y)


def _frame(codes, categories):
    return pd.DataFrame({"a": pd.Categorical.from_codes(codes, categories), "b": 0.0})


@pytest.fixture
def tuned(rows):
    estimator = RandomDecisionTreeClassifier(n_estimators=2, random_state=0, n_jobs=1)
    model = TunedDecisionClassifierCV(estimator, rules=["label_wise"], cv=2, random_state=0)
    model.fit(np.nan_to_num(rows.X), rows.Y)
    check_object(model)
    return model


def test_classifiers_of_different_data_do_not_predict_together(tuned, rows):
    """X is checked once: kernels would read beyond the columns of X."""
    first = tuned.estimators_[0]
    X = np.nan_to_num(rows.X)
    for other, part in (
        (_trees(X.repeat(2, axis=1), rows.Y), "n_features_in_"),
        (_trees(X, rows.Y[:, :3]), "n_labels_"),
        (ThresholdClassifier(_trees(X.repeat(2, axis=1), rows.Y), cv="prefit"), "n_features_in_"),
        (XGBClassifier(n_estimators=1).fit(X, rows.Y), "a classifier"),
    ):
        if isinstance(other, ThresholdClassifier):
            other.fit(X.repeat(2, axis=1), rows.Y)
        for estimators in ([first, other], [other, first]):
            tuned.estimators_ = estimators
            with pytest.raises(ValueError, match=f"{part}.* does not fit"):
                check_object(tuned)


@pytest.mark.parametrize(
    ("labels", "thresholds"), [([4], [0.5]), ([-1], [0.5]), ([0], [0.5, 0.5]), ([[0]], [[0.5]])]
)
def test_constraints_of_labels_that_are_not_there(tuned, labels, thresholds):
    tuned.rule_ = ConstrainedRule(tuned.rule_, np.array(labels), np.array(thresholds))
    with pytest.raises(ValueError, match="rule_ does not fit"):
        check_object(tuned)


def test_classifiers_of_different_categories_do_not_predict_together():
    codes = np.arange(40) % 3
    Y = np.stack([codes == 0, np.arange(40) % 2], axis=1).astype(int)
    booster = MultiLabelXGBClassifier(n_estimators=1, n_jobs=1)
    model = TunedDecisionClassifierCV(booster, rules=["label_wise"], cv=2, random_state=0)
    model.fit(_frame(codes, ["x", "y", "z"]), Y)
    check_object(model)
    other = MultiLabelXGBClassifier(n_estimators=1, n_jobs=1)
    model.estimators_ = [model.estimators_[0], other.fit(_frame(codes, ["z", "y", "x"]), Y)]
    with pytest.raises(ValueError, match="categories_ of a classifier does not fit"):
        check_object(model)


def test_a_second_level_has_the_margins_of_the_members(mixed_models, rows):
    model = copy.copy(mixed_models["two levels"])
    check_object(model)
    (level,) = model.stacked_
    n_margins = len(model.members_) * model.n_labels_
    margins = np.zeros((120, n_margins))
    booster = MultiLabelXGBClassifier(n_estimators=1, n_jobs=1)
    for other, part in (
        (clone(booster).fit(margins[:, 1:], with_constant(rows.Y)), "n_features_in_"),
        (clone(booster).fit(margins, rows.Y), "n_labels_"),
        (_trees(margins, with_constant(rows.Y)), "a classifier"),
    ):
        model.stacked_ = [replace(level, estimators=[*level.estimators, other])]
        with pytest.raises(ValueError, match=f"{part} of stacked_ does not fit"):
            check_object(model)
