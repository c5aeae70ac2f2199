"""Searches in time budgets that are too short for all folds, and those that are not."""

import time
import warnings

import numpy as np
import pytest

import xdcc
from xdcc.automatic import classifier, short_search
from xdcc.automatic.families import families_of
from xdcc.automatic.family import Candidate
from xdcc.automatic.short_search import is_too_short
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.trial import Trial
from xdcc.base.checks import check_fit_data
from xdcc.boosting import MultiLabelXGBClassifier

DATA = xdcc.data.make_multilabel(500, n_labels=4, random_state=0)
X, Y = DATA.X, DATA.Y
FIT_DATA = check_fit_data(MultiLabelXGBClassifier(), X, Y)


def too_short(seconds, n_folds=5, **others):
    budget = TimeBudget(time.perf_counter(), seconds)
    options = {"has_rules": False} | others
    return is_too_short(families_of(None), budget, FIT_DATA, n_folds, 1, **options)


def listed(monkeypatch, *seconds, least_share=1.0):
    """Let the usual candidates take these seconds, and trials change nothing."""
    model = MultiLabelXGBClassifier()
    candidates = [Candidate(str(s), model, s, ends_early=least_share < 1) for s in seconds]
    monkeypatch.setattr(short_search, "usual_candidates", lambda *arguments: candidates)
    monkeypatch.setattr(short_search, "correct_by_trials", lambda *arguments: None)


@pytest.mark.parametrize(("seconds", "n_folds"), [(None, 5), (1.0, None), (1000.0, 5)])
def test_without_doubt_nothing_is_timed(monkeypatch, seconds, n_folds):
    """Without a limit, where no fold can be held out, and with much time."""
    monkeypatch.setattr(Trial, "of", lambda *arguments: pytest.fail("timed"))
    assert not too_short(seconds, n_folds)


@pytest.mark.parametrize(("seconds", "is_short"), [(1e-3, True), (60.0, False)])
def test_trials_decide(monkeypatch, seconds, is_short):
    monkeypatch.setattr(short_search, "_MOST_SLOWNESS", np.inf)
    assert too_short(seconds) == is_short


def test_candidates_have_three_fifths_of_the_time(monkeypatch):
    listed(monkeypatch, 3.0, 2.9)
    assert not too_short(10.0)
    listed(monkeypatch, 3.0, 3.1)
    assert too_short(10.0)


def test_what_ends_early_needs_a_part_of_its_time(monkeypatch):
    listed(monkeypatch, 9.0, 9.0, least_share=0.3)
    assert not too_short(10.0)


def test_with_rules_the_most_expensive_candidate_can_be_left_out(monkeypatch):
    listed(monkeypatch, 5.0, 50.0)
    assert too_short(10.0)
    assert not too_short(10.0, has_rules=True)


def fitted(monkeypatch, is_short, measure="precision_at_1", **params):
    """Fit with trials, whose result is given; return the model and the kinds of searches."""
    kinds = []

    class Short(short_search.ShortSearch):
        def __init__(self, *arguments, **others):
            kinds.append("short")
            super().__init__(*arguments, **others)

    def found(families, budget, data, *arguments, **others):
        short_search.correct_by_trials(families, data, budget, 1)
        return is_short

    monkeypatch.setattr(classifier, "ShortSearch", Short)
    monkeypatch.setattr(classifier, "is_too_short", found)
    model = xdcc.MultiLabelClassifier(measure, n_jobs=1, random_state=0, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, Y), kinds


@pytest.mark.parametrize("measure", ["precision_at_1", "example_f1"])
def test_a_short_search_holds_out_one_fold(monkeypatch, measure):
    model, kinds = fitted(monkeypatch, True, measure, time_budget=3)
    assert kinds == ["short"]
    assert np.bincount(model.folds_ + 1).tolist() == [400, 100]
    assert len(model.summary_["candidate"]) > 1
    assert model.predict_proba(X).shape == Y.shape
    for member in model.members_:
        assert 1 <= len(member.estimators) <= 5


def test_members_with_the_largest_shares_are_trained_on_all_rows_first(monkeypatch):
    model, _ = fitted(monkeypatch, True, time_budget=4)
    shares = [member.share for member in model.members_]
    assert shares == sorted(shares, reverse=True)


def test_with_refit_all_models_are_of_all_rows(monkeypatch):
    model, _ = fitted(monkeypatch, True, time_budget=3, refit=True)
    assert all(member.estimators for member in model.members_)


def test_a_short_search_without_a_fold_to_hold_out_is_a_usual_one(monkeypatch):
    """Ten groups are too few."""
    monkeypatch.setattr(classifier, "is_too_short", lambda *arguments, **others: True)
    monkeypatch.setattr(classifier, "ShortSearch", lambda *a, **o: pytest.fail("short"))
    model = xdcc.MultiLabelClassifier("precision_at_1", time_budget=2, random_state=0, n_jobs=1)
    model.fit(X, Y, groups=np.arange(len(Y)) // 50)
    assert model.folds_.max() == 4


def test_a_usual_search_does_not_know_the_trials(monkeypatch):
    seen = []

    def search(data, families, folds, *, budget, **others):
        seen.append((families, budget))
        raise InterruptedError

    monkeypatch.setattr(classifier, "Search", search)
    with pytest.raises(InterruptedError):
        fitted(monkeypatch, False, time_budget=3)
    [(families, budget)] = seen
    shape = short_search.Shape.of(FIT_DATA, 5)
    usual = short_search.usual_candidates(families, shape, 1.0)
    fresh = short_search.usual_candidates(families_of(None), shape, 1.0)
    assert [repr(c.model) for c in usual] == [repr(c.model) for c in fresh]
    assert [budget.slowness(each) for each in usual] == [1.0] * len(usual)
