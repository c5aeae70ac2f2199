"""One fold for many rows, the first booster of a time budget, and candidates without a model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import xdcc
from xdcc.automatic import boosters, holdout, search
from xdcc.automatic.boosters import ROUNDS_OF_ONE_FOLD, Boosters, Pace, booster, first_booster
from xdcc.automatic.families import families_of, usual_candidates
from xdcc.automatic.holdout import hold_out, relative_error
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.watch import Watch
from xdcc.base.fit_data import FitData

DATA = xdcc.data.make_multilabel(500, n_labels=3, random_state=0)
X, Y, X_NEW, Y_NEW = DATA.X[:300], DATA.Y[:300], DATA.X[300:], DATA.Y[300:]


def of_labels(Y, weight=None):
    return FitData(np.zeros((len(Y), 1), np.float32), np.asarray(Y, np.float32), weight)


def one_fold(data, cv, seed, time_budget=None, groups=None):
    return hold_out(cv, groups, data=data, seed=seed, time_budget=time_budget)


def frequent(n_rows):
    return np.tile([[1.0, 0.0], [0.0, 1.0]], (n_rows // 2, 1))


def test_many_rows_need_one_fold():
    folds, parts = one_fold(of_labels(frequent(50_000)), 5, seed=0)
    assert folds.n_folds == 1
    np.testing.assert_array_equal(parts >= 0, folds.tested)
    np.testing.assert_array_equal(np.bincount(parts[folds.tested]), [2000] * 5)
    assert folds.tested.sum() == 10_000
    np.testing.assert_array_equal(folds.trains(0), ~folds.tested)
    again = one_fold(of_labels(frequent(50_000)), 5, seed=0)
    np.testing.assert_array_equal(folds.test, again.folds.test)
    np.testing.assert_array_equal(parts, again.parts)
    assert one_fold(of_labels(frequent(49_000)), 5, seed=0) is None


def test_rare_labels_need_more_rows():
    rare = np.zeros((200_000, 1))
    rare[:100] = 1
    assert relative_error(of_labels(rare), 40_000) > 2 * holdout.MOST_ERROR
    assert one_fold(of_labels(rare), 5, seed=0) is None


def test_a_short_budget_is_content_with_less():
    data = of_labels(frequent(20_000))
    assert one_fold(data, 5, seed=0) is None
    assert one_fold(data, 5, seed=0, time_budget=1e6) is None
    assert one_fold(data, 5, seed=0, time_budget=1e-3).folds.n_folds == 1
    few = of_labels(frequent(10_000))
    assert one_fold(few, 5, seed=0, time_budget=1e-3) is None


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


def test_one_fold_of_whole_groups():
    sizes = np.random.default_rng(0).integers(50, 200, size=500)
    groups = np.random.default_rng(1).permutation(
        np.repeat([f"day {i}" for i in range(500)], sizes)
    )
    data = of_labels(frequent(len(groups) // 2 * 2))
    groups = groups[: len(data.Y)]
    folds, parts = one_fold(data, 5, seed=0, groups=groups)
    assert folds.tested.mean() == pytest.approx(0.2, abs=0.002)
    assert not set(groups[folds.tested]) & set(groups[~folds.tested])
    held_out = pd.DataFrame({"group": groups, "part": parts})[folds.tested]
    assert (held_out.groupby("group").part.nunique() == 1).all()
    assert held_out.part.value_counts(normalize=True).between(0.19, 0.21).all()
    other, _ = one_fold(data, 5, seed=1, groups=groups)
    assert (other.test != folds.test).any()


def test_rows_that_are_alike_need_more_groups():
    """The labels of a group are drawn with its own frequency."""
    random, groups = np.random.default_rng(0), np.arange(100_000) % 400

    def of_spread(spread):
        rate = np.clip(0.1 + spread * random.choice([-1, 1], size=400), 0, 1)
        return of_labels(random.random((100_000, 4)) < rate[groups, np.newaxis])

    assert one_fold(of_spread(0.0), 5, seed=0, groups=groups).folds.n_folds == 1
    alike = of_spread(0.1)
    assert one_fold(alike, 5, seed=0, groups=groups) is None
    assert one_fold(alike, 5, seed=0).folds.n_folds == 1  # without knowing the groups


def test_few_groups_need_several_folds():
    data, groups = of_labels(frequent(100_000)), np.arange(100_000)
    assert one_fold(data, 5, seed=0, groups=groups % 130).folds.n_folds == 1
    assert one_fold(data, 5, seed=0, groups=groups % 100) is None
    # One large group counts as one, however many small ones there are.
    assert one_fold(data, 5, seed=0, groups=np.maximum(groups - 90_000, 0) % 2000) is None


def test_the_error_of_groups_by_hand():
    """Groups of two rows: those with the same labels share their losses."""
    Y = np.zeros((100, 1))
    Y[:4] = 1
    losses = np.where(Y == 1, -np.log(0.04), -np.log(0.96))[:, 0]
    above = losses - losses.mean()
    for groups in (np.arange(100) // 2, np.arange(100) % 50):
        shared = 2 * sum(a * b for a, b in above[np.argsort(groups, kind="stable")].reshape(50, 2))
        variance = (above @ above + 0.4**2 * max(shared, 0)) / 100
        expected = np.sqrt(variance) / losses.mean() / 5
        assert relative_error(of_labels(Y), 25, groups) == pytest.approx(expected)
    assert relative_error(of_labels(Y), 25, np.arange(100)) == relative_error(of_labels(Y), 25)


def test_a_sample_knows_how_alike_rows_are(monkeypatch):
    random, groups = np.random.default_rng(0), np.arange(40_000) % 200
    data = of_labels(random.random((40_000, 2)) < random.uniform(0, 0.3, 200)[groups, np.newaxis])
    whole = relative_error(data, 8000, groups)
    monkeypatch.setattr(holdout, "sample_rows", lambda shape: np.arange(0, 40_000, 7))
    assert relative_error(data, 8000, groups) == pytest.approx(whole, rel=0.1)
    assert whole > 2 * relative_error(data, 8000)


@pytest.mark.parametrize(
    ("cv", "trained", "tested"),
    [
        (TimeSeriesSplit(4), (0, 80_000), (80_000, 100_000)),
        (TimeSeriesSplit(4, gap=100), (0, 79_900), (80_000, 100_000)),
        (TimeSeriesSplit(2, test_size=15_000), (0, 85_000), (85_000, 100_000)),
    ],
)
def test_the_last_rows_in_time(cv, trained, tested):
    folds, parts = one_fold(of_labels(frequent(100_000)), cv, seed=0)
    rows = np.arange(100_000)
    np.testing.assert_array_equal(folds.tested, (rows >= tested[0]) & (rows < tested[1]))
    np.testing.assert_array_equal(folds.trains(0), (rows >= trained[0]) & (rows < trained[1]))
    # Parts are blocks of rows that follow each other.
    assert (np.diff(parts[folds.tested]) != 0).mean() < 0.01
    assert np.ptp(np.bincount(parts[folds.tested])) < 1000
    some = folds.of_rows(rows[::1000])
    np.testing.assert_array_equal(some.trains(0), folds.trains(0)[::1000])
    assert one_fold(of_labels(frequent(100_000)), cv, 0, groups=rows // 1000) is None


def test_few_last_rows_are_not_enough():
    assert one_fold(of_labels(frequent(40_000)), TimeSeriesSplit(4), seed=0) is None
    # Rows that follow each other are alike: a label that is frequent at times.
    rate = np.where(np.arange(100_000) // 1000 % 10, 0.05, 0.5)[:, np.newaxis]
    at_times = of_labels(np.random.default_rng(0).random((100_000, 20)) < rate)
    assert one_fold(at_times, 5, seed=0).folds.n_folds == 1
    assert one_fold(at_times, TimeSeriesSplit(4), seed=0) is None


def test_a_model_of_held_out_groups_and_of_the_last_rows(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    groups = np.arange(len(X)) // 2
    frame = pd.DataFrame(X).add_prefix("x").assign(day=groups)
    model = xdcc.MultiLabelClassifier(cv=3, random_state=0).fit(frame, Y, groups="day")
    assert (model.folds_ == 0).sum() == 100
    assert not set(groups[model.folds_ == 0]) & set(groups[model.folds_ == -1])
    ordered = xdcc.MultiLabelClassifier(cv=TimeSeriesSplit(3), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(ordered.folds_, np.where(np.arange(300) < 225, -1, 0))
    assert np.isfinite(ordered.predict_proba(X_NEW)).all()


def test_other_splitters_and_few_groups_keep_their_folds(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    groups = np.arange(len(X)) // 10
    for cv in (3, GroupKFold(3)):
        model = xdcc.MultiLabelClassifier(cv=cv, random_state=0).fit(X, Y, groups=groups)
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
