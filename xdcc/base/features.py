"""The check of X: what every estimator takes as features, and the form in which it gets them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from xdcc.base.categories import encode_categories
from xdcc.base.sparse_structure import check_sparse_structure
from xdcc.base.sparse_zeros import settle_sparse_zeros

type Features = NDArray[np.float32] | sparse.csr_matrix


def check_features(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Features:
    """Check X.

    Parameters
    ----------
    estimator : MultiLabelEstimator
        A fitted one, unless `reset`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Numbers, and categories in a DataFrame if the estimator takes them; NaN is a missing
        value, and so is a category that did not occur in fit.
    reset : bool, default=False
        Whether to set `n_features_in_`, `feature_names_in_`, `categories_` and `sparse_X_`
        instead of comparing with them.

    Returns
    -------
    float32 array or CSR matrix of shape (n_samples, n_features)
        Categories as their positions in `categories_`. A sparse matrix comes back with sorted
        indices and without duplicates, or as an array if its zeros are to be zeros
        (:mod:`xdcc.base.sparse_zeros`).

    Raises
    ------
    ValueError
        If X is empty, holds infinity or text, or categories that the estimator does not take, is
        a sparse matrix that points outside itself, or has other columns than in fit: another
        number, other names, other types; or is sparse where a missing entry could be mistaken.

    Examples
    --------
    >>> from xdcc.base.estimator import MultiLabelEstimator
    >>> estimator = MultiLabelEstimator()
    >>> check_features(estimator, [[1, np.nan], [3, 4]], reset=True)
    array([[ 1., nan],
           [ 3.,  4.]], dtype=float32)
    >>> check_features(estimator, [[1], [2]])
    Traceback (most recent call last):
    ValueError: X has 1 features, but MultiLabelEstimator is expecting 2 features as input.
    """
    check_sparse_structure("X", X)
    checked = validate_data(
        estimator,
        encode_categories(estimator, X, reset=reset),
        reset=reset,
        accept_sparse="csr",
        dtype=np.float32,
        order="C",
        ensure_all_finite="allow-nan",
    )
    if sparse.issparse(checked):
        # XGBoost predicts in place from csr_matrix only, not from csr_array.
        checked = sparse.csr_matrix(checked)
        if not checked.has_canonical_format:
            checked = checked.copy()
            checked.sum_duplicates()
    return settle_sparse_zeros(estimator, checked, reset=reset)
