"""Mixtures: members of several kinds, and labels that depend on each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss as log_loss_of_one

from xdcc import MultiLabelClassifier
from xdcc.automatic.candidates import MASKS_OF_CHAIN, chain_pays
from xdcc.automatic.members import Member, log_loss, mixed_margins, mixture_shares, try_joint
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.base.margins import margins_of
from xdcc.chain.order_free_inference import Candidates, LabelStates, walk_to
from xdcc.chain.order_free_training import order_free_params, train_order_free
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.serving import load_model, save_model


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
    assert log_loss(margins, FitData(None, Y, weight)) == pytest.approx(np.mean(each))
    Y[:, 1] = np.nan
    assert log_loss(margins, FitData(None, Y, weight)) == pytest.approx(np.mean(np.delete(each, 1)))


def test_each_step_is_the_best_one():
    Y, margins, _ = drawn()
    used, steps = [], []
    for _ in range(6):
        tried = {
            i: log_loss(np.mean([margins[j] for j in [*used, i]], axis=0), FitData(None, Y, None))
            for i in range(3)
        }
        i = min(tried, key=tried.__getitem__)
        used.append(i)
        steps.append((tried[i], np.bincount(used, minlength=3) / len(used)))
    shares = mixture_shares(margins, FitData(None, Y, None))
    assert_allclose(shares, min(steps, key=lambda step: step[0])[1])
    assert (shares > 0).all()


def test_what_adds_nothing_stays_out():
    random = np.random.default_rng(0)
    good = random.normal(0, 2, (400, 4))
    Y = (random.random(good.shape) < expit(good)).astype(np.float32)
    data = FitData(None, Y, None)
    assert_allclose(mixture_shares([random.normal(0, 3, Y.shape), good], data), [0, 1])
    assert_allclose(mixture_shares([good, good], data), [1, 0])


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


NAN = np.nan


def _one_of_three(n_rows, seed=0):
    """Exactly one of three labels; X says little about which of the first two it is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    label = np.where(X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0.5, 2, X[:, 1] > 0.3 * X[:, 2])
    label = np.where((label < 2) & (rng.random(n_rows) < 0.35), 1 - label, label)
    Y = np.eye(3)[label.astype(int)].astype(np.float32)
    return X, Y


@pytest.fixture(scope="module")
def data():
    """Probabilities that see every label by itself."""
    _, Y = _one_of_three(240)
    likely = 0.15 + 0.5 * Y
    noise = np.random.default_rng(1).normal(scale=0.8, size=Y.shape)
    proba = 1 / (1 + np.exp(-(np.log(likely / (1 - likely)) + noise)))
    return proba, Y, stratified_folds(Y, 3, 0)


def _try(proba, Y, folds, weight=None, n_jobs=1):
    data = FitData(margins_of(proba), Y, weight)
    return try_joint(data, folds, measure="subset_accuracy", seed=0, n_jobs=n_jobs)


def test_the_parts(data):
    proba, Y, folds = data
    found = _try(*data)
    margins = margins_of(proba).astype(np.float32)
    params = order_free_params(learning_rate=0.1, seed=0, n_jobs=1)
    data = FitData(margins, Y, None)
    trained = train_order_free(data, folds, params, n_estimators=500, n_masks=MASKS_OF_CHAIN)
    right, loss = np.zeros((5, len(Y))), 0.0
    for fold, booster in enumerate(trained.of_folds):
        rows = np.flatnonzero(folds == fold)
        states = LabelStates(booster, margins[rows], np.full_like(Y[rows], NAN))
        known = KnownLabelsets.of(Y[folds != fold])
        candidates = Candidates.find(states.take, margins[rows], known, 8)
        for number, prior in enumerate((0, 0.25, 0.5, 0.75, 1)):
            right[number, rows] = (candidates.best(0.5, prior) == Y[rows]).all(axis=1)
        loss -= sum(step.log_prob.sum() for step in walk_to(states, Y[rows]))
    np.testing.assert_allclose(found.trial.scores(np.ones((1, len(Y))))[0], right.mean(axis=1))
    assert found.log_loss == pytest.approx(loss / Y.size)
    assert found.n_rounds == trained.booster.num_boosted_rounds()
    rule = found.trial.rules[2]
    assert (rule.name, rule.params) == ("joint_labelset", {"prior": 0.5})
    states = LabelStates(trained.booster, margins, np.full_like(Y, NAN))
    expected = Candidates.find(states.take, margins, KnownLabelsets.of(Y), 8).best(0.5, 0.5)
    np.testing.assert_array_equal(rule.predict(proba), expected)


