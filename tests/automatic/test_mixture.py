"""Mixtures: members enter if they help by more than chance, with weights by greedy steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.metrics import log_loss as log_loss_of_one

from xdcc.automatic.mixture import Member, Mixture, RowLosses, greedy_shares
from xdcc.automatic.mixture_margins import mixture_margins
from xdcc.base.fit_data import FitData
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.proba_metrics import proba_metric
from xdcc.prediction.layout import LinearPart


def drawn(seed=0, n_candidates=3):
    random = np.random.default_rng(seed)
    Y = random.integers(0, 2, (80, 4)).astype(np.float32)
    margins = [
        (1.5 * (2 * Y - 1) + random.normal(0, 2, Y.shape)).astype(np.float32)
        for _ in range(n_candidates)
    ]
    return Y, margins, random


def log_loss(margins, data):
    losses = RowLosses(data)
    return losses.mean(losses.of(margins))


def test_log_loss_counts_what_is_known():
    Y, (margins, *_), random = drawn()
    weight = random.integers(0, 4, len(Y)).astype(float)
    each = [log_loss_of_one(y, expit(z), sample_weight=weight, labels=[0, 1])
            for y, z in zip(Y.T, margins.T, strict=True)]  # fmt: skip
    data = FitData(None, Y, weight)
    assert log_loss(margins, data) == pytest.approx(np.mean(each), rel=1e-5)
    Y[:, 1] = np.nan
    assert log_loss(margins, data) == pytest.approx(np.mean(np.delete(each, 1)), rel=1e-5)


def test_the_spread_over_folds():
    Y, (margins, *_), random = drawn()
    Y[random.random(Y.shape) < 0.3] = np.nan
    folds = np.arange(len(Y)) % 4
    Y[folds == 3] = np.nan  # nothing is known
    weight = random.integers(0, 4, len(Y)).astype(float)
    data, losses = FitData(None, Y, weight), RowLosses(FitData(None, Y, weight))
    of_folds = [
        log_loss(margins[rows], data.take(rows)) for rows in (folds == fold for fold in range(3))
    ]
    found = losses.spread(losses.of(margins), folds)
    assert found == pytest.approx(np.std(of_folds), rel=1e-5)


def test_each_step_is_the_best_one():
    Y, margins, _ = drawn()
    data = FitData(None, Y, None)
    used, steps = [], []
    for _ in range(12):
        tried = {
            i: log_loss(np.mean([margins[j] for j in [*used, i]], axis=0), data) for i in range(3)
        }
        i = min(tried, key=tried.__getitem__)
        used.append(i)
        steps.append((tried[i], np.bincount(used, minlength=3) / len(used)))
    shares, of_rows = greedy_shares(margins, RowLosses(data))
    best = min(steps, key=lambda step: step[0])
    # A mixture of fewer steps is preferred if it is nearly as good.
    mixed = np.tensordot(shares, margins, 1)
    assert log_loss(mixed, data) <= best[0] * (1 + 1e-4)
    assert any(np.allclose(shares, step[1]) for step in steps)
    assert RowLosses(data).mean(of_rows) == pytest.approx(log_loss(mixed, data), rel=1e-5)


def test_what_adds_nothing_stays_out():
    random = np.random.default_rng(0)
    good = random.normal(0, 2, (400, 4)).astype(np.float32)
    Y = (random.random(good.shape) < expit(good)).astype(np.float32)
    mixture = Mixture(FitData(None, Y, None))
    assert mixture.log_loss == np.inf
    assert mixture.admit("noise", random.normal(0, 3, Y.shape))
    assert mixture.admit("good", good)
    assert (mixture.names, mixture.shares.tolist()) == (["good"], [1.0])
    assert not mixture.admit("the same", good)
    assert not mixture.admit("more noise", random.normal(0, 3, Y.shape))
    assert mixture.names == ["good"]
    assert_allclose(mixture.margins, good)


def test_a_gain_must_be_larger_than_chance():
    """A member that is better in one row and worse in another of two hundred stays out."""
    random = np.random.default_rng(1)
    good = random.normal(0, 2, (200, 1)).astype(np.float32)
    Y = (random.random(good.shape) < expit(good)).astype(np.float32)
    mixture = Mixture(FitData(None, Y, None))
    mixture.admit("good", good)
    nearly = good.copy()
    wrong, right = (np.flatnonzero(((Y == 1) == (good > 0)) == is_right) for is_right in (0, 1))
    nearly[wrong[0]] = 0
    nearly[right[0]] *= 0.8
    assert RowLosses(FitData(None, Y, None)).of(nearly).sum() < mixture.log_loss * 200
    assert not mixture.admit("better in one row, worse in another", nearly)
    other = random.normal(0, 2, good.shape).astype(np.float32)
    again = np.where(random.random(good.shape) < expit(good + other), 1, 0).astype(np.float32)
    mixture = Mixture(FitData(None, again, None))
    mixture.admit("good", good)
    assert not mixture.admit("other", other, n_errors=20)
    assert mixture.admit("other", other, n_errors=2)
    assert_allclose(mixture.shares, 0.5, atol=0.1)
    expected = mixture.shares[0] * good + mixture.shares[1] * other
    assert_allclose(mixture.margins, expected, rtol=1e-6)


class Linear:
    """A member that is linear in two of its features."""

    def __init__(self, intercept, weight=((0, 0), (0, 0))):
        self.intercept, self.weight = intercept, weight

    def _add_to(self, builder):
        n_features, (first, second) = builder._n_features, self.weight
        nothing = np.zeros(n_features, np.int32)
        weight = np.zeros((n_features, 2))
        weight[-2:] = first, second
        builder.add_linear(
            LinearPart(
                column=np.arange(n_features, dtype=np.int32),
                n_values=nothing,
                indicator=nothing - 1,
                fill=np.zeros(n_features),
                weight=weight.ravel(),
                square=np.ones(n_features),
                intercept=np.asarray(self.intercept, np.float64),
                text_like=False,
            )
        )


def mixed(members, stacked):
    """The margins of a mixture of two labels, for three rows of two features."""
    none = ConstantLabels(np.full(2, np.nan), np.full(2, np.nan))
    plain = LabelCalibration(np.ones(2), np.zeros(2), none)
    return mixture_margins(members, stacked, plain, 2).margins(np.ones((3, 2)), 1)


def test_a_mixture_is_the_mean_of_calibrated_log_odds():
    none = ConstantLabels(np.full(2, np.nan), np.full(2, np.nan))
    calibration = LabelCalibration(np.array([2.0, 1.0]), np.array([0.0, 0.5]), none)
    plain = LabelCalibration(np.ones(2), np.zeros(2), none)
    a, b, c = (np.array(z) for z in ([1.0, -1.0], [0.0, 2.0], [3.0, 1.0]))
    members = [
        Member("two", 0.25, [Linear(a), Linear(b)], calibration),
        Member("one", 0.75, [Linear(c)], plain),
    ]
    expected = 0.25 * (np.array([2, 1]) * (a + b) / 2 + [0, 0.5]) + 0.75 * c
    assert_allclose(mixed(members, []), np.tile(expected, (3, 1)))


def test_a_second_level_takes_its_share_from_the_others():
    none = ConstantLabels(np.full(2, np.nan), np.full(2, np.nan))
    plain = LabelCalibration(np.ones(2), np.zeros(2), none)
    a, b = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    members = [Member(name, 0.5, [Linear(z)], plain) for name, z in (("a", a), ("b", b))]
    doubles_the_last = Linear([0, 0], ((2, 0), (0, 2)))
    stacked = [Member("second level", 0.25, [doubles_the_last], plain)]
    expected = 0.75 * (a + b) / 2 + 0.25 * 2 * b
    assert_allclose(mixed(members, stacked), np.tile(expected, (3, 1)), rtol=1e-5)


def test_a_second_level_stays_if_it_helps():
    random = np.random.default_rng(0)
    good = random.normal(0, 2, (400, 2)).astype(np.float32)
    # The labels exclude each other more than their margins say.
    Y = (random.random(good.shape) < expit(good)).astype(np.float32)
    Y[good[:, 0] > good[:, 1], 1] = 0
    mixture = Mixture(FitData(None, Y, None))
    mixture.admit("good", good)
    assert_allclose(mixture.features, good)
    before = mixture.log_loss
    assert not mixture.stack(random.normal(0, 2, good.shape))
    assert (mixture.log_loss, mixture.stacked_share) == (before, 0)
    knows = good.copy()
    knows[good[:, 0] > good[:, 1], 1] = -4
    assert mixture.stack(knows)
    assert mixture.log_loss < before
    share = mixture.stacked_share
    assert 0 < share <= 1
    assert_allclose(mixture.margins, (1 - share) * good + share * knows, rtol=1e-5)


def test_members_that_harm_a_metric_are_left_out():
    """One ranks the label first; the other is calibrated, and lowers the log-loss only."""
    random = np.random.default_rng(0)
    Y = np.zeros((600, 40), np.float32)
    Y[np.arange(600), random.integers(40, size=600)] = 1
    top = 2 * (2 * Y - 1) + random.normal(0, 1.5, Y.shape)
    calibrated = random.normal(-3.7, 1.2, Y.shape) + 0.5 * Y
    data, metric = FitData(None, Y, None), proba_metric("precision_at_1")
    mixture = Mixture(data)
    mixture.admit("top", top)
    mixture.admit("calibrated", calibrated)
    assert mixture.names == ["top", "calibrated"]
    before = metric.score(Y, expit(mixture.margins))
    mixture.drop_harmful(metric)
    assert mixture.names == ["top"]
    assert mixture.shares == 1
    assert mixture.log_loss == pytest.approx(log_loss(top.astype(np.float32), data))
    assert metric.score(Y, expit(mixture.margins)) > before
    mixture.drop_harmful(metric)
    assert mixture.names == ["top"]


def test_members_that_do_not_harm_a_metric_stay():
    Y, margins, _ = drawn()
    mixture = Mixture(FitData(None, Y, None))
    for number, each in enumerate(margins):
        mixture.admit(str(number), each)
    before = list(mixture.names), mixture.shares.tolist()
    assert len(before[0]) > 1
    mixture.drop_harmful(proba_metric("neg_log_loss"))
    assert (mixture.names, mixture.shares.tolist()) == before
