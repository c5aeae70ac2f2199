"""Mixtures against plain search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.metrics import log_loss as log_loss_of_one

from xdcc.automatic.members import Member, log_loss, mixed_margins, mixture_shares
from xdcc.decision.calibration import ConstantLabels, LabelCalibration


def drawn(seed=0, n_candidates=3):
    random = np.random.default_rng(seed)
    Y = random.integers(0, 2, (80, 4)).astype(float)
    margins = [1.5 * (2 * Y - 1) + random.normal(0, 2, Y.shape) for _ in range(n_candidates)]
    return Y, margins, random


def test_log_loss_counts_what_is_known():
    Y, (margins, *_), random = drawn()
    weight = random.integers(0, 4, len(Y)).astype(float)
    each = [log_loss_of_one(y, expit(z), sample_weight=weight, labels=[0, 1])
            for y, z in zip(Y.T, margins.T, strict=True)]  # fmt: skip
    assert log_loss(margins, Y, weight) == pytest.approx(np.mean(each))
    Y[:, 1] = np.nan
    assert log_loss(margins, Y, weight) == pytest.approx(np.mean(np.delete(each, 1)))


def test_each_step_is_the_best_one():
    Y, margins, _ = drawn()
    used, steps = [], []
    for _ in range(6):
        tried = {i: log_loss(np.mean([margins[j] for j in [*used, i]], axis=0), Y, None)
                 for i in range(3)}  # fmt: skip
        i = min(tried, key=tried.__getitem__)
        used.append(i)
        steps.append((tried[i], np.bincount(used, minlength=3) / len(used)))
    shares = mixture_shares(margins, Y, None)
    assert_allclose(shares, min(steps, key=lambda step: step[0])[1])
    assert (shares > 0).all()


def test_what_adds_nothing_stays_out():
    random = np.random.default_rng(0)
    good = random.normal(0, 2, (400, 4))
    Y = (random.random(good.shape) < expit(good)).astype(np.float32)
    assert_allclose(mixture_shares([random.normal(0, 3, Y.shape), good], Y, None), [0, 1])
    assert_allclose(mixture_shares([good, good], Y, None), [1, 0])


class Constant:
    """A booster that says the same of every row."""

    def __init__(self, proba):
        self.proba = proba

    def predict_proba(self, X):
        return np.tile(self.proba, (len(X), 1))


def test_a_mixture_is_the_mean_of_calibrated_log_odds():
    none = ConstantLabels(np.full(2, np.nan), np.full(2, np.nan))
    calibration = LabelCalibration(np.array([2.0, 1.0]), np.array([0.0, 0.5]), none)
    plain = LabelCalibration(np.ones(2), np.zeros(2), none)
    a, b, c = (np.array(z) for z in ([1.0, -1.0], [0.0, 2.0], [3.0, 1.0]))
    members = [
        Member("two", 0.25, [Constant(expit(a)), Constant(expit(b))], calibration),
        Member("one", 0.75, [Constant(expit(c))], plain),
    ]
    expected = 0.25 * (np.array([2, 1]) * (a + b) / 2 + [0, 0.5]) + 0.75 * c
    assert_allclose(mixed_margins(members, np.empty((3, 1)), 2), np.tile(expected, (3, 1)))
