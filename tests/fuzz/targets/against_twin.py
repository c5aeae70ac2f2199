"""Trees of the plugin against their NumPy twin, which grows them row by row."""

from itertools import pairwise

import numpy as np
import xgboost as xgb
from hypothesis import strategies as st

from tests.fuzz.target import Different, Target
from xdcc.boosting import reference
from xdcc.boosting.reference import SPLIT_METHODS
from xdcc.boosting.tree_comparison import compare_trees, read_trees

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "method": st.sampled_from(SPLIT_METHODS),
        "max_depth": st.integers(1, 5),
        "reg_lambda": st.sampled_from([0.1, 1.0, 7.0]),
        "gamma": st.sampled_from([0.0, 0.3]),
    }
)


def attempt(case: dict[str, object]) -> None:
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
    twin = reference.grow_tree(
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
        compare_trees(read_trees(booster)[0], twin, X, grad, hess, case["method"], **chosen)
    except AssertionError as error:
        raise Different(str(error)) from error


TARGET = Target(cases, attempt)
