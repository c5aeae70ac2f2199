"""Single-label trees, where one fold is enough and labels are unrelated."""

import numpy as np
import pandas as pd
import pytest

import xdcc
from xdcc.automatic import boosters, holdout
from xdcc.automatic.boosters import Boosters, Pace, booster, booster_of_own_trees
from xdcc.automatic.label_trees import need_own_trees
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm

N_LABELS = 20
LARGE = Shape(200_000, 50, 20, 10_000_000, 1)
MODEL = booster(LARGE, 4, 0).model


def table(n_rows, are_related, seed=0):
    """Make labels that depend on the sum of two features: the same ones, or two of its own."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 2 * N_LABELS), np.float32)
    sums = X.reshape(n_rows, N_LABELS, 2).sum(axis=2)
    odds = 2 * (np.repeat(sums[:, :1], N_LABELS, axis=1) if are_related else sums)
    Y = random.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return X, Y.astype(np.float32)


def fit_data(X, Y, weight=None):
    form = InputForm(X.shape[1], sparse_zeros="missing", is_sparse=False)
    return FitData(X, Y, weight, form)


@pytest.mark.parametrize("seed", range(3))
def test_unrelated_labels_need_their_own_trees(seed):
    assert need_own_trees(fit_data(*table(12_000, are_related=False, seed=seed)), MODEL)
    assert not need_own_trees(fit_data(*table(12_000, are_related=True, seed=seed)), MODEL)


def test_labels_without_a_relation_to_the_features_do_not():
    X, Y = table(6000, are_related=False)
    assert not need_own_trees(fit_data(X, np.random.default_rng(1).permutation(Y)), MODEL)


def test_unknown_absent_and_weighted_labels_are_compared():
    """Rows of weight 0, of related labels, do not count; nor do labels that are unknown."""
    X, Y = (np.vstack(both) for both in zip(table(5000, False), table(5000, True), strict=True))
    Y[:, 0], Y[:, 1] = np.nan, 0
    Y[::3, 2] = np.nan
    weight = np.repeat(np.array([1, 0], np.float32), 5000)
    assert need_own_trees(fit_data(X, Y, weight), MODEL)
    assert not need_own_trees(fit_data(X, Y, 1 - weight), MODEL)


def test_the_classifier_trains_them(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    X, Y = table(4000, are_related=False)
    model = xdcc.MultiLabelClassifier(random_state=0, members=["boosters"]).fit(X, Y)
    assert model.summary_["candidate"] == ["groups of 1, depth 5, rate 0.4"]
    (member,) = model.members_
    assert member.estimators[0].labels_per_tree == 1


def test_related_labels_have_trees_for_all(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    X, Y = table(4000, are_related=True)
    model = xdcc.MultiLabelClassifier(random_state=0, members=["boosters"]).fit(X, Y)
    assert all(name.startswith("all labels") for name in model.summary_["candidate"])


@pytest.mark.parametrize(
    ("shape", "longest"),
    [
        (LARGE._replace(n_folds=5), np.inf),
        (LARGE._replace(n_labels=1), np.inf),
        (LARGE._replace(n_labels=200), np.inf),
        (LARGE, 3.0),
    ],
    ids=["several folds", "one label", "many labels", "a short budget"],
)
def test_where_there_is_no_comparison(monkeypatch, shape, longest):
    family = Boosters()
    before = family.candidates(shape, longest)
    monkeypatch.setattr(boosters, "need_own_trees", lambda data, model: pytest.fail("compared"))
    family.begin(fit_data(*table(100, are_related=False)), shape, longest)
    assert [each.name for each in family.candidates(shape, longest)] == [
        each.name for each in before
    ]


@pytest.mark.parametrize("needed", [False, True])
def test_the_comparison_decides_what_is_listed_and_drawn(monkeypatch, needed):
    monkeypatch.setattr(boosters, "need_own_trees", lambda data, model: needed)
    family = Boosters()
    family.begin(fit_data(*table(100, are_related=False)), LARGE, 60.0)
    listed = [each.model.labels_per_tree for each in family.candidates(LARGE, 60.0)]
    random = np.random.default_rng(0)
    drawn = {family.draw(LARGE, random, 60.0).model.labels_per_tree for _ in range(20)}
    assert (set(listed) == drawn == {1}) is needed
    assert family.first(LARGE, 3.0).model.labels_per_tree == 0


def test_a_time_budget_trains_them(monkeypatch):
    monkeypatch.setattr(holdout, "MOST_ERROR", 1.0)
    monkeypatch.setattr(holdout, "MOST_ERROR_IN_HASTE", 1.0)
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 1)
    X, Y = table(2000, are_related=False)
    model = xdcc.MultiLabelClassifier(time_budget=60, members=["boosters"], random_state=0)
    names = pd.DataFrame(model.fit(X, Y).summary_).candidate
    assert names[0].startswith("first")
    assert names[1].startswith("groups of 1")


def test_rates_and_rounds():
    assert booster_of_own_trees(LARGE).model.get_params()["learning_rate"] == 0.4
    slow = booster_of_own_trees(LARGE, Pace(1e4)).model
    assert slow.learning_rate == 0.05
    assert slow.n_estimators > booster_of_own_trees(LARGE).model.n_estimators
