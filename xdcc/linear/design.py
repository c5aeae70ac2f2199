"""Preprocessing of features for the batched solver: dense, imputed, centred and uncorrelated.

Rotating the features does not change an L2 penalty, and the intercept is almost free, so models on
centred and rotated features are equivalent. In the rotation to the principal axes, the Hessian of
each logistic regression is nearly diagonal, and the solver needs a fraction of the iterations
(``logistic.py``). All axes are kept.

Large sparse data stay as they are, since centring would make them dense.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from xgboost import collective

from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.base.workers import of_first, rows_of_all, sum_of_all
from xdcc.linear.logistic import Floats, Matrix

_MOST_ENTRIES = 2**25
"""Maximum number of entries of a matrix that is made dense, 256 MiB."""

MOST_AXES = 2048
"""Maximum size of a Gram matrix for an eigendecomposition."""


@stored
class Design:
    """Centring and rotation, learned on training rows.

    `mean` (n_features,) are the means of the known values, which replace missing values. `axes`
    (n_features, n_axes) are orthonormal; None means no rotation. With `keeps_sparse`, sparse rows
    are neither centred nor rotated.
    """

    axes: Annotated[Floats | None, Shape("mean", None)]
    keeps_sparse: bool
    mean: Annotated[Floats, Shape(None)]

    def __init__(self, X: NDArray[np.floating] | sparse.csr_matrix) -> None:
        self.axes = None
        self.keeps_sparse = sparse.issparse(X) and X.shape[0] * X.shape[1] > _MOST_ENTRIES
        if self.keeps_sparse:
            self.mean = _sparse_means(sparse.csr_matrix(X, dtype=float))
            return
        dense = _dense(X)
        n_known = np.maximum(sum_of_all(np.isfinite(dense).sum(axis=0)), 1)
        self.mean = sum_of_all(np.nansum(dense, axis=0)) / n_known
        centred = self._centred(dense)
        n_samples, n_features = rows_of_all(len(centred))[1], centred.shape[1]
        by_features = n_features <= n_samples or collective.is_distributed()
        if (n_features if by_features else n_samples) > MOST_AXES:
            return
        if by_features:
            self.axes = of_first(linalg.eigh(sum_of_all(centred.T @ centred))[1])
        else:
            basis, triangle = linalg.qr(centred.T, mode="economic")
            self.axes = basis @ linalg.eigh(triangle @ triangle.T)[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of transformed rows."""
        return len(self.mean) if self.axes is None else int(self.axes.shape[1])

    def transform(self, X: NDArray[np.floating] | sparse.csr_matrix) -> Matrix:
        """Impute missing values, then centre and rotate rows."""
        if self.keeps_sparse:
            return self._filled(sparse.csr_matrix(X, dtype=float))
        centred = self._centred(_dense(X))
        return centred if self.axes is None else centred @ self.axes

    def original(self, coef: Floats) -> Floats:
        """Convert coefficients (n_axes + 2, n_models) to those of the original features."""
        if self.keeps_sparse:
            return coef
        weights = coef[:-2] if self.axes is None else self.axes @ coef[:-2]
        return np.vstack((weights, coef[-2], coef[-1] - self.mean @ weights))

    def _centred(self, dense: Floats) -> Floats:
        return np.where(np.isnan(dense), 0.0, dense - self.mean)

    def _filled(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        missing = np.isnan(X.data)
        if missing.any():
            X = X.copy()
            X.data[missing] = self.mean[X.indices[missing]]
        return X


def _sparse_means(X: sparse.csr_matrix) -> Floats:
    missing = np.isnan(X.data)
    n_missing = np.bincount(X.indices[missing], minlength=X.shape[1])
    sums = np.bincount(X.indices[~missing], X.data[~missing], minlength=X.shape[1])
    return sums / np.maximum(X.shape[0] - n_missing, 1)


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
