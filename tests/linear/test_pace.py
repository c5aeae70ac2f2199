"""Progress of `LogisticLabels`, the warning before a long training, and its end by Ctrl-C."""

import warnings
from itertools import count

import numpy as np
import pytest

from xdcc.data import make_multilabel
from xdcc.linear import LogisticLabels, logistic, pace
from xdcc.linear.pace import Pace

DATA = make_multilabel(120, 5, 3, random_state=0)


def fit(**params):
    return LogisticLabels(n_jobs=1, **params).fit(DATA.X, DATA.Y)


def test_the_progress_has_models_and_strengths(capsys):
    fit(verbose=1, cv=3)
    shown = capsys.readouterr().err
    assert "C=0.01" in shown
    assert "all rows" in shown
    assert " models" in shown
    fit(cv=3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("C", "advice"), [("auto", "A number as C"), (1.0, "Fewer rows, columns")])
def test_a_long_training_is_announced(monkeypatch, C, advice):
    monkeypatch.setattr(pace, "_LONG", 0.0)
    with pytest.warns(
        UserWarning, match=rf"may take \d+ minutes, as the first 3 took .* s\. {advice}.* verbose=1"
    ) as found:
        fit(C=C)
    assert found[0].filename == __file__
    assert len(found) == 1
    with warnings.catch_warnings():  # who calls it has data already, and decides
        warnings.simplefilter("error")
        LogisticLabels(n_jobs=1)._fit_checked(LogisticLabels()._begin_fit(DATA.X, DATA.Y))


@pytest.mark.parametrize(("n_models", "is_long"), [(150, False), (151, True), (0, False)])
def test_the_first_block_tells_how_long_all_take(monkeypatch, n_models, is_long):
    """Two models take four seconds; 300 are not long."""
    clock = count(0, 4.0)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    done = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tasks = [lambda: done.append(1), lambda: done.append(2)]
        made = Pace(n_models, "Wait.")
        made.run(tasks, [2, 1], 0)
        made.run(tasks, [2, 1], 0)
    assert done == [1, 2, 1, 2]
    assert [str(each.message) for each in found] == is_long * [
        "The logistic regressions may take 5 minutes, as the first 2 took 4.0 s. Wait. verbose=1 "
        "shows the progress."
    ]


def test_a_training_that_takes_gigabytes_is_announced(monkeypatch):
    monkeypatch.setattr("xdcc.linear.memory._MUCH", 2.0**20)
    with pytest.warns(
        UserWarning, match=r"3 labels on 5 columns .* may take \d+ MiB of memory\. T"
    ):
        fit()


def test_a_model_ends_between_iterations(monkeypatch):
    calls = []

    def stopped():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(logistic, "end_if_stopped", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit()
    assert len(calls) == 3


def test_shares_of_the_progress(capsys):
    """Every block counts its models once."""
    shown = Pace(verbose=True)
    shown.run([lambda: None] * 3, [64, 64, 2], np.inf)
    shown.close()
    assert "130 models" in capsys.readouterr().err
