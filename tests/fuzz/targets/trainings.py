"""Trainings that are compared with other implementations.

`against_stock`: a booster of one label predicts as the stock one does, whatever the parameters.
`against_reference`: the plugin's trees equal those of the reference implementation, which grows
them row by row.
"""

from itertools import pairwise

import numpy as np
import xgboost as xgb
from hypothesis import strategies as st

from tests.fuzz.target import Different, Target
from tests.reference import boosting as reference
from tests.reference.boosting import SPLIT_METHODS
from tests.reference.tree_comparison import compare_trees, read_trees

cases_against_stock = st.fixed_dictionaries(
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


def attempt_against_stock(case: dict[str, object]) -> None:
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


against_stock = Target(cases_against_stock, attempt_against_stock)


cases_against_reference = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "method": st.sampled_from(SPLIT_METHODS),
        "max_depth": st.integers(1, 5),
        "reg_lambda": st.sampled_from([0.1, 1.0, 7.0]),
        "gamma": st.sampled_from([0.0, 0.3]),
    }
)


def attempt_against_reference(case: dict[str, object]) -> None:
    rng = np.random.default_rng(case["seed"])
    n_rows, n_features, n_labels = rng.integers(2, 60), rng.integers(1, 6), rng.integers(2, 9)
    X = rng.normal(size=(n_rows, n_features)).round(rng.integers(0, 3)).astype(np.float32)
    X[rng.random(X.shape) < rng.choice([0, 0.3])] = np.nan
    Y = (rng.random((n_rows, n_labels)) < rng.random(n_labels)).astype(float)
    params = {
        "objective": "multilabel:logistic",
        "split_method": case["method"],
        "max_depth": case["max_depth"],
        "reg_lambda": case["reg_lambda"],
        "gamma": case["gamma"],
        "base_score": 0.5,
        "nthread": 1,
    }
    matrix = xgb.QuantileDMatrix(X, Y)
    booster = xgb.train(params, matrix, num_boost_round=1)
    pointers, values = matrix.get_quantile_cut()
    cuts = [values[a:b] for a, b in pairwise(pointers)]
    grad, hess = reference.gradients(Y, np.zeros(Y.shape))
    chosen = {"gamma": case["gamma"], "reg_lambda": case["reg_lambda"]}
    expected = reference.grow_tree(
        X,
        grad,
        hess,
        cuts,
        case["method"],
        max_depth=case["max_depth"],
        learning_rate=0.3,
        **chosen,
    )
    try:
        compare_trees(read_trees(booster)[0], expected, X, grad, hess, case["method"], **chosen)
    except AssertionError as error:
        raise Different(str(error)) from error


against_reference = Target(cases_against_reference, attempt_against_reference)
