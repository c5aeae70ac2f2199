"""The features as the batched solver wants them: dense, complete, centred and uncorrelated.

An L2 penalty does not change when the features are rotated, and the intercept is (next to) free,
so models can be trained on centred, rotated features and mean the same. In the rotation to the
principal axes the Hessian of every logistic regression is close to a diagonal matrix, and the
solver needs a fraction of its iterations (``logistic.py``). No direction is left out.

Sparse features of large data stay as they are; centring would make them dense.
"""

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from xdcc.ctbn.logistic import Floats, Matrix

_MOST_ENTRIES = 2**25
"""Largest matrix that is made dense, 256 MiB."""

_MOST_AXES = 2048
"""Largest side of a Gram matrix whose axes are looked for."""


class Design:
    """Centring and rotation, learned on training rows.

    Attributes
    ----------
    mean : float array of shape (n_features,)
        Of the known values; a missing value (NaN) is the mean.
    axes : float array of shape (n_features, n_axes) or None
        Orthonormal; None leaves the features unrotated.
    keeps_sparse : bool
        Whether sparse rows are neither centred nor rotated.
    """

    _stored = MappingProxyType({"axes": Floats | None, "keeps_sparse": bool, "mean": Floats})

    def __init__(self, X: NDArray[np.floating] | sparse.csr_matrix) -> None:
        self.axes: Floats | None = None
        self.keeps_sparse = sparse.issparse(X) and X.shape[0] * X.shape[1] > _MOST_ENTRIES
        if self.keeps_sparse:
            self.mean = _sparse_means(sparse.csr_matrix(X, dtype=float))
            return
        dense = _dense(X)
        n_known = np.maximum(np.isfinite(dense).sum(axis=0), 1)
        self.mean = np.nansum(dense, axis=0) / n_known
        centred = self._centred(dense)
        n_samples, n_features = centred.shape
        if min(n_samples, n_features) > _MOST_AXES:
            return
        if n_features <= n_samples:
            self.axes = linalg.eigh(centred.T @ centred)[1]
        else:
            basis, triangle = linalg.qr(centred.T, mode="economic")
            self.axes = basis @ linalg.eigh(triangle @ triangle.T)[1]

    def transform(self, X: NDArray[np.floating] | sparse.csr_matrix) -> Matrix:
        """Centre and rotate rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        float array of shape (n_samples, n_axes), or (n_samples, n_features) if not rotated
            A CSR matrix if the training data stayed sparse and X is.
        """
        if self.keeps_sparse:
            return self._filled(sparse.csr_matrix(X, dtype=float))
        centred = self._centred(_dense(X))
        return centred if self.axes is None else centred @ self.axes

    def original(self, coef: Floats) -> Floats:
        """Coefficients and intercepts for the features as they were.

        Parameters
        ----------
        coef : float array of shape (n_axes + 2, n_models)
            As the solver gives them: coefficients, effect of the extra feature, intercept.

        Returns
        -------
        float array of shape (n_features + 2, n_models)
        """
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
