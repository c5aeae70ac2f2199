"""The chain's loop against a plain one that makes new matrices, and where a round starts."""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.chain.loop import ChainRun, run_chain
from xdcc.chain.propagation import Candidates, PropagationRule, propagate
from xdcc.chain.training import ChainPlan, open_base_score, train_chain

NAN = np.nan
N_ROUNDS = 4


def _data(kind: str) -> FitData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)).astype(np.float32)
    Y = (X[:, :5] + rng.normal(size=(120, 5)) > 0.3).astype(np.float32)
    Y[rng.random(Y.shape) < 0.1] = NAN
    if kind == "missing":
        X[rng.random(X.shape) < 0.3] = NAN
    features = sparse.csr_matrix(np.where(X > 0.5, X, 0)) if kind == "csr" else X
    return FitData(features, Y, rng.random(120).astype(np.float32) if kind == "missing" else None)


def _new_matrix(X: Features, P: NDArray[np.float32], **info: Any) -> xgb.DMatrix:
    if not sparse.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), **info)
    known = ~np.isnan(P)
    stored = sparse.csr_matrix((P[known], known.nonzero()), shape=P.shape)
    return xgb.DMatrix(sparse.hstack((X, stored), format="csr"), **info)


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("candidates", ["open", "all"])
@pytest.mark.parametrize("kind", ["dense", "missing", "csr"])
def test_agrees_with_new_matrices_in_every_round(
    kind: str, candidates: Candidates, separate: bool
) -> None:
    data = _data(kind)
    params = {"objective": "multilabel:maxGain", "subsample": 0.8, "seed": 3, "max_bin": 16}
    rule = PropagationRule(candidates)
    plan = ChainPlan(N_ROUNDS, 3, rule=rule, separate_and_conquer=separate)
    rounds = train_chain(data, params, plan)
    states = run_chain(ChainRun(data.X, data.Y.shape[1], N_ROUNDS, rule, False), rounds)

    P = np.full(data.Y.shape, NAN, dtype=np.float32)
    P_new = P.copy()
    for round_, ((booster,), state) in enumerate(zip(rounds, states, strict=True)):
        start = {
            "label_feature_begin": 6,
            "base_score": open_base_score(data.Y, data.sample_weight, P),
        }
        matrix = _new_matrix(data.X, P, label=data.Y, weight=data.sample_weight)
        expected = xgb.train(
            {**params, **(start if separate else {}), "seed": 3 + round_}, matrix, 3
        )
        assert booster.save_raw("ubj") == expected.save_raw("ubj")
        propagate(P, expected.predict(matrix), rule)
        label = propagate(P_new, expected.predict(_new_matrix(data.X, P_new)), rule)
        np.testing.assert_array_equal(state.labels, label)
        np.testing.assert_array_equal(state.P, P_new)
    assert round_ == N_ROUNDS - 1


def test_base_score_is_the_mean_of_what_is_known_and_open() -> None:
    Y = np.array([[0, 1, 1, 1], [0, 1, 1, NAN], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=np.float32)
    P = np.full(Y.shape, NAN, dtype=np.float32)
    P[:, 2] = 0.5
    P[2, 3] = 0.1
    found = open_base_score(Y, None, P)
    assert found == pytest.approx([1e-6, 1 - 1e-6, 0.5, 1 / 2], rel=1e-12)
    assert all(type(score) is float for score in found)
    weighted = open_base_score(Y, np.array([1, 1, 1, 3], dtype=np.float32), P)
    assert weighted[3] == pytest.approx(1 / 4)
