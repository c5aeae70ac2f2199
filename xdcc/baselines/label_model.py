"""The model of one label: rows where the label is unknown left out, no model where it is constant.

Two learners fill it: XGBoost (`XGBModel`) and any scikit-learn classifier (`EstimatorModel`). Both
are told which value of X stands for a missing one, because scikit-learn's chain lets no NaN pass
(``fixed_chain.py``).
"""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NotRequired, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from xdcc.baselines.learner import fit_learner


class LabelModel(ClassifierMixin, BaseEstimator):
    """A classifier for a label with the classes 0 and 1; any other value of y is unknown.

    In all methods `X` is an array or sparse matrix of shape (n_samples, n_features).
    """

    _stored: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"classes_": NDArray[np.int64], "constant_": int | None}
    )

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


class EstimatorModel(LabelModel):
    """A copy of `estimator` for one label; it sees NaN where X holds `missing`."""

    _stored = MappingProxyType({"estimator_": NotRequired[BaseEstimator]})

    def __init__(self, estimator: Any, missing: float = np.nan) -> None:
        self.estimator = estimator
        self.missing = missing

    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        self.estimator_ = fit_learner(clone(self.estimator), self._features(X), y, weight)

    def _positive(self, X: Any) -> NDArray[np.floating]:
        return self.estimator_.predict_proba(self._features(X))[:, 1]

    def _features(self, X: Any) -> Any:
        features = sparse.csr_matrix(X) if sparse.issparse(X) else X
        values = features.data if sparse.issparse(features) else features
        stands_in = values == self.missing
        if not stands_in.any():
            return features
        features = features.copy()
        values = features.data if sparse.issparse(features) else features
        values[stands_in] = np.nan
        return features


class XGBModel(LabelModel):
    """A booster for one label.

    X may have further columns, numbers, after those that `feature_types` describes.
    """

    _stored = MappingProxyType({"booster_": NotRequired[xgb.Booster]})

    def __init__(
        self,
        params: dict[str, Any],
        n_estimators: int,
        missing: float,
        feature_types: list[str] | None = None,
    ) -> None:
        self.params = params
        self.n_estimators = n_estimators
        self.missing = missing
        self.feature_types = feature_types

    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        self.booster_ = xgb.train(
            {**self.params, "objective": "binary:logistic"},
            self._matrix(X, label=y, weight=weight),
            num_boost_round=self.n_estimators,
        )

    def _positive(self, X: Any) -> NDArray[np.float32]:
        return self.booster_.predict(self._matrix(X))

    def _matrix(self, X: Any, **info: Any) -> xgb.DMatrix:
        # scikit-learn's chain joins sparse matrices in formats that XGBoost does not take.
        features = sparse.csr_matrix(X) if sparse.issparse(X) else X
        types = self.feature_types
        if types is not None:
            types = [*types, *["q"] * (X.shape[1] - len(types))]
        return xgb.DMatrix(
            features,
            missing=self.missing,
            feature_types=types,
            nthread=self.params.get("nthread"),
            **info,
        )
