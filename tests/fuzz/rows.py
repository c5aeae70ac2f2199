"""The data of a case: X, Y and weights, drawn from its seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from tests.fuzz.cases import ODD_DATA

_COUNTS = ("count:poisson", "reg:tweedie")
_BINARY = ("binary:", "multilabel:")


@dataclass(frozen=True)
class Rows:
    """What a model is trained with.

    Attributes
    ----------
    X : array, sparse matrix or DataFrame
    Y : array or sparse matrix
    weight : array or None
    """

    X: Any
    Y: Any
    weight: Any


def draw_rows(case: dict[str, Any], of: str) -> Rows:
    """Draw the data of a case, with outputs that are "labels", "classes" or fit an objective."""
    rng = np.random.default_rng(case["seed"])
    data = case["data"]
    shape = data["rows"], data["features"]
    X = rng.normal(size=shape).astype(np.float32)
    Y = _outputs(rng, X, data, of)
    return Rows(_features(rng, X, data["X"]), Y, _weight(rng, data.get("weight"), Y))


def _features(rng: np.random.Generator, X: Any, kind: str) -> Any:
    if kind == "column-major":
        return np.asfortranarray(X)
    if kind == "double":
        return X.astype(float)
    if kind == "missing":
        X[rng.random(X.shape) < 0.6] = np.nan
    elif kind == "all missing":
        X[:] = np.nan
    elif kind == "constant":
        X[:] = X[:1]
    elif kind == "integers":
        return rng.integers(-2, 3, X.shape)
    elif kind == "huge":
        X *= np.float32(rng.choice([1e-42, 1e30, 1e37]))
    elif kind == "infinite":
        X[:1] = np.inf
    elif kind == "text":
        return X.astype(str).astype(object)
    elif kind in ("csr", "csr of empty rows", "bad index"):
        X[rng.random(X.shape) < 0.7] = 0
        if kind == "csr of empty rows":
            X[rng.random(len(X)) < 0.6] = 0
        X = sparse.csr_array(X)
        if kind == "bad index" and X.nnz:
            X.indices[0] = rng.choice([-1, X.shape[1], 10**6])
    elif kind.endswith(("category", "categories")):
        return _frame(rng, X, {"one category": 1, "categories": 4}.get(kind, 90))
    return X


def _frame(rng: np.random.Generator, X: Any, n_categories: int) -> pd.DataFrame:
    """Every second column has categories, and some of its values are missing."""
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    names = [f"level {k}" for k in range(n_categories)]
    for column in frame.columns[::2]:
        codes = rng.integers(-1, n_categories, len(frame))
        frame[column] = pd.Categorical.from_codes(codes, names)
    return frame


def _outputs(rng: np.random.Generator, X: Any, data: dict[str, Any], of: str) -> Any:
    """Return labels, classes or targets that depend on X."""
    n, kind = data["outputs"], data["Y"]
    n_columns = 1 if of == "classes" else n
    signal = X[:, np.arange(n_columns) % X.shape[1]] if X.shape[1] else 0
    noisy = signal + rng.normal(size=(len(X), n_columns))
    cut = 2.5 if kind == "rare" else 0.4
    if of == "classes":
        classes = np.digitize(noisy, np.linspace(-1.5, 1.5, max(1, n - 1)))
        is_odd = kind in ODD_DATA["Y"] and kind != "bad index"
        return _changed(rng, classes.astype(float), kind if is_odd else "usual")[:, 0]
    if of == "labels" or str(of).startswith(_BINARY):
        Y = (noisy > cut).astype(np.float32)
    elif of in _COUNTS:
        Y = np.floor(np.exp(np.clip(noisy, -2, 3))).astype(np.float32)
    elif of == "reg:gamma":
        Y = np.exp(np.clip(noisy, -3, 3)).astype(np.float32)
    elif of == "reg:logistic":
        Y = (1 / (1 + np.exp(-noisy))).astype(np.float32)
    else:
        Y = (np.abs(noisy) if of == "reg:squaredlogerror" else noisy).astype(np.float32)
    return _changed(rng, Y, kind)


def _changed(rng: np.random.Generator, Y: Any, kind: str) -> Any:
    if kind == "constant":
        Y[:, ::2] = Y[:1, ::2]
    elif kind == "unknown":
        Y[rng.random(Y.shape) < 0.3] = np.nan
    elif kind == "unknown column":
        Y[:, :1] = np.nan
    elif kind == "all unknown":
        Y[:] = np.nan
    elif kind == "soft":
        Y = np.abs(Y - rng.random(Y.shape, dtype=np.float32) / 3)
    elif kind == "flat":
        return Y[:, 0] if Y.shape[1] else Y.ravel()
    elif kind in ("sparse", "bad index") and Y.ndim == 2:
        Y = sparse.csr_array(Y)
        if kind == "bad index" and Y.nnz:
            Y.indices[-1] = rng.choice([-1, Y.shape[1], 10**6])
    elif kind == "odd":
        Y[-1:, -1:] = rng.choice([2, -1, 0.5, 1e30])
    elif kind == "infinite":
        Y[-1:, -1:] = np.inf
    elif kind == "short":
        return Y[:-1]
    return Y


def _weight(rng: np.random.Generator, kind: str | None, Y: Any) -> Any:
    if kind is None:
        return None
    n_rows = Y.shape[0]
    weight = rng.uniform(0.5, 2, n_rows).astype(np.float32)
    if kind == "zeros":
        weight[rng.random(n_rows) < 0.4] = 0
    elif kind == "all zero":
        weight[:] = 0
    elif kind == "negative":
        weight[:1] = -1
    elif kind == "infinite":
        weight[:1] = np.inf
    elif kind == "short":
        return weight[:-1]
    elif kind in ("entries", "zero entries") and Y.ndim == 2:
        weight = rng.uniform(0.5, 2, Y.shape).astype(np.float32)
        if kind == "zero entries":
            weight[rng.random(Y.shape) < 0.4] = 0
    return weight
