"""Several rounds in a call, against one after the other through XGBoost's public interface."""

from itertools import pairwise

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_array_equal

from xdcc.base.rounds import Looks, boost, quantised, with_own_weights
from xdcc.base.side_by_side import side_by_side

PARAMS = {"objective": "multilabel:logistic", "max_depth": 3, "nthread": 1}
N_ROWS, N_LABELS = 80, 3


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 5)).astype(np.float32)
    Y = (X[:, :N_LABELS] + random.normal(size=(N_ROWS, N_LABELS)) > 0).astype(np.float32)
    return X, Y, random.integers(0, 3, N_ROWS).astype(np.float32)


def draws(number):
    return None if number in (0, 11) else np.random.PCG64([5, number])


def one_by_one(data, n_rounds, *, weighted, drawn):
    """Train as `boost` does, and return the booster and its margins after each round."""
    X, Y, weight = data
    matrix = xgb.QuantileDMatrix(X, label=Y)
    booster, margins = xgb.Booster(PARAMS, [matrix]), []
    for number in range(n_rounds):
        rows = np.ones(N_ROWS, bool)
        if drawn and draws(number) is not None:
            rows = np.random.Generator(draws(number)).random(N_ROWS) < 0.6
        if weighted:
            matrix.set_weight(np.where(rows, weight, 0))
        booster.update(matrix, number)
        margins.append(booster.predict(matrix, output_margin=True, strict_shape=True))
    return booster, margins


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("calls", [[0, 20], [0, 1, 2, 9, 20]], ids=["one", "several"])
def test_rounds_are_those_of_the_public_interface(data, weighted, calls):
    X, Y, weight = data
    drawn = weighted
    expected, margins = one_by_one(data, 20, weighted=weighted, drawn=drawn)
    matrix = xgb.QuantileDMatrix(X, label=Y)
    found, rows = xgb.Booster(PARAMS, [matrix]), np.arange(7, N_ROWS, 3)
    others = np.setdiff1d(np.arange(N_ROWS), rows)
    for first, end in pairwise(calls):
        after = [n for n in (1, 2, 8, 9, 16, 20) if first < n <= end]
        kept = [np.full((N_ROWS, N_LABELS), -1, np.float32) for _ in after]
        options = {"weight": weight} if weighted else {}
        if drawn:
            options |= {"bits": [draws(number) for number in range(first, end)], "share": 0.6}
        boost(found, matrix, range(first, end), looks=Looks(after, kept, rows), **options)
        for n, of_look in zip(after, kept, strict=True):
            assert_array_equal(of_look[rows], margins[n - 1][rows])
            assert (of_look[others] == -1).all()
    assert found.save_raw() == expected.save_raw()


def test_matrices_of_the_same_bins_have_weights_of_their_own(data):
    X, Y, weight = data
    matrix = xgb.QuantileDMatrix(X, label=Y, weight=weight)
    assert all(own is matrix for own in with_own_weights(matrix, None, 3))
    with side_by_side(2):
        first, second = with_own_weights(matrix, None, 2)
    boost(xgb.Booster(PARAMS, [first]), first, range(1), weight=np.ones(N_ROWS, np.float32))
    assert_array_equal(first.get_weight(), np.ones(N_ROWS))
    assert_array_equal(second.get_weight(), weight)
    assert_array_equal(second.get_label(), matrix.get_label())


def test_errors_of_xgboost_are_passed_on(data):
    X, Y, weight = data
    matrix = xgb.QuantileDMatrix(X, label=Y)
    booster = xgb.Booster(PARAMS, [matrix])
    with pytest.raises(xgb.core.XGBoostError, match="Weights must be positive"):
        boost(booster, matrix, range(2), weight=-1 - weight)
    assert booster.num_boosted_rounds() == 0
    with pytest.raises(xgb.core.XGBoostError, match="max_bin"):
        quantised(matrix, 7)
