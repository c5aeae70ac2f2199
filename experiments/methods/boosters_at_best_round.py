"""Boosters with the same settings, each at its best round: sketched, exact, and per label.

The best round is chosen on a held-out quarter of the training part.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from xgboost import XGBClassifier

from experiments.engine.registry import Method
from experiments.method_parts import OF_PROBABILITIES
from xdcc.base.folds import stratified_folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset

PATIENCE = 40
"""Training ends after this number of rounds without a lower held-out log-loss."""


def fit_to_best_round(model: Any, train: MultiLabelDataset) -> dict[str, Any]:
    """Train on three quarters; predictions use the best rounds on the last quarter."""
    held_out = stratified_folds(np.asarray(train.Y, np.float64), 4, 0) == 0
    parts = train[np.flatnonzero(~held_out)], train[np.flatnonzero(held_out)]
    X, Y = zip(*((part.X, np.asarray(part.Y, np.float32)) for part in parts), strict=True)
    quiet = {"verbose": False} if isinstance(model, XGBClassifier) else {}
    model.fit(X[0], Y[0], eval_set=[(X[1], Y[1])], **quiet)
    return {}


class LightGBMPerLabel(BaseEstimator):
    """LightGBM for each label, each at its own best round; a constant label keeps its rate."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def fit(self, X: Any, Y: Any, *, eval_set: Any) -> "LightGBMPerLabel":
        """Train label by label."""
        import lightgbm

        Y, Y_held_out = np.asfortranarray(Y), np.asfortranarray(eval_set[0][1])
        self.rates_, self.models_ = Y.mean(axis=0), {}
        params = self.params | {"objective": "binary"}
        rounds = params.pop("n_estimators")
        for label in np.flatnonzero((self.rates_ > 0) & (self.rates_ < 1)):
            rows = lightgbm.Dataset(X, Y[:, label], params=params)
            held_out = rows.create_valid(eval_set[0][0], Y_held_out[:, label])
            stop = lightgbm.early_stopping(PATIENCE, verbose=False)
            self.models_[label] = lightgbm.train(
                params, rows, rounds, valid_sets=[held_out], callbacks=[stop]
            )
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label."""
        found = np.tile(self.rates_, (X.shape[0], 1)).astype(np.float64)
        for label, model in self.models_.items():
            found[:, label] = model.predict(X)
        return found

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the labels of probability at least one half."""
        return (self.predict_proba(X) >= 0.5).astype(np.int64)


SHARED = {"n_estimators": 2000, "max_depth": 6, "learning_rate": 0.1}


def _ours(train: MultiLabelDataset, seed: int, groups: int | str, **params: Any) -> Any:
    """Return a booster whose rounds have `groups` trees, each for as many labels."""
    if groups != "auto":
        params["labels_per_tree"] = -(-train.n_labels // int(groups)) if groups != 1 else 0
    return _xgboost(train, seed, MultiLabelXGBClassifier, **params)


def _xgboost(train: MultiLabelDataset, seed: int, kind: type = XGBClassifier, **params: Any) -> Any:
    return kind(
        max_bin=64, random_state=seed, n_jobs=1, eval_metric="logloss",
        early_stopping_rounds=PATIENCE, **params,
    )  # fmt: skip


def _lightgbm(train: MultiLabelDataset, seed: int, max_depth: int, **params: Any) -> Any:
    return LightGBMPerLabel(
        max_depth=max_depth, num_leaves=2**max_depth - 1, max_bin=64, random_state=seed, n_jobs=1,
        verbose=-1, **params,
    )  # fmt: skip


_method = partial(Method, params=SHARED, fit=fit_to_best_round, scores=OF_PROBABILITIES)


METHODS = {
    "sketched_best_round": _method(
        title="a multi-label booster at its best round, exact or sketched",
        reference="this project; Iosipoi and Vakhrushev, SketchBoost, 2022",
        build=_ours,
        params=SHARED | {"sketch_size": 0, "groups": 1},
    ),
    "stock_best_round": _method(
        title="XGBoost per label, all labels at their common best round",
        reference="Chen and Guestrin, XGBoost: A Scalable Tree Boosting System, 2016",
        build=_xgboost,
    ),
    "lightgbm_best_round": _method(
        title="LightGBM per label, each label at its best round",
        reference="Ke et al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017",
        build=_lightgbm,
        requires=("lightgbm",),
    ),
}
