"""Estimators whose parts do not fit together are refused."""

import copy
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from xgboost import XGBClassifier

from tests.serving.mixed_models import with_constant
from xdcc.base.state_checks import require
from xdcc.base.stored import check_state, stored
from xdcc.base.stored_types import Shape, Within
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import LabelCosts, ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.decision.rule import Rule
from xdcc.serving.estimator_state import put_together, take_apart


def _trees(X, Y):
    return RandomDecisionTreeClassifier(n_estimators=2, random_state=0, n_jobs=1).fit(X, Y)


def _frame(codes, categories):
    return pd.DataFrame({"a": pd.Categorical.from_codes(codes, categories), "b": 0.0})


@pytest.fixture
def tuned(rows):
    estimator = RandomDecisionTreeClassifier(n_estimators=2, random_state=0, n_jobs=1)
    model = TunedDecisionClassifierCV(estimator, rules=["label_wise"], cv=2, random_state=0)
    model.fit(np.nan_to_num(rows.X), rows.Y)
    check_state(model)
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
                check_state(tuned)


@pytest.mark.parametrize(
    ("labels", "thresholds"), [([4], [0.5]), ([-1], [0.5]), ([0], [0.5, 0.5]), ([[0]], [[0.5]])]
)
def test_constraints_of_labels_that_are_not_there(tuned, labels, thresholds):
    tuned.rule_ = ConstrainedRule(tuned.rule_, np.array(labels), np.array(thresholds))
    with pytest.raises(ValueError, match=r"(labels of the rule|labels|thresholds) does not fit"):
        put_together(take_apart(tuned))


def test_classifiers_of_different_categories_do_not_predict_together():
    codes = np.arange(40) % 3
    Y = np.stack([codes == 0, np.arange(40) % 2], axis=1).astype(int)
    booster = MultiLabelXGBClassifier(n_estimators=1, n_jobs=1)
    model = TunedDecisionClassifierCV(booster, rules=["label_wise"], cv=2, random_state=0)
    model.fit(_frame(codes, ["x", "y", "z"]), Y)
    check_state(model)
    other = MultiLabelXGBClassifier(n_estimators=1, n_jobs=1)
    model.estimators_ = [model.estimators_[0], other.fit(_frame(codes, ["z", "y", "x"]), Y)]
    with pytest.raises(ValueError, match="categories_ of a classifier does not fit"):
        check_state(model)


def test_a_second_level_has_the_margins_of_the_members(mixed_models, rows):
    model = copy.copy(mixed_models["two levels"])
    check_state(model)
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
            check_state(model)


@dataclass(frozen=True, eq=False)
class AtMost(Rule):
    """A rule outside of the package."""

    name: ClassVar[str] = "at_most"
    most: Annotated[NDArray[np.float64], Shape(None), Within(0, 1)]

    def decide(self, margins):
        return (margins <= self.most).astype(np.int8)

    def _check_labels(self, n_labels):
        require(len(self.most) == n_labels, "most")


def test_a_rule_of_a_user_is_stored_once_it_is_registered(tuned, rows):
    tuned.rule_ = AtMost(np.full(4, 0.5))
    with pytest.raises(TypeError, match="rule_ holds AtMost, which a model file cannot store"):
        take_apart(tuned)
    stored(AtMost)
    state = take_apart(tuned)
    X = np.nan_to_num(rows.X)
    np.testing.assert_array_equal(put_together(state).predict(X), tuned.predict(X))
    for most in (np.full(3, 0.5), np.full(4, 1.5)):
        tuned.rule_ = AtMost(most)
        with pytest.raises(ValueError, match="most does not fit"):
            put_together(take_apart(tuned))


def test_a_file_cannot_have_a_module_imported(tuned, tmp_path, monkeypatch):
    (tmp_path / "rules_of_a_user.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    state = take_apart(tuned)
    for name in ("rules_of_a_user.Rule", "rules_of_a_user", "xdcc.decision.rules.LabelWise"):
        state.objects[0]["class"] = name
        with pytest.raises(ValueError, match=f"'{name}' is not a known class"):
            put_together(state)


@pytest.mark.parametrize(
    "cost", [2, [9.0, 1.0], (9.0, 1), np.array([9, 1]), {"red": 2.0}], ids=repr
)
def test_costs_of_every_form(cost):
    model = ThresholdClassifier(None, measure=LabelCosts(false_negative=cost))
    back = put_together(take_apart(model)).measure.false_negative
    assert type(back) is type(cost)
    np.testing.assert_equal(back, cost)
