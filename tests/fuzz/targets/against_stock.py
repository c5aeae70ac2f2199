"""A booster of one label against the stock one: the same predictions, whatever the parameters."""

import numpy as np
import xgboost as xgb
from hypothesis import strategies as st

from tests.fuzz.target import Different, Target

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "max_depth": st.integers(1, 6),
        "eta": st.sampled_from([0.1, 1.0]),
        "reg_lambda": st.sampled_from([0.5, 3.0]),
        "min_child_weight": st.sampled_from([0.0, 0.1, 1.0, 30.0]),
        "max_bin": st.sampled_from([4, 256]),
        "grow_policy": st.sampled_from(["depthwise", "lossguide"]),
    }
)


def attempt(case: dict[str, object]) -> None:
    rng = np.random.default_rng(case["seed"])
    n_rows, n_features = rng.integers(2, 80), rng.integers(1, 6)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0).astype(float)
    params = {"base_score": 0.5, "nthread": 1, **case}
    params.pop("seed")
    weight = rng.uniform(0.5, 1.5, n_rows)  # no two splits gain the same
    predicted = []
    ours = {"objective": "multilabel:logistic", "min_child_weight_scope": "mean"}  # as stock's
    for chosen in (ours, {"objective": "binary:logistic"}):
        matrix = xgb.DMatrix(X, y, weight=weight)
        booster = xgb.train({**params, **chosen}, matrix, num_boost_round=3)
        predicted.append(booster.predict(matrix).ravel())
    if not np.allclose(*predicted, atol=1e-3):
        raise Different(f"predictions {predicted}")


TARGET = Target(cases, attempt)
