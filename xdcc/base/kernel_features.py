"""Checked features in the form that the Cython kernels take.

A kernel reads X as a dense array or as the three arrays of a sparse one, and discrete features by
the sorted list of their values.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features


def kernel_rows(X: Features) -> tuple[Any, Any, int, int]:
    """Put X into the form that the kernels take.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Checked features.

    Returns
    -------
    tuple
        The dense array or None, the parts of the sparse one or None, numbers of rows and columns.
    """
    return None if sparse.issparse(X) else X, sparse_parts(X), *X.shape


def sparse_parts(X: Any) -> Any:
    """Take a compressed sparse matrix apart, with the kernels' integer types.

    Parameters
    ----------
    X : array or sparse matrix
        Checked features.

    Returns
    -------
    tuple of (data, int32 indices, int64 indptr) or None
        None if X is not sparse.
    """
    if not sparse.issparse(X):
        return None
    return X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64)


def category_values(
    X: Any, categorical: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Find the values of the discrete features.

    Parameters
    ----------
    X : float32 array or CSC matrix of shape (n_samples, n_features)
        Checked features; what a sparse X does not store is 0.
    categorical : bool array of shape (n_features,)
        Which features are discrete.

    Returns
    -------
    values : float32 array
        Distinct values of each discrete feature, sorted, one feature after the other.
    start : int32 array of shape (n_features + 1,)
        Feature f has the values from ``start[f]`` to ``start[f + 1]``; none if it is a number.
    """
    values = [np.empty(0, np.float32)]
    sizes = np.zeros(len(categorical) + 1, np.int32)
    for feature in np.flatnonzero(categorical).tolist():
        column = _column(X, feature)
        values.append(np.unique(column[~np.isnan(column)]))
        sizes[feature + 1] = len(values[-1])
    return np.concatenate(values), np.cumsum(sizes, dtype=np.int32)


def _column(X: Any, feature: int) -> NDArray[np.float32]:
    if not sparse.issparse(X):
        return np.asarray(X[:, feature])
    stored = X.data[X.indptr[feature] : X.indptr[feature + 1]]
    # A value that is not stored somewhere is 0, which is enough to find the distinct values.
    return stored if len(stored) == X.shape[0] else np.append(stored, np.float32(0))
