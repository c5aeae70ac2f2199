"""Label frequencies by hand."""

import numpy as np
import pytest
from xgboost import collective

from xdcc.base.label_frequency import label_frequency

NAN = np.nan
Y = np.array([[1, 0, NAN], [1, NAN, NAN], [0, 1, NAN], [0, 0, NAN]])


def test_unknown_entries_do_not_count() -> None:
    np.testing.assert_allclose(label_frequency(Y, empty=0.5), [1 / 2, 1 / 3, 0.5])


def test_weights() -> None:
    weight = np.array([3.0, 1.0, 0.0, 4.0])
    np.testing.assert_allclose(label_frequency(Y, weight, empty=0), [4 / 8, 0, 0])


def test_only_some_entries_count() -> None:
    where = np.array([[True, False, True], [False, True, True], [True, True, True], [False] * 3])
    np.testing.assert_allclose(label_frequency(Y, where=where, empty=0.25), [1 / 2, 1, 0.25])


def test_workers_that_train_together_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.array([3.0, 1.0, 0.5, 4.0])
    sent = []
    monkeypatch.setattr(collective, "allreduce", lambda sums, op: sent.append(sums) or sums)
    label_frequency(Y[:1], weight[:1], empty=0)
    monkeypatch.setattr(collective, "allreduce", lambda sums, op: sums + sent[0])
    together = label_frequency(Y[1:], weight[1:], empty=0.25)
    monkeypatch.undo()
    np.testing.assert_allclose(together, label_frequency(Y, weight, empty=0.25))
    np.testing.assert_allclose(together, [4 / 8.5, 0.5 / 7.5, 0.25])
