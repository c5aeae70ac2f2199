"""Early ends of a search: a callback, or Ctrl-C if the user wants to keep the mixture."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest

import xdcc
from xdcc.automatic import mixture_rule, search
from xdcc.base.label_rows import SAMPLE_ENTRIES

DATA = xdcc.data.make_multilabel(500, n_labels=3, random_state=0)
X, Y, X_NEW = DATA.X[:330], DATA.Y[:330], DATA.X[330:]


def _classifier(**params):
    return xdcc.MultiLabelClassifier(**{"cv": 3, "random_state": 3, **params})


@pytest.fixture(autouse=True)
def calls_after_candidates_only(monkeypatch):
    """Without calls during candidates, however slow the machine is."""
    monkeypatch.setattr(search, "_BETWEEN_CALLS", np.inf)


def test_a_callback_ends_the_search_during_a_candidate(monkeypatch):
    monkeypatch.setattr(search, "_BETWEEN_CALLS", 0.0)
    rows = []

    def enough(row):
        rows.append(row)
        return np.isfinite(row["best_log_loss"]) and np.isnan(row["log_loss"])

    model = _classifier(n_jobs=1).fit(X, Y, callback=enough)
    assert model.end_ == "callback"
    assert rows[0].keys() == rows[-1].keys()
    assert len(model.members_) >= 1
    trained = {row["candidate"] for row in rows if np.isfinite(row["log_loss"])}
    assert rows[-1]["candidate"] not in trained
    assert set(model.summary_["candidate"]) == trained
    assert np.isfinite(model.predict_proba(X_NEW)).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_before_there_is_a_member_the_first_booster_ends_early(n_jobs, monkeypatch):
    monkeypatch.setattr(search, "_BETWEEN_CALLS", 0.0)
    model = _classifier(n_jobs=n_jobs).fit(X, Y, callback=lambda row: True)
    assert model.end_ == "callback"
    whole = _classifier(n_jobs=n_jobs).fit(X, Y)
    assert len(model.members_) == 1
    assert min(model.summary_["rounds"][:1]) < max(filter(None, whole.summary_["rounds"]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_ends_the_search(n_jobs):
    rows = []

    def enough(row):
        rows.append(row)
        return len(rows) == 2

    model = _classifier(n_jobs=n_jobs).fit(X, Y, callback=enough)
    assert [row["candidate"] for row in rows] == model.summary_["candidate"][:2]
    assert rows[1]["best_log_loss"] == model.summary_["best_log_loss"][1]
    assert model.summary_["candidate"][2:] == []
    assert {len(member.estimators) for member in model.members_} == {3}  # of the folds
    assert np.isfinite(model.predict_proba(X_NEW)).all()


def test_a_callback_within_a_budget():
    model = _classifier(time_budget=600).fit(X, Y, callback=lambda row: row["log_loss"] < np.inf)
    assert model.summary_["candidate"][0].startswith("first")
    assert len(model.summary_["candidate"]) == 1


@pytest.mark.parametrize(("refit", "n_models"), [("auto", 3), (False, 3), (True, 1)])
def test_nothing_is_trained_after_a_callback_but_what_refit_asks_for(monkeypatch, refit, n_models):
    ended, begun = [], []
    train = search.Search._train

    def note(self, candidate, *others):
        begun.extend([candidate.name] * len(ended))
        return train(self, candidate, *others)

    monkeypatch.setattr(search.Search, "_train", note)
    model = _classifier(n_jobs=1, refit=refit).fit(
        X, Y, callback=lambda row: ended.append(1) or True
    )
    assert (len(ended), begun) == (1, [])
    assert [len(member.estimators) for member in model.members_] == [n_models]
    assert model.stacked_ == []


@pytest.mark.parametrize("stops", [False, True])
def test_no_chain_is_trained_after_a_callback(monkeypatch, stops):
    tried = []
    monkeypatch.setattr(mixture_rule, "chain_seconds", lambda shape: 0.0)
    monkeypatch.setattr(mixture_rule, "try_joint", lambda *args, **kwargs: tried.append(1))
    model = _classifier(measure="subset_accuracy", n_jobs=1)
    model.fit(X, Y, callback=lambda row: stops)
    assert tried == [1] * (not stops)


@pytest.mark.parametrize("stops", [False, True])
def test_a_rule_after_a_callback_has_a_sample(monkeypatch, stops):
    entries = []
    choose = mixture_rule.try_rules

    def note(*args, **kwargs):
        entries.append(kwargs["entries"])
        return choose(*args, **kwargs)

    monkeypatch.setattr(mixture_rule, "try_rules", note)
    _classifier(n_jobs=1).fit(X, Y, callback=lambda row: stops)
    assert (entries[0] < SAMPLE_ENTRIES) == stops


def test_a_callback_that_sees_all_changes_nothing():
    seen = []
    model = _classifier().fit(X, Y, callback=seen.append)
    assert len(seen) == 4
    expected = _classifier().fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X_NEW), expected.predict_proba(X_NEW))


def test_an_error_of_a_callback_is_raised():
    def fail(row):
        raise RuntimeError("the callback has failed")

    with pytest.raises(RuntimeError, match="the callback has failed"):
        _classifier().fit(X, Y, callback=fail)


def _interrupted(monkeypatch, name):
    """Let Ctrl-C arrive when the training of a candidate begins."""
    train = search.Search._train

    def interrupt(self, candidate, *others):
        if candidate.name.startswith(name):
            while not self._table:  # another thread can still train the first candidate
                threading.Event().wait(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        return train(self, candidate, *others)

    monkeypatch.setattr(search.Search, "_train", interrupt)


@pytest.mark.parametrize("refit", ["auto", True])
@pytest.mark.parametrize(
    ("n_jobs", "time_budget", "name"),
    [(1, None, "linear"), (2, None, "second"), (1, 600, "linear"), (2, 600, "linear")],
)
def test_ctrl_c_keeps_the_mixture(monkeypatch, n_jobs, time_budget, name, refit):
    _interrupted(monkeypatch, name)
    model, before = _classifier(n_jobs=n_jobs, time_budget=time_budget, refit=refit), 0
    before = threading.active_count()
    with pytest.warns(UserWarning, match="The search was interrupted"):
        model.fit(X, Y, keep_on_interrupt=True)
    assert threading.active_count() == before
    assert name not in model.summary_["candidate"]
    n_models = {len(member.estimators) for member in model.members_ if member.name != "linear"}
    assert n_models == {1 if refit is True else 3}
    assert np.isfinite(model.predict_proba(X_NEW)).all()
    assert model.predict(X_NEW).shape == (len(X_NEW), 3)


def test_ctrl_c_after_the_second_level_keeps_it(monkeypatch):
    keep = search.Search._can_use_all_rows

    def interrupt(self, names):
        if names == ["second level"]:
            os.kill(os.getpid(), signal.SIGINT)
        return keep(self, names)

    monkeypatch.setattr(search.Search, "_can_use_all_rows", interrupt)
    monkeypatch.setattr("xdcc.automatic.mixture.is_gain", lambda *losses: True)
    with pytest.warns(UserWarning, match="The search was interrupted"):
        model = _classifier(n_jobs=1).fit(X, Y, keep_on_interrupt=True)
    (level,) = model.stacked_
    assert len(level.estimators) == 3
    assert model.summary_["share"][-1] == level.share > 0


def test_ctrl_c_before_there_is_a_member(monkeypatch):
    monkeypatch.setattr(search.Search, "_train", lambda *args: os.kill(os.getpid(), signal.SIGINT))
    model = _classifier()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, keep_on_interrupt=True)
    assert not hasattr(model, "members_")


def test_a_second_ctrl_c_ends_fit(monkeypatch):
    _interrupted(monkeypatch, "linear")
    monkeypatch.setattr(search, "_on_all_rows", lambda *args: os.kill(os.getpid(), signal.SIGINT))
    model = _classifier(n_jobs=1, refit=True)
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, keep_on_interrupt=True)
    assert not hasattr(model, "members_")
