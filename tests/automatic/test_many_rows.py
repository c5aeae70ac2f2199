"""One fold for many rows, the first booster of a time budget, and candidates without a model."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest

import xdcc
from xdcc.automatic import boosters, holdout, search
from xdcc.automatic.boosters import ROUNDS_OF_ONE_FOLD, Boosters, Pace, booster, first_booster
from xdcc.automatic.families import families_of, usual_candidates
from xdcc.automatic.family import Candidate
from xdcc.automatic.holdout import haste_of, one_fold, relative_error
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.watch import Watch
from xdcc.base.fit_data import FitData
from xdcc.boosting import MultiLabelXGBClassifier

DATA = xdcc.data.make_multilabel(500, n_labels=3, random_state=0)
X, Y, X_NEW, Y_NEW = DATA.X[:300], DATA.Y[:300], DATA.X[300:], DATA.Y[300:]


def of_labels(Y, weight=None):
    return FitData(np.zeros((len(Y), 1), np.float32), np.asarray(Y, np.float32), weight)


def frequent(n_rows):
    return np.tile([[1.0, 0.0], [0.0, 1.0]], (n_rows // 2, 1))


def test_many_rows_need_one_fold():
    folds = one_fold(of_labels(frequent(50_000)), 5, seed=0)
    assert folds.n_folds == 1
    assert folds.tested.sum() == 10_000
    np.testing.assert_array_equal(folds.trains(0), ~folds.tested)
    again = one_fold(of_labels(frequent(50_000)), 5, seed=0)
    np.testing.assert_array_equal(folds.test, again.test)
    assert one_fold(of_labels(frequent(49_000)), 5, seed=0) is None


def test_rare_labels_need_more_rows():
    rare = np.zeros((200_000, 1))
    rare[:100] = 1
    assert relative_error(of_labels(rare), 40_000) > 2 * holdout.MOST_ERROR
    assert one_fold(of_labels(rare), 5, seed=0) is None


def test_a_short_budget_is_content_with_less():
    data = of_labels(frequent(20_000))
    assert one_fold(data, 5, seed=0) is None
    assert one_fold(data, 5, seed=0, haste=2.0).n_folds == 1
    few = of_labels(frequent(10_000))
    assert one_fold(few, 5, seed=0, haste=2.0) is None
    assert one_fold(few, 5, seed=0, haste=np.inf).n_folds == 1


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "budget", "haste"),
    [
        (2000, 5, None, 1.0),
        (2000, 5, 600.0, 1.0),
        (50_000, 5, 100.0, 2.0),
        (50_000, 5, 10.0, np.inf),
        (6000, 2500, None, 1.0),
        (6000, 2500, 45.0, np.inf),
    ],
)
def test_how_much_haste_a_budget_makes(n_rows, n_labels, budget, haste):
    """With many rows, slow boosters do not fit into five folds; with many labels, nothing does."""
    shape = Shape(n_rows, 50, n_labels, n_rows * 50, 5)
    seconds = TimeBudget(time.perf_counter(), budget)
    assert haste_of(families_of(None), shape, seconds, has_rules=True) == haste


def test_decision_rules_need_the_rows_of_all_folds_more_than_models_need_time(monkeypatch):
    """Candidates take 9 of 10 seconds, and are worth something after 3."""
    shape = Shape(2000, 20, 4, 2000 * 20, 5)
    candidate = Candidate("slow", MultiLabelXGBClassifier(), 9.0, ends_early=True)
    monkeypatch.setattr(holdout, "usual_candidates", lambda *arguments: [candidate])
    budget = TimeBudget(time.perf_counter(), 10.0)
    assert haste_of([], shape, budget, has_rules=False) == np.inf
    assert haste_of([], shape, budget, has_rules=True) < np.inf


def test_the_error_of_a_fold_by_hand():
    """A label of 2 %: the loss is -ln .02 in 2 rows of 100, else -ln .98."""
    Y = np.zeros((100, 1))
    Y[:2] = 1
    losses = np.where(Y == 1, -np.log(0.02), -np.log(0.98))
    expected = losses.std() / losses.mean() / 10
    assert relative_error(of_labels(Y), 100) == pytest.approx(expected)
    assert relative_error(of_labels(np.full((4, 1), np.nan)), 4) == np.inf


@pytest.mark.parametrize("measure", ["example_f1", "subset_accuracy", "neg_log_loss"])
def test_a_model_of_one_fold(monkeypatch, measure):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    model = xdcc.MultiLabelClassifier(measure, cv=3, random_state=0).fit(X, Y)
    assert np.unique(model.folds_).tolist() == [-1, 0]
    assert (model.folds_ == 0).sum() == 100
    known = ~np.isnan(model.oof_proba_).any(axis=1)
    np.testing.assert_array_equal(known, model.folds_ == 0)
    assert not model.stacked_
    assert {len(member.estimators) for member in model.members_} == {1}  # that of the fold
    loss = -np.log(np.where(Y_NEW == 1, proba := model.predict_proba(X_NEW), 1 - proba)).mean()
    assert loss < -np.log(np.where(Y_NEW == 1, Y.mean(0), 1 - Y.mean(0))).mean()


def test_a_linear_model_of_one_fold_learns_from_a_sample(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    monkeypatch.setattr("xdcc.automatic.linear_models._LEAST_ROWS", 150)
    monkeypatch.setattr("xdcc.automatic.linear_models._ROWS_PER_FEATURE", 1)
    trained, out_of_fold = [], search.out_of_fold

    def spied(estimator, data, folds, **others):
        trained.append((type(estimator).__name__, len(data.Y)))
        assert 0.2 < (folds.test == 0).mean() < 0.45
        return out_of_fold(estimator, data, folds, **others)

    monkeypatch.setattr(search, "out_of_fold", spied)
    table = pd.DataFrame(xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(X, Y).summary_)
    assert dict(trained) == {"MultiLabelXGBClassifier": len(X), "LogisticLabels": 150}
    # Its log-loss is that of all rows of the fold.
    of_linear = table.log_loss[table.candidate == "linear"].item()
    assert 0 < of_linear < 0.6
    # The spread is that over parts of the fold.
    assert (table[["log_loss_std", "best_log_loss_std"]] > 0).all(axis=None)


def test_groups_and_splits_keep_their_folds(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    groups = np.arange(len(X)) // 10
    model = xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(X, Y, groups=groups)
    assert np.unique(model.folds_).tolist() == [0, 1, 2]


def test_one_fold_has_a_fast_booster_and_no_forest():
    large = Shape(300_000, 100, 20, 30_000_000, 1)
    names = [candidate.name for candidate in usual_candidates(families_of(None), large)]
    assert names == ["all labels, depth 4, rate 0.2", "linear"]
    assert booster(large, 4, 0).model.n_estimators == ROUNDS_OF_ONE_FOLD
    in_time = Pace(1e4)
    assert booster(large, 4, 0, pace=in_time).model.n_estimators > ROUNDS_OF_ONE_FOLD
    assert booster(large, 4, 0, pace=in_time).model.learning_rate == 0.05
    in_budget = usual_candidates(families_of(None), large, 1e4)
    assert "extra trees" in [candidate.name for candidate in in_budget]


def test_many_rows_are_not_sampled():
    """Trees grow on all rows where one fold is enough."""
    few = Shape(40_000, 100, 20, 4_000_000, 5)
    shares = {
        shape.n_folds: Boosters().candidates(shape, longest)[0].model.get_params()["subsample"]
        for longest in (np.inf, 1e4)
        for shape in (few, few._replace(n_folds=1))
    }
    assert shares == {5: 0.7, 1: 1.0}


def test_rounds_that_are_left_train_a_slower_booster(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    table = pd.DataFrame(xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(X, Y).summary_)
    assert table.candidate.tolist() == [
        *("all labels, depth 4, rate 0.2", "linear", "all labels, depth 4, rate 0.05")
    ]
    assert table.rounds[0] + table.rounds[2] < ROUNDS_OF_ONE_FOLD
    monkeypatch.setattr(boosters, "ROUNDS_OF_ONE_FOLD", int(table.rounds[0]) + 40)
    table = pd.DataFrame(xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(X, Y).summary_)
    assert table.candidate.tolist() == ["all labels, depth 4, rate 0.2", "linear"]


def test_the_first_booster_learns_as_fast_as_the_time_needs():
    shape = Shape(1000, 10, 3, 10_000, 1)
    rates = [first_booster(shape, s).model.learning_rate for s in (9, 0.1, 0.05, 0.02, 0)]
    assert rates == sorted(rates)
    assert set(rates) == {0.05, 0.1, 0.2, 0.4}


class Stopwatch:
    """A clock that advances by a second each time it is read."""

    def __init__(self, monkeypatch):
        self.seconds = 0.0
        monkeypatch.setattr("time.perf_counter", self)

    def __call__(self):
        self.seconds += 1
        return self.seconds


def test_a_watch_ends_and_measures(monkeypatch):
    Stopwatch(monkeypatch)
    budget = TimeBudget(0.0, 1e6)
    watch = Watch(budget, end=8.5)  # begins after a second
    # It looks once, and the budget, too.
    looks = [watch.ends(n_steps) for n_steps in (1, 2, 4, 6, 8)]
    assert looks == [False, False, False, False, True]
    assert watch.is_cut
    assert watch.n_steps == 8
    assert watch.seconds_per_step() == pytest.approx((10 - 2) / 7)
    alone = Watch(TimeBudget(0.0, 1.0))
    assert alone.ends(1)
    assert alone.seconds_per_step() == 1.0


def test_boosters_set_the_pace_of_the_next(monkeypatch):
    paces, learn = [], Boosters.learn

    def spied(self, training):
        seconds = learn(self, training)
        paces.append((training, self._pace(np.inf).needed))
        return seconds

    monkeypatch.setattr(Boosters, "learn", spied)
    monkeypatch.setattr(search, "_MOST_FAILURES", 2)
    xdcc.MultiLabelClassifier(time_budget=600, cv=3, random_state=0).fit(X, Y)
    assert paces
    for training, needed in paces:
        model = training.candidate.model
        if model.labels_per_tree == 0:
            assert not training.watch.is_cut
            assert needed == max(15, model.learning_rate * training.unfitted.n_estimators)


def test_boosters_that_are_cut_are_followed_by_fast_ones(monkeypatch):
    def first_is_cut(self, training):
        training.watch.is_cut = training.candidate.name.startswith("first")
        return learn(self, training)

    learn = Boosters.learn
    monkeypatch.setattr(Boosters, "learn", first_is_cut)
    monkeypatch.setattr(search, "_MOST_FAILURES", 2)
    model = xdcc.MultiLabelClassifier(time_budget=600, cv=3, random_state=0).fit(X, Y)
    assert model.summary_["candidate"][1] == "all labels, depth 4, rate 0.3"


def test_the_end_is_told(monkeypatch):
    monkeypatch.setattr(search, "_MOST_FAILURES", 2)
    ends = [
        xdcc.MultiLabelClassifier(time_budget=budget, cv=3, random_state=0).fit(X, Y).end_
        for budget in (None, 600, 1)
    ]
    assert ends == [
        "all candidates were tried",
        "2 candidates in turn have not helped",
        "time_budget",
    ]


def test_a_booster_is_first_in_a_budget(monkeypatch):
    monkeypatch.setattr("xdcc.automatic.search._BETWEEN_CALLS", np.inf)
    model, rows = xdcc.MultiLabelClassifier(time_budget=60, cv=3, random_state=0), []
    model.fit(X, Y, callback=lambda row: rows.append(row) or len(rows) == 5)
    names = model.summary_["candidate"]
    assert names[0].startswith("first, depth 6, rate 0.")
    assert len(names) > 4
    assert [name for name in names if name.startswith("first")] == names[:1]
    assert np.isfinite(model.predict_proba(X_NEW)).all()


def test_candidates_without_a_model_are_listed(monkeypatch):
    monkeypatch.setattr(search, "_MOST_FAILURES", 2)

    def estimate(budget, candidate):
        return 1e9 if candidate.name == "extra trees" else 0.0

    monkeypatch.setattr(TimeBudget, "estimate", estimate)
    model = xdcc.MultiLabelClassifier(time_budget=4, cv=3, random_state=0).fit(X, Y)
    table = pd.DataFrame(model.abandoned_).set_index("candidate")
    assert table.reason["extra trees"] == "it would take 1000000000 s or more"
    assert table.index.is_unique
    assert "extra trees" not in model.summary_["candidate"]


def test_a_search_without_a_booster_says_so(monkeypatch):
    monkeypatch.setattr("xdcc.automatic.search.Search._try_first", lambda search: None)
    monkeypatch.setattr(
        TimeBudget, "estimate", lambda budget, each: 0.0 if each.name == "linear" else 1e9
    )
    with pytest.warns(
        UserWarning, match="No booster was trained: .* Not tried: .*all labels, depth 4"
    ):
        xdcc.MultiLabelClassifier(time_budget=60, cv=3, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(X, Y)
    assert model.abandoned_ == {"candidate": [], "seconds": [], "reason": []}
