"""Multi-label boosters on categories that were encoded as numbers before.

Codes by label means follow Micci-Barreca's target encoding, by scikit-learn: for many labels, the
target is the first principal direction of the mean labels of a feature's categories.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold
from sklearn.preprocessing import OrdinalEncoder, TargetEncoder

from experiments.engine.registry import Method
from experiments.method_parts import log_loss
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset

type Encoded = tuple[Any, Any]
"""An encoder that was fitted, and the encoded training rows."""


def _by_frequency(column: pd.DataFrame, Y: Any) -> Encoded:
    levels = column.iloc[:, 0].value_counts().index.tolist()
    encoder = OrdinalEncoder(
        categories=[levels], handle_unknown="use_encoded_value", unknown_value=np.nan
    )
    return encoder, encoder.fit_transform(column)


def _by_means(column: pd.DataFrame, Y: Any) -> Encoded:
    encoder = TargetEncoder(target_type="continuous").fit(column, _direction(column, Y))
    return encoder, encoder.transform(column)


def _by_means_out_of_fold(column: pd.DataFrame, Y: Any) -> Encoded:
    direction = _direction(column, Y)
    codes = np.empty((len(column), 1))
    for train, rest in KFold(5, shuffle=True, random_state=0).split(column):
        encoder = TargetEncoder(target_type="continuous").fit(column.iloc[train], direction[train])
        codes[rest] = encoder.transform(column.iloc[rest])
    return TargetEncoder(target_type="continuous").fit(column, direction), codes


def _direction(column: pd.DataFrame, Y: Any) -> Any:
    """Project Y on the first principal direction of the mean labels of the categories."""
    labels = pd.DataFrame(np.asarray(Y, dtype=np.float64))
    groups = (labels - labels.mean()).groupby(column.iloc[:, 0].to_numpy())
    means = groups.mean().mul(np.sqrt(groups.size()), axis=0)
    return labels.to_numpy() @ np.linalg.svd(means.to_numpy(), full_matrices=False)[2][0]


ENCODINGS: dict[str, Callable[[pd.DataFrame, Any], Encoded]] = {
    "frequency": _by_frequency,
    "label means": _by_means,
    "label means out of fold": _by_means_out_of_fold,
}
"""Encoders of a column, which is a DataFrame."""


class EncodedBooster(ClassifierMixin, BaseEstimator):
    """A booster on a DataFrame whose categories are encoded as numbers."""

    def __init__(self, booster: MultiLabelXGBClassifier, encoding: str) -> None:
        self.booster = booster
        self.encoding = encoding

    def fit(self, X: pd.DataFrame, Y: Any) -> Self:
        """Learn the codes, and train."""
        frame = _frame(X)
        coded = frame.copy()
        self.encoders_ = {}
        for name in frame.select_dtypes("category"):
            text = frame[[name]].astype(str)
            self.encoders_[name], codes = ENCODINGS[self.encoding](text, Y)
            coded[name] = codes[:, 0]
        self.booster.fit(coded, Y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Predict labels, of shape (n_samples, n_labels)."""
        return self.booster.predict(self._encoded(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Return probabilities of labels, of shape (n_samples, n_labels)."""
        return self.booster.predict_proba(self._encoded(X))

    def _encoded(self, X: pd.DataFrame) -> pd.DataFrame:
        frame = _frame(X)
        codes = {
            name: encoder.transform(frame[[name]].astype(str))[:, 0]
            for name, encoder in self.encoders_.items()
        }
        return frame.assign(**codes)


def _frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).add_prefix("x")


def _build(train: MultiLabelDataset, seed: int, encoding: str, **params: Any) -> EncodedBooster:
    booster = MultiLabelXGBClassifier(random_state=seed, n_jobs=1, **params)
    return EncodedBooster(booster, encoding)


METHODS = {
    "mlxgb_encoded": Method(
        title="a single multi-label booster on categories encoded as numbers",
        reference="Micci-Barreca, A preprocessing scheme for high-cardinality categorical "
        "attributes, SIGKDD Explorations 2001",
        build=_build,
        params={"encoding": "frequency"},
        scores={"log_loss": log_loss},
    ),
}
