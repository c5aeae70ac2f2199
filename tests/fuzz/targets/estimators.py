"""Estimators with parameters inside and outside their domains, on odd data of every form."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

import xdcc
from tests.fuzz.target import Target
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
DEAR = {"n_estimators", "n_rules", "n_masks", "cv", "n_beams", "n_draws", "random_state", "verbose"}


def _values(name: str, parameter: str) -> st.SearchStrategy[object]:
    domain = getattr(xdcc, name)._domains.get(parameter)
    odd = st.sampled_from([value for value in ODD if not (parameter in DEAR and value == 50)])
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


def attempt(case: tuple[str, dict[str, object], int, str, str]) -> None:
    name, params, seed, kind, labels = case
    X, Y = data(seed, kind, labels)
    estimator = getattr(xdcc, name)(**{"n_jobs": 1, "random_state": 0} | SMALL[name] | params)
    estimator.fit(X, Y)
    proba, predicted = estimator.predict_proba(X), estimator.predict(X)
    assert len(proba) == len(predicted) == X.shape[0]
    assert np.isfinite(proba).all(), "a probability is not finite"
    assert ((proba >= 0) & (proba <= 1 + 1e-6)).all(), "a probability is outside 0 to 1"


TARGET = Target(cases(), attempt, (ValueError, TypeError))
