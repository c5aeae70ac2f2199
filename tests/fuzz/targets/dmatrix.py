"""`xgboost.train` with the plugin's objectives: odd parameters, labels, weights and margins."""

import numpy as np
import xgboost as xgb
from hypothesis import strategies as st
from scipy import sparse

from tests.fuzz.target import Target
from xdcc.boosting.reference import SCOPES, SPLIT_METHODS

numbers = st.sampled_from([0, 1, 2, 5, 64, -1, 0.5, 1e-9, 1e9, "nan", "inf", "x", ""])
params = st.fixed_dictionaries(
    {
        "objective": st.sampled_from(
            [
                "multilabel:logistic",
                "multilabel:logitraw",
                *(f"multilabel:{m}" for m in SPLIT_METHODS),
            ]
        )
    },
    optional={
        "split_method": st.sampled_from([*SPLIT_METHODS, "maxgain", 3, ""]),
        "sketch_size": numbers,
        "sketch_method": st.sampled_from(["projection", "sampling", "top", "bottom"]),
        "labels_per_tree": numbers,
        "min_child_weight": numbers,
        "min_child_weight_scope": st.sampled_from([*SCOPES, "none"]),
        "max_depth": st.sampled_from([0, 1, 3, -1, 40]),
        "max_leaves": st.sampled_from([0, 1, 3, -1]),
        "max_bin": st.sampled_from([1, 2, 3, 256, 0]),
        "reg_lambda": numbers,
        "reg_alpha": numbers,
        "gamma": numbers,
        "max_delta_step": numbers,
        "eta": numbers,
        "subsample": st.sampled_from([1, 0.5, 0, 2, -1]),
        "colsample_bytree": st.sampled_from([1, 0.5, 0, 2]),
        "base_score": numbers,
        "grow_policy": st.sampled_from(["depthwise", "lossguide"]),
        "eval_metric": st.sampled_from(["logloss", "hamming", "subset", "f1", "error", "auc"]),
        "interaction_constraints": st.sampled_from(["[[0,1]]", "[[9]]", "[", "[[-1]]"]),
        "monotone_constraints": st.sampled_from(["(1,0)", "(0)", "x"]),
    },
)
cases = st.tuples(
    params,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["dense", "sparse", "missing", "categorical", "huge"]),
    st.sampled_from(["usual", "usual", "unknown", "weighted", "margin", "odd", "weight0"]),
)


def matrix(seed: int, kind: str, about: str) -> xgb.DMatrix:
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_labels = rng.integers(1, 40), rng.integers(1, 5), rng.integers(1, 20)
    X = rng.normal(size=(n_rows, n_features))
    Y = (rng.random((n_rows, n_labels)) < 0.4).astype(np.float32)
    more = {}
    if about == "unknown":
        Y[rng.random(Y.shape) < 0.4] = np.nan
    elif about == "weighted":
        more["weight"] = rng.random(n_rows)
    elif about == "weight0":
        more["weight"] = np.zeros(n_rows)
    elif about == "margin":
        more["base_margin"] = rng.normal(size=Y.shape) * 10.0 ** rng.integers(0, 30)
    elif about == "odd":
        Y[0, 0] = rng.choice([2, -1, 0.5])
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.3))
    elif kind == "missing":
        X[:] = np.nan
    elif kind == "categorical":
        X[:, 0] = rng.integers(0, 6, n_rows)
        more["feature_types"] = ["c"] + ["q"] * (n_features - 1)
        more["enable_categorical"] = True
    elif kind == "huge":
        X *= 1e38
    return xgb.DMatrix(X, Y, nthread=1, **more)


def attempt(case: tuple[dict[str, object], int, str, str]) -> None:
    chosen, seed, kind, about = case
    data = matrix(seed, kind, about)
    booster = xgb.train(
        {"nthread": 1, **chosen}, data, 2, evals=[(data, "train")], verbose_eval=False
    )
    again = xgb.Booster(model_file=booster.save_raw("ubj"))
    assert np.array_equal(booster.predict(data), again.predict(data), equal_nan=True)


TARGET = Target(cases, attempt, (xgb.core.XGBoostError, ValueError))
