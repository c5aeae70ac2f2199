"""Models of scikit-multilearn-ng, which take and give matrices of SciPy."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator


class Dense(BaseEstimator):
    """Such a model, trained on dense labels, with dense probabilities."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> None:
        """Train the model."""
        self.model.fit(_as_it_takes(X), sp.csr_matrix(Y))

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of labels, of shape (n_samples, n_labels)."""
        return np.asarray(self.model.predict_proba(_as_it_takes(X)).todense())


def _as_it_takes(X: Any) -> Any:
    return sp.csr_matrix(X) if sp.issparse(X) else X
