"""A scikit-learn classifier as the model of one label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from xdcc.baselines.label_model import LabelModel
from xdcc.baselines.learner import fit_learner


class EstimatorModel(LabelModel):
    """A copy of `estimator` for one label; it sees NaN where X holds `missing`."""

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
