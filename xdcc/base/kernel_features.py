"""The values of discrete features, as the Cython kernels take them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


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

    Examples
    --------
    >>> X = np.array([[0.5, 3], [1.5, 7], [2.5, 3]], dtype=np.float32)
    >>> category_values(X, np.array([False, True]))
    (array([3., 7.], dtype=float32), array([0, 0, 2], dtype=int32))
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
