"""Boosters that end at their best round: a quarter of the training part, held out, tells it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from xgboost import XGBClassifier

from xdcc.base.folds import stratified_folds
from xdcc.data import MultiLabelDataset

PATIENCE = 40
"""Rounds after which training ends, if the held-out log-loss has not fallen any more."""


def fit_to_best_round(model: Any, train: MultiLabelDataset) -> dict[str, Any]:
    """Train on three quarters; predictions use the rounds that are best on the last quarter."""
    held_out = stratified_folds(np.asarray(train.Y, np.float64), 4, 0) == 0
    parts = train[np.flatnonzero(~held_out)], train[np.flatnonzero(held_out)]
    X, Y = zip(*((part.X, np.asarray(part.Y, np.float32)) for part in parts), strict=True)
    quiet = {"verbose": False} if isinstance(model, XGBClassifier) else {}
    model.fit(X[0], Y[0], eval_set=[(X[1], Y[1])], **quiet)
    return {}


class LightGBMPerLabel(BaseEstimator):
    """LightGBM for each label, each at its own best round; a label of one value keeps its rate."""

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
