"""Features quantised once: the boosters are those of new matrices of [X | P]."""

import numpy as np
import pytest
import xgboost as xgb

from xdcc.base.fit_data import FitData
from xdcc.chain.quantised import QuantisedFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)).astype(np.float32)
Y = (X[:, :3] + RNG.normal(size=(200, 3)) > 0).astype(np.float32)
WEIGHT = RNG.random(200).astype(np.float32)
P = np.where(RNG.random(Y.shape) < 0.5, Y * np.float32(0.75), np.nan).astype(np.float32)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no_weights", "weights"])
@pytest.mark.parametrize("max_bin", [None, 8, 256, 300])
def test_boosters_of_a_round(max_bin: int | None, weight: np.ndarray | None) -> None:
    params = {"objective": "multilabel:sumGain", "base_score": 0.5}
    if max_bin is not None:
        params["max_bin"] = max_bin
    features = QuantisedFeatures(FitData(X, Y, weight), max_bin=max_bin, n_threads=1)
    for known in (np.full_like(P, np.nan), P):
        joined = features.joined(known)
        fresh = xgb.DMatrix(np.hstack((X, known)), label=Y, weight=weight)
        found, expected = (xgb.train(params, matrix, 3) for matrix in (joined, fresh))
        assert found.save_raw("ubj") == expected.save_raw("ubj")
        np.testing.assert_array_equal(found.predict(joined), expected.predict(fresh))
        del joined


def test_rows_that_do_not_fit() -> None:
    features = QuantisedFeatures(FitData(X, Y, None), max_bin=None, n_threads=None)
    with pytest.raises(xgb.core.XGBoostError, match="have 199 rows, the features 200"):
        features.joined(P[1:])
