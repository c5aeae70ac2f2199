"""The order-free chain on margins, against its parts; labels that depend on each other."""

import numpy as np
import pytest

from xdcc import MultiLabelClassifier
from xdcc.automatic.joint_labelset import chain_seconds, try_joint
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.base.margins import margins_of
from xdcc.chain.order_free_inference import Candidates, LabelStates
from xdcc.chain.order_free_training import order_free_params, train_order_free
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.serving import load_model, save_model

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
    trained = train_order_free(data, folds, params, n_estimators=500, n_masks=4)
    right = np.zeros((5, len(Y)))
    for fold, booster in enumerate(trained.of_folds):
        rows = np.flatnonzero(folds == fold)
        states = LabelStates(booster, margins[rows], np.full_like(Y[rows], NAN))
        known = KnownLabelsets.of(Y[folds != fold])
        candidates = Candidates.find(states.take, margins[rows], known, 8)
        for number, prior in enumerate((0, 0.25, 0.5, 0.75, 1)):
            right[number, rows] = (candidates.best(0.5, prior) == Y[rows]).all(axis=1)
    np.testing.assert_allclose(found.scores(np.ones((1, len(Y))))[0], right.mean(axis=1))
    rule = found.rules[2]
    assert (rule.name, rule.params) == ("joint_labelset", {"prior": 0.5})
    states = LabelStates(trained.booster, margins, np.full_like(Y, NAN))
    expected = Candidates.find(states.take, margins, KnownLabelsets.of(Y), 8).best(0.5, 0.5)
    np.testing.assert_array_equal(rule.predict(proba), expected)


def test_better_than_label_by_label_and_one_label_each(data):
    proba, Y, _ = data
    found = _try(*data)
    labels = found.rules[0].predict(proba)
    assert (labels.sum(axis=1) == 1).mean() > 0.95
    by_label = ((proba >= 0.5) == Y).all(axis=1).mean()
    assert max(found.scores(np.ones((1, len(Y))))[0]) > by_label + 0.05


def test_threads(data):
    one, two = _try(*data), _try(*data, n_jobs=2)
    every = np.ones((1, len(data[1])))
    np.testing.assert_array_equal(one.scores(every), two.scores(every))
    np.testing.assert_array_equal(one.rules[0].predict(data[0]), two.rules[0].predict(data[0]))


def test_constant_and_unknown_labels_and_weights(data):
    proba, Y, folds = data
    n = len(Y)
    more = np.column_stack((Y[:, :1], np.ones(n), Y[:, 1:])).astype(np.float32)
    of_more = np.column_stack((proba[:, :1], np.full(n, (n + 1) / (n + 2)), proba[:, 1:]))
    found, plain = _try(of_more, more, folds), _try(*data)
    labels = found.rules[1].predict(of_more)
    np.testing.assert_array_equal(np.delete(labels, 1, axis=1), plain.rules[1].predict(proba))
    assert (labels[:, 1] == 1).all()

    # Rows without weight or without a known label have no say.
    unknown = Y.copy()
    unknown[::9, 1] = NAN
    unknown[::30] = NAN
    weight = np.where(np.arange(n) % 7 == 0, 0, 2).astype(np.float32)
    other = np.where((weight == 0)[:, np.newaxis], 1 - unknown, unknown)
    first, second = (_try(proba, each, folds, weight) for each in (unknown, other))
    counts = (weight > 0) & ~np.isnan(unknown).all(axis=1)
    every = np.ones((1, counts.sum()))
    np.testing.assert_array_equal(first.scores(every), second.scores(every))
    assert first.n_rows == second.n_rows == counts.sum()


def test_nothing_to_learn(data):
    proba, Y, folds = data
    assert _try(proba[:, :1], Y[:, :1], folds) is None
    nowhere_whole = Y.copy()
    nowhere_whole[np.arange(len(Y)), np.arange(len(Y)) % 3] = NAN
    assert _try(proba, nowhere_whole, folds) is None
    many = [np.tile(each, (20, 1)) for each in (proba, Y)]  # not all folds would be left out
    assert _try(*many, np.tile(folds, 20)) is None


def test_what_a_chain_costs():
    few = Shape(391, 72, 6, 391 * 72, 5)
    assert chain_seconds(few) < chain_seconds(few._replace(n_rows=4000))
    assert (
        chain_seconds(few._replace(n_labels=20))
        < np.inf
        == chain_seconds(few._replace(n_labels=21))
    )


def test_in_the_classifier(tmp_path):
    X, Y = _one_of_three(300, seed=3)
    X_new, Y_new = _one_of_three(1500, seed=4)
    model = MultiLabelClassifier("subset_accuracy", cv=3, n_jobs=1).fit(X, Y)
    assert "joint_labelset" in model.cv_results_["rule"]
    # Chosen or not, it can be kept.
    trial = _try(model.oof_proba_, Y, model.folds_)
    model.rule_ = trial.rules[2]
    score = (model.predict(X_new) == Y_new).all(axis=1).mean()
    # On 300 rows for 1500 others: within five standard errors of the difference.
    out_of_fold = trial.scores(np.ones((1, len(Y))))[0, 2]
    assert score == pytest.approx(out_of_fold, abs=5 * 0.5 * np.sqrt(1 / len(X) + 1 / len(X_new)))
    save_model(model, tmp_path / "model.xdcc")
    again = load_model(tmp_path / "model.xdcc")
    assert again.rule_.params == model.rule_.params
    np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
    of_f1 = MultiLabelClassifier("example_f1", cv=3, n_jobs=1).fit(X[:90], Y[:90])
    assert "joint_labelset" not in of_f1.cv_results_["rule"]
