"""XGBoost as the model of one label."""

from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc.baselines.label_model import LabelModel


class XGBModel(LabelModel):
    """A booster for one label.

    X may have further columns, numbers, after those that `feature_types` describes.
    """

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
