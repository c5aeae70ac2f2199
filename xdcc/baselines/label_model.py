"""The model of one label: rows where the label is unknown left out, no model where it is constant.

Two learners fill it: XGBoost (``xgb_model.py``) and any scikit-learn classifier
(``estimator_model.py``). Both are told which value of X stands for a missing one, because
scikit-learn's chain lets no NaN pass (``chain_model.py``).
"""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin


class LabelModel(ClassifierMixin, BaseEstimator):
    """A classifier for a label with the classes 0 and 1; any other value of y is unknown.

    In all methods `X` is an array or sparse matrix of shape (n_samples, n_features).
    """

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> Self:
        """Fit on the rows that are known and have a positive weight.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            0, 1, or anything else for unknown.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : LabelModel
            The fitted model.
        """
        self.classes_ = np.array([0, 1])
        counts = (y == 0) | (y == 1)
        if sample_weight is not None:
            counts &= sample_weight > 0
        weight = None if sample_weight is None else sample_weight[counts]
        # Without a row that counts the label is absent.
        positive = y[counts].mean() if counts.any() else 0
        self.constant_ = int(positive) if positive in (0, 1) else None
        if self.constant_ is None:
            self._fit_rows(X[counts], y[counts].astype(np.int64), weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probabilities of absence and presence, shape (n_samples, 2)."""
        if self.constant_ is None:
            positive = self._positive(X)
        else:
            positive = np.full(X.shape[0], self.constant_, dtype=np.float32)
        return np.stack((1 - positive, positive), axis=1)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Presence, shape (n_samples,): 1 where its probability is at least 0.5."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)

    @abstractmethod
    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        """Fit on rows of both classes."""

    @abstractmethod
    def _positive(self, X: Any) -> NDArray[np.floating]:
        """Probability of presence, shape (n_samples,)."""
