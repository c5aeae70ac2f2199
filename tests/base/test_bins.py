"""Bins of X that trainings share: made once, and never changed by one of them."""

import threading
import weakref

import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone

from xdcc import MultiLabelClassifier, MultiLabelXGBClassifier
from xdcc.automatic.mixture import Member
from xdcc.base.bins import SharedBins
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm
from xdcc.base.rounds import with_own_weights
from xdcc.decision import TunedDecisionClassifierCV


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(np.float32)
    return FitData(X, Y, np.linspace(0.5, 2, 60), bins=SharedBins())


def test_the_matrix_is_made_once_for_each_number_of_bins(data):
    assert data.binned(64) is data.binned(64)
    assert data.binned(64) is not data.binned(16)
    assert data._replace(input_form=InputForm(3)).binned(16) is data.binned(16)


def test_threads_wait_for_the_one_that_makes_it(data):
    made = []
    threads = [threading.Thread(target=lambda: made.append(data.binned(64))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(map(id, made))) == 1


@pytest.mark.parametrize("changed", ["X", "Y", "sample_weight"])
def test_other_data_have_other_bins(data, changed):
    first = data.binned(64)
    other = data._replace(**{changed: getattr(data, changed).copy()})
    assert other.binned(64) is not first
    assert data.binned(64) is first


def test_without_sharing_each_call_makes_a_matrix(data):
    alone = data._replace(bins=None)
    assert alone.binned(64) is not alone.binned(64)


def test_weights_of_a_training_are_its_own(data):
    matrix = data.binned(64)
    own = with_own_weights(matrix, 64, 2, is_shared=True)
    own[0].set_weight(np.zeros(60, np.float32))
    assert np.array_equal(matrix.get_weight(), data.sample_weight.astype(np.float32))
    assert with_own_weights(matrix, 64, 1)[0] is matrix


@pytest.fixture
def made(monkeypatch):
    """Return a list that gets the shape of X and the number of bins of each binned matrix.

    Matrices that are not binned are there with 0 bins: training puts their features into bins.
    """
    found = []
    binned, plain = xgb.QuantileDMatrix, xgb.DMatrix

    class Binned(binned):
        def __init__(self, X, **parameters):
            found.append((X.shape, parameters["max_bin"]))
            super().__init__(X, **parameters)
            alive.add(self)

    class Plain(plain):
        def __init__(self, X, *args, **parameters):
            if hasattr(X, "shape") and len(X) > 2:  # not that on which metrics are tried
                found.append((X.shape, 0))
            super().__init__(X, *args, **parameters)
            alive.add(self)

    alive = weakref.WeakSet()
    monkeypatch.setattr(xgb, "QuantileDMatrix", Binned)
    monkeypatch.setattr(xgb, "DMatrix", Plain)
    yield found
    assert not alive  # no model keeps a matrix


def few_candidates(row):
    return row["candidate"].endswith("(2)")


BOOSTERS = {"members": ["boosters"]}
SEARCHES = {
    "default": ({}, None),
    "models of all rows": (BOOSTERS | {"refit": True}, None),
    "with a time budget": (BOOSTERS | {"time_budget": 600.0}, few_candidates),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_bins_once(name, data, made, monkeypatch):
    """All boosters of the first level have as many bins; the second level has other features."""
    monkeypatch.setattr("xdcc.automatic.boosters._RATES", ((0.5, np.inf),))  # they learn fast
    arguments, callback = SEARCHES[name]
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    model = MultiLabelClassifier(random_state=0, n_jobs=1, cv=3, **arguments)
    model.fit(X, Y, sample_weight=data.sample_weight, callback=callback)
    assert sum("depth" in name for name in model.summary_["candidate"]) > 1
    assert made.count(((60, 3), 64)) == 1
    assert len(made) == len({shape for shape, _ in made}) <= 2


def test_members_that_are_trained_again_share_bins(data, made):
    model = MultiLabelClassifier(random_state=0, n_jobs=1, cv=3, members=["boosters"])
    model.fit(np.asarray(data.X), np.asarray(data.Y))
    boosters = [MultiLabelXGBClassifier(n_estimators=n, n_jobs=1) for n in (3, 4)]
    model.members_ = [
        Member(str(number), 0.5, [each.fit(data.X, data.Y)], model.calibration_)
        for number, each in enumerate(boosters)
    ]
    checked = clone(model)._begin_fit(np.asarray(data.X), np.asarray(data.Y))
    made.clear()
    again = model._trained_on(checked)
    assert made == [((60, 3), 256)]
    for member, booster in zip(again.members_, boosters, strict=True):
        [other] = member.estimators
        assert other.booster_.save_raw() == booster.booster_.save_raw()


def test_a_model_of_all_rows_has_the_bins_of_the_folds(data, made):
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    booster = MultiLabelXGBClassifier(n_estimators=4, n_jobs=1, subsample=0.8)
    model = TunedDecisionClassifierCV(booster, cv=3, ensemble=False, random_state=0).fit(X, Y)
    assert made == [((60, 3), 256)]
    [found] = model.estimators_
    alone = found._settled_clone().fit(X, Y)
    assert found.booster_.save_raw() == alone.booster_.save_raw()


def test_rows_of_some_data_do_not_share_bins(data):
    assert data.take(np.arange(9)).bins is None
    assert data.part(np.arange(9)).bins is None
