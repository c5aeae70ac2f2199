"""A booster of another library for each label, at its best round on a held-out fifth.

X may be a DataFrame with categories. A label that is unknown in a row is trained without this row.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from experiments.engine.registry import Method
from experiments.method_parts import log_loss
from xdcc.data import MultiLabelDataset

_HELD_OUT, _PATIENCE, _MOST_ROUNDS = 0.2, 40, 2000


class PerLabel(BaseEstimator):
    """One classifier for each label; a constant label keeps its frequency."""

    def __init__(self, make: Callable[[], Any], learn: Callable[..., Any], seed: int) -> None:
        self.make, self.learn, self.seed = make, learn, seed

    def fit(self, X: Any, Y: Any) -> Self:
        """Train label by label."""
        truth = np.asarray(Y, np.float64)
        is_held_out = np.random.default_rng(self.seed).random(len(truth)) < _HELD_OUT
        self.frequency_, self.models_ = np.nanmean(truth, axis=0), {}
        for label in np.flatnonzero((self.frequency_ > 0) & (self.frequency_ < 1)):
            is_known = ~np.isnan(truth[:, label])
            parts = [np.flatnonzero(is_known & part) for part in (~is_held_out, is_held_out)]
            rows = [(_safe_indexing(X, part), truth[part, label].astype(int)) for part in parts]
            self.models_[label] = self.learn(self.make(), *rows)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label."""
        found = np.tile(self.frequency_, (len(X), 1))
        for label, model in self.models_.items():
            found[:, label] = model.predict_proba(X)[:, 1]
        return found

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the labels of probability at least one half."""
        return (self.predict_proba(X) >= 0.5).astype(np.int64)


def _fit_lightgbm(model: Any, rows: tuple[Any, Any], held_out: tuple[Any, Any]) -> Any:
    import lightgbm

    stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
    return model.fit(*rows, eval_X=held_out[0], eval_y=held_out[1], callbacks=[stop])


def _fit_xgboost(model: Any, rows: tuple[Any, Any], held_out: tuple[Any, Any]) -> Any:
    return model.fit(*rows, eval_set=[held_out], verbose=False)


def _lightgbm(train: MultiLabelDataset, seed: int, **params: Any) -> PerLabel:
    from lightgbm import LGBMClassifier

    make = partial(LGBMClassifier, random_state=seed, n_jobs=1, verbose=-1, **params)
    return PerLabel(make, _fit_lightgbm, seed)


def _xgboost(train: MultiLabelDataset, seed: int, **params: Any) -> PerLabel:
    from xgboost import XGBClassifier

    make = partial(
        XGBClassifier, random_state=seed, n_jobs=1, enable_categorical=True,
        early_stopping_rounds=_PATIENCE, **params,
    )  # fmt: skip
    return PerLabel(make, _fit_xgboost, seed)


_method = partial(
    Method,
    params={"n_estimators": _MOST_ROUNDS, "learning_rate": 0.1},
    scores={"log_loss": log_loss},
)

METHODS = {
    "lightgbm_per_label": _method(
        title="LightGBM per label, at the best round of each",
        reference="Ke et al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017",
        build=_lightgbm,
        requires=("lightgbm",),
    ),
    "xgboost_per_label": _method(
        title="XGBoost per label, at the best round of each",
        reference="Chen and Guestrin, XGBoost: A Scalable Tree Boosting System, 2016",
        build=_xgboost,
    ),
}
