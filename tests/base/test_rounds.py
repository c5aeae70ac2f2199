"""Rounds without XGBoost's own checks, against its public interface."""

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_array_equal

from xdcc.base.rounds import boost, margins_at_hand, set_weight

PARAMS = {"objective": "multilabel:logistic", "max_depth": 3, "nthread": 1}


def test_rounds_are_those_of_the_public_interface():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5)).astype(np.float32)
    Y = (X[:, :3] + random.normal(size=(80, 3)) > 0).astype(np.float32)
    weights = random.integers(0, 3, size=(6, 80))
    own, public = (xgb.QuantileDMatrix(X, label=Y) for _ in range(2))
    found, expected = (xgb.Booster(PARAMS, [matrix]) for matrix in (own, public))
    # Single and double precision, and an array that is not contiguous.
    for round_, dtype in enumerate([np.float32, np.float64, np.float32] * 2):
        weight = np.repeat(weights[round_].astype(dtype), round_ % 3 + 1)[:: round_ % 3 + 1]
        set_weight(own, weight)
        boost(found, own, round_)
        public.set_weight(weight)
        expected.update(public, round_)
        margins = expected.predict(public, output_margin=True, strict_shape=True)
        assert_array_equal(margins_at_hand(found, own), margins)
    assert_array_equal(own.get_weight(), public.get_weight())
    assert found.save_raw() == expected.save_raw()


def test_errors_of_xgboost_are_passed_on():
    matrix = xgb.QuantileDMatrix(np.zeros((4, 1)), label=np.zeros((4, 2)))
    with pytest.raises(xgb.core.XGBoostError, match="Weights must be positive"):
        set_weight(matrix, np.array([1.0, -1.0, 1.0, 1.0], np.float32))