def test_no_worse_than_label_by_label_and_one_label_each(data):
    proba, Y, _ = data
    found = _try(*data)
    independent = -np.log(np.where(Y == 1, proba, 1 - proba)).mean()
    assert found.log_loss < 0.8 * independent
    labels = found.trial.rules[0].predict(proba)
    assert (labels.sum(axis=1) == 1).mean() > 0.95
    by_label = ((proba >= 0.5) == Y).all(axis=1).mean()
    assert max(found.trial.scores(np.ones((1, len(Y))))[0]) > by_label + 0.05


def test_threads(data):
    one, two = _try(*data), _try(*data, n_jobs=2)
    assert one.log_loss == two.log_loss
    np.testing.assert_array_equal(
        one.trial.rules[0].predict(data[0]), two.trial.rules[0].predict(data[0])
    )


def test_constant_and_unknown_labels_and_weights(data):
    proba, Y, folds = data
    n = len(Y)
    more = np.column_stack((Y[:, :1], np.ones(n), Y[:, 1:])).astype(np.float32)
    of_more = np.column_stack((proba[:, :1], np.full(n, (n + 1) / (n + 2)), proba[:, 1:]))
    found, plain = _try(of_more, more, folds), _try(*data)
    labels = found.trial.rules[1].predict(of_more)
    np.testing.assert_array_equal(np.delete(labels, 1, axis=1), plain.trial.rules[1].predict(proba))
    assert (labels[:, 1] == 1).all()
    of_constant = -np.log((n + 1) / (n + 2))
    assert found.log_loss == pytest.approx((3 * plain.log_loss + of_constant) / 4)

    # Rows without weight or without a known label have no say.
    unknown = Y.copy()
    unknown[::9, 1] = NAN
    unknown[::30] = NAN
    weight = np.where(np.arange(n) % 7 == 0, 0, 2).astype(np.float32)
    other = np.where((weight == 0)[:, np.newaxis], 1 - unknown, unknown)
    first, second = (_try(proba, each, folds, weight) for each in (unknown, other))
    assert first.log_loss == second.log_loss
    counts = (weight > 0) & ~np.isnan(unknown).all(axis=1)
    assert first.trial.n_rows == second.trial.n_rows == counts.sum()


def test_nothing_to_learn(data):
    proba, Y, folds = data
    assert _try(proba[:, :1], Y[:, :1], folds) is None
    nowhere_whole = Y.copy()
    nowhere_whole[np.arange(len(Y)), np.arange(len(Y)) % 3] = NAN
    assert _try(proba, nowhere_whole, folds) is None
    many = [np.tile(each, (20, 1)) for each in (proba, Y)]  # not all folds would be left out
    assert _try(*many, np.tile(folds, 20)) is None
    independent = (np.random.default_rng(2).random((200, 4)) < 0.5).astype(np.float32)
    even = np.full(independent.shape, 0.5)
    found = _try(even, independent, np.arange(200) % 4)
    assert found is None or found.log_loss == pytest.approx(np.log(2), rel=0.02)


def test_the_work_of_a_chain():
    assert chain_pays(391, 6, 5, work=1e9)
    assert not chain_pays(391, 6, 5, work=1e7)
    assert not chain_pays(391, 21, 5, work=1e12)


def test_as_a_candidate(tmp_path):
    X, Y = _one_of_three(300, seed=3)
    X_new, Y_new = _one_of_three(1500, seed=4)
    model = MultiLabelClassifier("subset_accuracy", cv=3, n_jobs=1).fit(X, Y)
    table = model.summary_
    assert table["candidate"][-1].startswith("order-free chain on ")
    assert table["rule"][-1] == "joint_labelset"
    assert table["log_loss"][-1] < 0.95 * min(table["log_loss"][:-1])
    others = max(table["score"][:-1])
    assert table["chosen"][-1] or others > table["score"][-1]
    # Chosen or not, it can be kept.
    model.rule_ = _try(model.oof_proba_, Y, model.folds_).trial.rules[2]
    score = (model.predict(X_new) == Y_new).all(axis=1).mean()
    # On 300 rows for 1500 others: within five standard errors of the difference.
    assert score == pytest.approx(
        table["score"][-1], abs=5 * 0.5 * np.sqrt(1 / len(X) + 1 / len(X_new))
    )
    save_model(model, tmp_path / "model.xdcc")
    again = load_model(tmp_path / "model.xdcc")
    assert again.rule_.params == model.rule_.params
    np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
    of_f1 = clone(model).set_params(measure="example_f1").fit(X[:90], Y[:90])
    assert not any("chain" in name for name in of_f1.summary_["candidate"])
