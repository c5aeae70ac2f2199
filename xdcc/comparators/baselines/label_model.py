"""Models of one label: XGBoost (`XGBModel`) or any scikit-learn classifier (`EstimatorModel`).

Rows in which the label is unknown are not used, and a constant label needs no model. The models
know which value of X represents a missing value, as scikit-learn's chain accepts no NaN
(``fixed_chain.py``).
"""

from abc import abstractmethod
from typing import Annotated, Any, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from xdcc.base.domains import Threads, check_domain
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import OPTIONAL
from xdcc.comparators.baselines.learner import fit_learner


class LabelModel(ClassifierMixin, BaseEstimator):
    """A classifier for a label with the classes 0 and 1; any other value of y is unknown."""

    classes_: NDArray[np.int64]
    constant_: int | None

    def _check_state(self) -> None:
        require(self.constant_ in (0, 1) or self._is_trained(), "constant_")

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> Self:
        """Fit on the rows with a known label and a positive weight."""
        self.classes_ = np.array([0, 1])
        counts = (y == 0) | (y == 1)
        if sample_weight is not None:
            counts &= sample_weight > 0
        weight = None if sample_weight is None else sample_weight[counts]
        # Without any such row, predict 0.
        positive = y[counts].mean() if counts.any() else 0
        self.constant_ = int(positive) if positive in (0, 1) else None
        if self.constant_ is None:
            self._fit_rows(X[counts], y[counts].astype(np.int64), weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Predict the probabilities of 0 and 1, (n_samples, 2)."""
        if self.constant_ is None:
            positive = self._positive(X)
        else:
            positive = np.full(X.shape[0], self.constant_, dtype=np.float32)
        return np.stack((1 - positive, positive), axis=1)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict 1 if its probability is at least 0.5."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)

    @abstractmethod
    def _is_trained(self) -> bool:
        """Whether it was trained on rows of both classes."""

    @abstractmethod
    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        """Fit on rows of both classes."""

    @abstractmethod
    def _positive(self, X: Any) -> NDArray[np.floating]:
        """Predict the probability of 1, (n_samples,)."""


@stored
class EstimatorModel(LabelModel):
    """A copy of `estimator` for one label, which receives NaN instead of `missing`."""

    estimator_: Annotated[BaseEstimator, OPTIONAL]

    def __init__(self, estimator: Any, missing: float = np.nan) -> None:
        self.estimator = estimator
        self.missing = missing

    def _is_trained(self) -> bool:
        return hasattr(self, "estimator_")

    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        self.estimator_ = fit_learner(clone(self.estimator), self._features(X), y, weight)

    def _positive(self, X: Any) -> NDArray[np.floating]:
        return self.estimator_.predict_proba(self._features(X))[:, 1]

    def _features(self, X: Any) -> Any:
        features = sparse.csr_matrix(X) if sparse.issparse(X) else X
        values = features.data if sparse.issparse(features) else features
        is_missing = values == self.missing
        if not is_missing.any():
            return features
        features = features.copy()
        values = features.data if sparse.issparse(features) else features
        values[is_missing] = np.nan
        return features


@stored
class XGBModel(LabelModel):
    """A booster for one label.

    X can have additional numeric columns after those in `feature_types`.
    """

    booster_: Annotated[xgb.Booster, OPTIONAL]

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

    def _is_trained(self) -> bool:
        return hasattr(self, "booster_")

    def _check_state(self) -> None:
        super()._check_state()
        check_domain("nthread", self.params.get("nthread"), Threads())

    def _fit_rows(self, X: Any, y: NDArray[np.int64], weight: NDArray[Any] | None) -> None:
        self.booster_ = xgb.train(
            {**self.params, "objective": "binary:logistic"},
            self._matrix(X, label=y, weight=weight),
            num_boost_round=self.n_estimators,
        )

    def _positive(self, X: Any) -> NDArray[np.float32]:
        return self.booster_.predict(self._matrix(X))

    def _matrix(self, X: Any, **info: Any) -> xgb.DMatrix:
        # scikit-learn's chain creates sparse formats that XGBoost does not accept.
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
