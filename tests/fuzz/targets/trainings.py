"""Trainings of every estimator and of `xgboost.train`, with odd data and parameters.

`estimators` and `dmatrix` have odd parameters, labels, weights and margins. `against_stock`: a
booster of one label predicts as the stock one does, whatever the parameters. `against_reference`:
the plugin's trees equal those of the reference implementation, which grows them row by row.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
import xgboost as xgb
from hypothesis import strategies as st
from scipy import sparse

import xdcc
from tests.fuzz.target import Different, Target
from tests.reference import boosting as reference
from tests.reference.boosting import SCOPES, SPLIT_METHODS
from tests.reference.tree_comparison import compare_trees, read_trees
from xdcc.base.domains import Choice, Number, Switch

SMALL = {
    "MultiLabelXGBClassifier": {"n_estimators": 2, "max_depth": 3},
    "DynamicChainClassifier": {"n_estimators": 2, "max_depth": 3, "cv": 2},
    "OrderFreeChainClassifier": {"n_estimators": 2, "max_depth": 3, "cv": 2, "n_masks": 2},
    "BinaryRelevance": {"n_estimators": 2, "max_depth": 3},
    "ClassifierChain": {"n_estimators": 2, "max_depth": 3},
    "LabelPowerset": {"n_estimators": 2, "max_depth": 3},
    "RandomDecisionTreeClassifier": {"n_estimators": 3, "max_depth": 5},
    "LaCovaCClassifier": {},
    "LaCovaCForestClassifier": {"n_estimators": 2},
    "BoomerClassifier": {"n_rules": 5},
    "CTBNClassifier": {"C": 1.0, "max_solver_iter": 20},
}
ODD = [
    0,
    1,
    2,
    3,
    50,
    -1,
    0.0,
    0.5,
    1.0,
    1.5,
    -0.5,
    float("nan"),
    float("inf"),
    None,
    True,
    "x",
    [],
]
EXPENSIVE = {
    "n_estimators",
    "n_rules",
    "n_masks",
    "cv",
    "n_beams",
    "n_draws",
    "random_state",
    "verbose",
}


def _values(name: str, parameter: str) -> st.SearchStrategy[object]:
    domain = getattr(xdcc, name)._domains.get(parameter)
    odd = st.sampled_from([value for value in ODD if not (parameter in EXPENSIVE and value == 50)])
    if isinstance(domain, Choice):
        return st.sampled_from(domain.values) | odd
    if isinstance(domain, Switch):
        return st.booleans()
    if isinstance(domain, Number) and domain.whole:
        return st.integers(0, 4) | odd
    return odd


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, dict[str, object], int, str, str]:
    name = draw(st.sampled_from(sorted(SMALL)))
    known = sorted(
        set(getattr(xdcc, name)().get_params(deep=False)) - {"callbacks", "base_estimator"}
    )
    chosen = draw(st.lists(st.sampled_from(known), max_size=3, unique=True))
    params = {parameter: draw(_values(name, parameter)) for parameter in chosen}
    kinds = [
        "dense",
        "sparse",
        "frame",
        "missing",
        "constant",
        "integers",
        "huge",
        "infinite",
        "text",
    ]
    labels = ["usual", "usual", "unknown", "absent", "one", "present", "sparse", "broken", "short"]
    return (
        name,
        params,
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from(kinds)),
        draw(st.sampled_from(labels)),
    )


def data(seed: int, kind: str, labels: str) -> tuple[object, object]:
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_labels = rng.integers(1, 30), rng.integers(1, 5), rng.integers(1, 5)
    X = rng.normal(size=(n_rows, n_features))
    Y: object = (rng.random((n_rows, n_labels)) < rng.random(n_labels)).astype(float)
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.3))
        if X.nnz and rng.random() < 0.3:
            X.indices[0] = rng.choice([-1, n_features, 10**6])
    elif kind == "frame":
        X = pd.DataFrame(X, columns=[f"f{i}" for i in range(n_features)])
        X["f0"] = pd.Categorical.from_codes(rng.integers(-1, 3, n_rows), ["a", "b", "c"])
    elif kind == "missing":
        X[rng.random(X.shape) < 0.7] = np.nan
    elif kind == "constant":
        X[:] = X[0]
    elif kind == "integers":
        X = rng.integers(-2, 3, X.shape)
    elif kind == "huge":
        X = X * rng.choice([1e-42, 1e30, 3e38, 1e300])
    elif kind == "infinite":
        X[0, 0] = np.inf
    elif kind == "text":
        X = X.astype(str).astype(object)
    if labels == "unknown":
        Y[rng.random(Y.shape) < 0.4] = np.nan
    elif labels == "absent":
        Y[:, 0] = 0
    elif labels == "present":
        Y[:, 0] = 1
    elif labels == "one":
        Y = rng.choice(["no", "yes"], n_rows)
    elif labels == "sparse":
        Y = sparse.csr_array(Y)
        if Y.nnz and rng.random() < 0.3:
            Y.indices[-1] = rng.choice([-1, n_labels, 10**6])
    elif labels == "broken":
        Y[-1, -1] = rng.choice([2, -1, 0.5, np.inf])
    elif labels == "short":
        Y = Y[:-1]
    return X, Y


def attempt_estimators(case: tuple[str, dict[str, object], int, str, str]) -> None:
    name, params, seed, kind, labels = case
    X, Y = data(seed, kind, labels)
    estimator = getattr(xdcc, name)(**{"n_jobs": 1, "random_state": 0} | SMALL[name] | params)
    estimator.fit(X, Y)
    proba, predicted = estimator.predict_proba(X), estimator.predict(X)
    assert len(proba) == len(predicted) == X.shape[0]
    assert np.isfinite(proba).all(), "a probability is not finite"
    assert ((proba >= 0) & (proba <= 1 + 1e-6)).all(), "a probability is outside 0 to 1"


estimators = Target(cases(), attempt_estimators, (ValueError, TypeError))


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
cases_dmatrix = st.tuples(
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


def attempt_dmatrix(case: tuple[dict[str, object], int, str, str]) -> None:
    chosen, seed, kind, about = case
    data = matrix(seed, kind, about)
    booster = xgb.train(
        {"nthread": 1, **chosen}, data, 2, evals=[(data, "train")], verbose_eval=False
    )
    again = xgb.Booster(model_file=booster.save_raw("ubj"))
    assert np.array_equal(booster.predict(data), again.predict(data), equal_nan=True)


dmatrix = Target(cases_dmatrix, attempt_dmatrix, (xgb.core.XGBoostError, ValueError))


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
