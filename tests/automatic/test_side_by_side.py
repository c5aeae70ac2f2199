"""Candidates side by side: the same model for any number of threads, whatever finishes first."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from xdcc import MultiLabelClassifier
from xdcc.automatic import search
from xdcc.automatic.family import Candidate
from xdcc.base.memory import NotEnoughMemoryError
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.linear import LogisticLabels

X, Y = make_multilabel_classification(
    n_samples=330, n_features=6, n_classes=4, n_labels=2, random_state=5
)


def _classifier(measure="subset_accuracy", **params):
    return MultiLabelClassifier(measure, **{"cv": 3, "random_state": 3, **params})


def _learned(model):
    """Everything that must not depend on the number of threads."""
    boosters = [
        each.booster_.save_raw()
        for member in (*model.members_, *model.stacked_)
        for each in member.estimators
        if isinstance(each, MultiLabelXGBClassifier)
    ]
    table = {name: column for name, column in model.summary_.items() if name != "seconds"}
    arrays = [model.oof_proba_.tobytes(), model.predict_proba(X).tobytes(), boosters]
    return [table, str(model.cv_results_), model.best_score_, arrays]


@pytest.fixture(scope="module")
def expected():
    return _learned(_classifier(n_jobs=1).fit(X, Y))


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_model_does_not_depend_on_the_number_of_threads(n_jobs, expected, threads):
    assert _learned(_classifier(n_jobs=n_jobs).fit(X, Y)) == expected


def _slowed(monkeypatch, slow):
    """Delay what comes back from training `slow` candidates until the others have ended."""
    train, ended = search.Search._train, []

    def delayed(self, candidate, *others):
        found = train(self, candidate, *others)
        n_others = len(self._usual) - len(slow)
        while candidate.name in slow and len(ended) < n_others:
            time.sleep(0.001)
        ended.append(candidate.name)
        return found

    monkeypatch.setattr(search.Search, "_train", delayed)
    return ended


def test_candidates_enter_in_their_order(monkeypatch, expected):
    names = expected[0]["candidate"]
    ended = _slowed(monkeypatch, {names[0]})
    assert _learned(_classifier(n_jobs=2).fit(X, Y)) == expected
    assert ended.index(names[0]) == 3


def test_no_thread_is_left_with_what_takes_long_or_cannot_be_shared():
    of_name = [("a", 2.0, True), ("b", 0.1, False), ("c", 3.0, True), ("d", 1.0, True)]
    candidates = [
        Candidate(name, LogisticLabels(), seconds, is_divisible=is_divisible)
        for name, seconds, is_divisible in of_name
    ]
    ranks = search._order(candidates)
    assert sorted("abcd", key=lambda name: ranks["abcd".index(name)]) == ["c", "a", "b", "d"]
    assert search._order(candidates[1:2]) == [(-0.1, False)]


def test_one_candidate_at_a_time_if_memory_is_short(monkeypatch, expected):
    asked = []
    monkeypatch.setattr(search, "fit_in_memory", lambda needs: asked.append(needs))
    lock, train = threading.Lock(), search.Search._train

    def alone(self, candidate, *others):
        if candidate.name == "second level":  # beside models of all rows
            return train(self, candidate, *others)
        assert lock.acquire(blocking=False)
        with lock_released(lock):
            return train(self, candidate, *others)

    monkeypatch.setattr(search.Search, "_train", alone)
    assert _learned(_classifier(n_jobs=2).fit(X, Y)) == expected
    (needs,) = asked
    assert len(needs) == 4
    assert min(needs[:3]) > 0  # boosters and a forest; linear models take little


class lock_released:
    def __init__(self, lock):
        self._lock = lock

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._lock.release()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_candidate_without_memory_is_left_out(monkeypatch, n_jobs):
    def refuse(self, *args, **kwargs):
        raise NotEnoughMemoryError("A forest may take more than there is.")

    monkeypatch.setattr("xdcc.forest.classifier.MemoryNeed.require", refuse)
    with pytest.warns(UserWarning, match="'extra trees' is left out. A forest may take more"):
        model = _classifier(n_jobs=n_jobs).fit(X, Y)
    assert "extra trees" not in model.summary_["candidate"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_candidate_is_raised(monkeypatch, n_jobs):
    error = RuntimeError("the forest has failed")

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("xdcc.forest.classifier.grow_forest", fail)
    before = threading.active_count()
    with pytest.raises(RuntimeError) as raised:
        _classifier(n_jobs=n_jobs).fit(X, Y)
    assert raised.value is error
    assert threading.active_count() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_all_candidates(monkeypatch, n_jobs):
    train = search.Search._train

    def interrupt(self, candidate, *others):
        if candidate.name.startswith("groups"):
            os.kill(os.getpid(), signal.SIGINT)
        return train(self, candidate, *others)

    monkeypatch.setattr(search.Search, "_train", interrupt)
    model, before = _classifier(n_jobs=n_jobs), threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "members_")
    assert threading.active_count() == before


def test_seconds_are_those_of_the_candidate_itself(monkeypatch):
    """The time that it waits for its turn to enter the mixture does not count."""
    names = _classifier(n_jobs=2).fit(X, Y).summary_["candidate"]
    calibrate, waited = search.Search._calibrate, 0.5

    def slow(self, margins):
        if threading.current_thread().name == "slow":
            time.sleep(waited)
        return calibrate(self, margins)

    train = search.Search._train

    def named(self, candidate, *others):
        threading.current_thread().name = "slow" if candidate.name == names[0] else "other"
        return train(self, candidate, *others)

    monkeypatch.setattr(search.Search, "_calibrate", slow)
    monkeypatch.setattr(search.Search, "_train", named)
    seconds = _classifier(n_jobs=2).fit(X, Y).summary_["seconds"]
    assert seconds[0] >= waited
    assert min(seconds) < waited


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_time_budget_with_threads(n_jobs):
    begin = time.perf_counter()
    model = _classifier(n_jobs=n_jobs, time_budget=1.5).fit(X, Y)
    assert np.isfinite(model.best_score_)
    assert time.perf_counter() - begin < 30
