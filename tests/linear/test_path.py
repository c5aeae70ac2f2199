"""The path of penalties: models without each fold, and the choice of the strength."""

import threading

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from xdcc.base import side_by_side
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, stratified_folds
from xdcc.linear.logistic import Penalty
from xdcc.linear.path import FoldPath, choose_strength, log_losses


def some_data(n_rows=120, n_features=5, n_labels=3, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    z = signal * X @ rng.normal(size=(n_features, n_labels))
    Y = (z + rng.logistic(size=z.shape) > 0).astype(np.float32)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return FitData(X, Y, rng.random(n_rows) + 0.5)


def path_of(data, tol=1e-13):
    folds = stratified_folds(data.Y, 3, 0)
    return FoldPath(data, Folds(folds), Penalty(1.0, 0.0, tol)), folds


def test_margins_are_out_of_fold():
    data = some_data()
    path, folds = path_of(data)
    for C in (0.1, 1.0):
        losses = path.step(C)
        for fold in range(3):
            for label in range(3):
                y = data.Y[:, label]
                train = (folds != fold) & ~np.isnan(y)
                oracle = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
                oracle.fit(data.X[train], y[train], data.weight[train])
                expected = oracle.decision_function(data.X[folds == fold])
                assert path.margins[folds == fold, label] == pytest.approx(expected, abs=1e-4)
        assert losses == pytest.approx(log_losses(data, path.margins))


@pytest.mark.parametrize("n_rows", [40, 41])
def test_folds_are_trained_side_by_side_if_they_have_enough_log_odds(n_rows, monkeypatch):
    monkeypatch.setattr(side_by_side, "_LEAST_ENTRIES", 41 * 3)
    data, threads = some_data(n_rows), set()

    def note_thread(step):
        threads.add(threading.get_ident())
        return False

    folds = Folds(stratified_folds(data.Y, 3, 0))
    path = FoldPath(data, folds, Penalty(1.0, 0.0), note_thread)
    with side_by_side.side_by_side(2):
        path.step(1.0)
    assert (threads == {threading.get_ident()}) == (n_rows == 40)


def test_losses_are_weighted_sums_over_known_labels():
    data = FitData(np.zeros((2, 1)), np.array([[1, np.nan], [0, 1]]), np.array([1.0, 3.0]))
    margins = np.array([[0.0, 9.0], [1.0, 0.0]])
    expected = [np.log(2) + 3 * np.log(1 + np.e), 3 * np.log(2)]
    assert log_losses(data, margins) == pytest.approx(expected)


def test_some_labels_may_go_on_alone():
    data = some_data()
    path, _ = path_of(data)
    path.step(1.0)
    margins = path.margins.copy()
    assert path.step(0.1, np.array([2])).shape == (1,)
    assert np.array_equal(path.margins[:, :2], margins[:, :2])
    assert not np.allclose(path.margins[:, 2], margins[:, 2])


def test_single_precision():
    data = some_data()
    path, _ = path_of(data)
    single, _ = path_of(data._replace(X=data.X.astype(np.float32)), tol=1e-6)
    assert single.step(1.0) == pytest.approx(path.step(1.0), rel=1e-3)
    assert single.margins.dtype == single.coef.dtype == np.float32


@pytest.mark.parametrize("first", [-10, -4, 0, 6, 10])
@pytest.mark.parametrize("signal", [0.2, 1.0, 5.0])
def test_the_walk_finds_the_best_of_the_grid_from_everywhere(first, signal):
    data = some_data(signal=signal, n_labels=1)
    losses = {}
    for exponent in range(-10, 11):
        path, _ = path_of(data)
        losses[exponent] = float(path.step(10 ** (exponent / 2))[0])
    found = choose_strength(path_of(data)[0], first)
    best = min(losses, key=losses.__getitem__)
    assert pytest.approx(10 ** (best / 2)) == found.C
    assert log_losses(data, found.margins)[0] == pytest.approx(losses[best], abs=1e-3)


def test_labels_choose_neighbours_of_the_common_strength():
    weak, strong = some_data(signal=0.1, n_labels=2), some_data(signal=6.0, n_labels=6)
    data = FitData(weak.X, np.hstack((weak.Y, strong.Y)), weak.weight)
    path, folds = path_of(data)
    found = choose_strength(path, 0)
    assert len(set(found.C)) > 1
    assert max(found.C) / min(found.C) < 10.1
    assert found.C[:2].mean() < found.C[2:].mean()
    for label, C in enumerate(found.C):
        alone = FoldPath(
            data._replace(Y=data.Y[:, [label]]), Folds(folds), Penalty(1.0, 0.0, 1e-13)
        )
        alone.step(C)
        assert found.margins[:, [label]] == pytest.approx(alone.margins, abs=1e-3)
        held_out = data.X[folds == 1] @ found.coef[1][:-2, label] + found.coef[1][-1, label]
        assert found.margins[folds == 1, label] == pytest.approx(held_out)


def test_constant_labels_without_a_fold():
    data = some_data()
    Y = np.zeros_like(data.Y)
    Y[5, 0] = 1
    Y[:, 1] = 1
    path, folds = path_of(FitData(data.X, Y, None))
    path.step(1.0)
    n_train = (folds != folds[5]).sum()
    assert path.margins[folds == folds[5], 0] == pytest.approx(-np.log(n_train + 1), rel=1e-5)
    assert (path.margins[:, 1] > 4).all()
    assert (path.margins[:, 2] < -4).all()
