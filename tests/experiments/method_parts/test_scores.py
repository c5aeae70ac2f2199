"""Measures of probabilities, by hand and against each other."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.engine.registry import Split
from experiments.method_parts import (
    calibration_error,
    labelset_log_loss,
    log_loss,
    log_loss_given_one,
)
from xdcc.baselines import ProbabilisticClassifierChain
from xdcc.data import make_multilabel


def saying(proba):
    return SimpleNamespace(predict_proba=lambda X: np.asarray(proba, dtype=float))


def test_calibration_error_by_hand():
    Y = np.array([[0, 1], [1, 1], [0, 1]])
    model = saying([[0.02, 0.04], [0.5, 0.99], [0.01, 1.0]])
    off = abs(0.07 - 1) + 0.5 + abs(1.99 - 2)
    assert calibration_error(model, Split(None, Y), Y) == pytest.approx(off / 6)


def test_log_loss_of_labelsets():
    data = make_multilabel(100, n_labels=3, random_state=0)
    split = Split(data, data.X)
    independent = saying(np.full(data.Y.shape, 0.25))
    expected = 3 * log_loss(independent, split, data.Y)
    assert labelset_log_loss(independent, split, data.Y) == pytest.approx(expected)
    chain = ProbabilisticClassifierChain(random_state=0).fit(data.X, data.Y)
    expected = -chain.log_prob(data.X, data.Y).mean()
    assert labelset_log_loss(chain, split, data.Y) == pytest.approx(expected)


def test_log_loss_when_one_label_is_known():
    data = make_multilabel(60, n_labels=3, random_state=0)
    split = Split(data, data.X)
    deaf = saying(np.full(data.Y.shape, 0.25))
    expected = log_loss(deaf, split, data.Y)
    assert log_loss_given_one(deaf, split, data.Y) == pytest.approx(expected)

    def copies(X, known):
        """Say of all labels what the known one is, nearly."""
        one = np.nanmax(known, axis=1, keepdims=True)
        return np.tile(np.clip(one, 0.1, 0.9), 3)

    hearing, Y = SimpleNamespace(predict_proba=copies), np.repeat(data.Y[:, :1], 3, axis=1)
    assert log_loss_given_one(hearing, split, Y) == pytest.approx(-np.log(0.9))
