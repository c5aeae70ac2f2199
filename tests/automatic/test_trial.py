"""Estimates of time that come from a few rounds and trees of the data at hand."""

import time

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import xdcc
from xdcc.automatic.boosters import Boosters, booster
from xdcc.automatic.families import families_of
from xdcc.automatic.forests import ExtraTreesForests, forest
from xdcc.automatic.linear_models import LinearModels, linear
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.trial import Trial, correct_by_trials
from xdcc.base.checks import check_fit_data
from xdcc.base.fit_data import FitData
from xdcc.base.memory import NotEnoughMemoryError
from xdcc.boosting import MultiLabelXGBClassifier

DATA = xdcc.data.make_multilabel(300, n_labels=6, random_state=0)
X, Y = DATA.X, DATA.Y
SHAPE = Shape(1500, 100, 14, 150_000, 5)


@pytest.fixture
def trial():
    return Trial.of(check_fit_data(MultiLabelXGBClassifier(), X, Y), 60.0, 1)


def test_few_rows_are_timed_whole_and_many_by_a_sample(trial):
    assert trial.shape == Shape(300, 10, 6, 3000, 1)
    part = Trial.of(trial.data, 0.01, 1)
    assert part.shape.n_rows == 200
    assert np.isin(part.data.X[:, 0], X[:, 0].astype(np.float32)).all()


def test_rows_without_a_known_label_are_not_in_the_sample():
    known = np.zeros((1000, 1), np.float32)
    known[:-250] = np.nan
    data = FitData(np.zeros((1000, 3), np.float32), known, None)
    assert Trial.of(data, 1e-9, 1).data.known.all()


def test_boosters_learn_as_fast_as_their_rounds_need(trial, monkeypatch):
    """Rounds of groups that take a thousand times as long leave those of all labels as they are."""

    def seconds_per_step(trial, candidate):
        n_rounds = 15 / candidate.model.learning_rate
        return candidate.seconds / n_rounds * (1000 if candidate.model.labels_per_tree else 1)

    first = Boosters().candidates(SHAPE, 10.0)[0]
    monkeypatch.setattr(Trial, "seconds_per_step", seconds_per_step)
    family = Boosters()
    candidate, seconds = family.measure(trial)
    assert seconds == pytest.approx(candidate.seconds)
    assert [each.name for each in family.candidates(SHAPE, 10.0)] == [first.name]
    slow = family.candidates(SHAPE, 1e6)[1]
    assert slow.model.learning_rate == 0.05
    assert slow.seconds == pytest.approx(1000 * booster(SHAPE, 6, 7).seconds)


def test_boosters_of_one_label_are_timed(monkeypatch):
    data = check_fit_data(MultiLabelXGBClassifier(), X, Y[:, :1])
    family = Boosters()
    family.measure(Trial.of(data, 1.0, 1))
    assert len(family.candidates(SHAPE._replace(n_labels=1), 10.0)) == 1


@pytest.mark.parametrize(("longest", "n_trees"), [(1e6, 200), (150, 100), (100, 60), (1, 15)])
def test_a_forest_has_the_trees_that_it_has_time_for(trial, monkeypatch, longest, n_trees):
    """A tree takes a second, and what precedes it ten."""
    monkeypatch.setattr(Trial, "seconds", lambda trial, each: 10.0 + each.model.n_estimators)
    family = ExtraTreesForests()
    candidate, seconds = family.measure(trial)
    assert seconds == 10 + candidate.model.n_estimators
    assert family.candidates(trial.shape, longest)[0].model.n_estimators == n_trees


def test_linear_models_are_timed_by_some_labels(monkeypatch):
    """The models of some labels take twice their estimate, so those of all do, too."""
    data = xdcc.data.make_multilabel(300, n_labels=70, random_state=0)
    trial = Trial.of(check_fit_data(MultiLabelXGBClassifier(), data.X, data.Y), 60.0, 1)
    timed = []

    def twice_as_long(part, candidate):
        timed.append(part)
        return 2 * candidate.seconds

    monkeypatch.setattr(Trial, "seconds", twice_as_long)
    candidate, seconds = LinearModels().measure(trial)
    assert seconds == pytest.approx(2 * linear(trial.shape).seconds)
    assert candidate.seconds > linear(timed[0].shape).seconds
    assert timed[0].data.Y.shape == (300, timed[0].shape.n_labels)
    assert 16 <= timed[0].shape.n_labels <= 32


def test_linear_models_of_many_labels_do_not_end_early():
    assert linear(SHAPE).ends_early
    assert not linear(SHAPE._replace(n_labels=300, n_features=5000)).ends_early


@pytest.mark.parametrize("kind", [Boosters, ExtraTreesForests, LinearModels])
def test_trials_take_little_time(trial, kind):
    begun = time.process_time()
    _, seconds = kind().measure(trial)
    assert 0 < seconds < 60
    assert time.process_time() - begun < 5


def test_what_memory_does_not_suffice_for_is_not_timed(trial, monkeypatch):
    def too_large(family, trial):
        raise NotEnoughMemoryError("too large")

    monkeypatch.setattr(ExtraTreesForests, "measure", too_large)
    budget = TimeBudget(time.perf_counter(), 60)
    correct_by_trials(families_of(None), trial.data, budget, 1)
    others = budget.slowness(booster(SHAPE, 4, 0)), budget.slowness(linear(SHAPE))
    assert others[0] != 1
    assert budget.slowness(forest(SHAPE)) == max(1.0, *others)


def test_members_of_users_are_not_timed(trial):
    model = KNeighborsClassifier()
    assert families_of([model])[0].measure(trial) is None
    correct_by_trials(families_of([model]), trial.data, TimeBudget(0, 60), 1)
