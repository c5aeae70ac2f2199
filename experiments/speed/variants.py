"""What a booster of ours can have that the plain case lacks: what it costs is compared.

All variants get the same data: each feature in a few levels, so that it can also be a category.
"""

import atexit
import shutil
from collections.abc import Callable
from tempfile import mkdtemp
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from experiments.speed.data import Labels

_PAGES = 4
_LEVELS = 32


def levels(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each value's place among 32 equal steps from a feature's least to its largest."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.minimum((X - low) / (high - low) * _LEVELS, _LEVELS - 1).astype(np.float32).round()


def overlapping_groups(n_features: int) -> str:
    """Return the first and the last two thirds of the features, as XGBoost reads constraints."""
    features = list(range(n_features))
    return str([features[: -(-2 * n_features // 3)], features[n_features // 3 :]])


def rising_and_falling(n_features: int) -> str:
    """Return a constraint for each feature, 1 and -1 in turns, as XGBoost reads them."""
    return str(tuple((-1) ** k for k in range(n_features)))


def build_variant(
    name: str, X: NDArray[np.float32], Y: Labels, parameters: dict[str, Any]
) -> xgb.DMatrix:
    """Return the matrix of a variant, for a booster with these parameters."""
    X = levels(X)
    threads = parameters["nthread"]
    if name == "external_memory":
        return xgb.ExtMemQuantileDMatrix(
            _Pages(X, Y), max_bin=parameters["max_bin"], nthread=threads
        )
    if name.startswith("categories"):
        types = ["c"] * X.shape[1]
        return xgb.DMatrix(X, Y, feature_types=types, enable_categorical=True, nthread=threads)
    return xgb.DMatrix(X, Y, nthread=threads)


class _Pages(xgb.DataIter):
    """Hands rows out page by page; the matrix reads its cache's folder as long as it is there."""

    def __init__(self, X: NDArray[np.float32], Y: Labels) -> None:
        self._pages = list(zip(np.array_split(X, _PAGES), np.array_split(Y, _PAGES), strict=True))
        self._next = 0
        folder = mkdtemp()
        atexit.register(shutil.rmtree, folder)
        super().__init__(cache_prefix=f"{folder}/page")

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Hand out the next page; return False after the last."""
        if self._next == len(self._pages):
            return False
        X, Y = self._pages[self._next]
        input_data(data=X, label=Y)
        self._next += 1
        return True

    def reset(self) -> None:
        """Begin again."""
        self._next = 0
