"""Bins of X that trainings share: made once, and never changed by one of them."""

import threading

import numpy as np
import pytest
import xgboost as xgb

from xdcc import MultiLabelClassifier
from xdcc.base.bins import SharedBins
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm
from xdcc.base.rounds import with_own_weights


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


def test_the_search_finds_bins_once(data, monkeypatch):
    """All boosters of the first level have as many bins; the second level has other features."""
    made = []
    make = xgb.QuantileDMatrix

    def counted(X, **parameters):
        made.append((X.shape[1], parameters["max_bin"]))
        return make(X, **parameters)

    monkeypatch.setattr(xgb, "QuantileDMatrix", counted)
    MultiLabelClassifier(random_state=0, n_jobs=1).fit(np.asarray(data.X), np.asarray(data.Y))
    assert made.count((3, 64)) == 1
    assert len(made) == len(set(made))
