"""The check of X, and the form in which estimators get it.

A sparse X needs two more checks. Its arrays must fit together (:func:`check_sparse_structure`):
neither SciPy nor XGBoost nor the kernels check an index beyond the last column, which would read
beyond the end of an array. And entries that X does not store need a meaning
(`_settle_sparse_zeros`): XGBoost takes them for missing values, scikit-learn for zeros. If you
fit on one form of X and predict on the other, predictions would silently be wrong. So estimators on
XGBoost have a parameter for it, `sparse_zeros`, which only this module uses.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from xdcc.base.categories import encode_categories
from xdcc.base.frames import as_pandas

type Features = NDArray[np.float32] | sparse.csr_matrix


def check_features(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Features:
    """Check X.

    Parameters
    ----------
    estimator : MultiLabelEstimator
        A fitted one, unless `reset`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Numbers, and categories in a DataFrame if the estimator takes them; NaN is a missing
        value, and so is a category that did not occur in fit. The DataFrame may be one of
        pandas, Polars, PyArrow or any other that :func:`~xdcc.base.frames.as_pandas` reads.
    reset : bool, default=False
        Whether to set `n_features_in_`, `feature_names_in_`, `categories_` and `sparse_X_`
        instead of comparing with them.

    Returns
    -------
    float32 array or CSR matrix of shape (n_samples, n_features)
        Categories as their positions in `categories_`. A sparse matrix comes back with sorted
        indices and without duplicates, or as an array if its zeros are to be zeros
        (:mod:`xdcc.base.features`).

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
    X = as_pandas(X)
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
    return _settle_sparse_zeros(estimator, checked, reset=reset)


def check_sparse_structure(name: str, matrix: Any) -> None:
    """Raise a ValueError if a sparse matrix has an index out of bounds; messages call it `name`.

    Only CSR, CSC and COO matrices are looked at; others are made of Python numbers or are checked
    by SciPy when they are converted.

    Examples
    --------
    >>> matrix = sparse.csr_matrix(np.eye(2))
    >>> matrix.indices[1] = 7
    >>> check_sparse_structure("X", matrix)
    Traceback (most recent call last):
    ValueError: X is a broken sparse matrix: entry 1 has the column 7, outside 0 to 1.
    """
    if not sparse.issparse(matrix) or matrix.ndim != 2:
        return
    n_rows, n_columns = matrix.shape
    if matrix.format == "coo":
        _check_indices(name, "row", matrix.row, n_rows)
        _check_indices(name, "column", matrix.col, n_columns)
    elif matrix.format in ("csr", "csc"):
        major, minor = ("row", "column") if matrix.format == "csr" else ("column", "row")
        n_major, n_minor = (n_rows, n_columns) if major == "row" else (n_columns, n_rows)
        _check_pointers(name, major, matrix.indptr, n_major, matrix.indices, matrix.data)
        _check_indices(name, minor, matrix.indices[: matrix.indptr[-1]], n_minor)


def _check_pointers(
    name: str, axis: str, indptr: Any, n_major: int, indices: Any, data: Any
) -> None:
    broken = f"{name} is a broken sparse matrix: "
    if len(indptr) != n_major + 1:
        raise ValueError(f"{broken}indptr has {len(indptr)} entries for {n_major} {axis}s.")
    descents = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or len(descents):
        at = int(descents[0]) if len(descents) else 0
        raise ValueError(
            f"{broken}indptr goes from {indptr[at]} to {indptr[at + 1]} in {axis} {at}; it must "
            "begin with 0 and not descend."
        )
    n_entries = min(len(indices), len(data))
    if indptr[-1] > n_entries:
        at = int(np.argmax(indptr > n_entries)) - 1
        raise ValueError(
            f"{broken}{axis} {at} ends at entry {indptr[at + 1]}, but there are {n_entries}."
        )


def _check_indices(name: str, axis: str, indices: Any, size: int) -> None:
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return
    at = int(np.argmax((indices < 0) | (indices >= size)))
    raise ValueError(
        f"{name} is a broken sparse matrix: entry {at} has the {axis} {indices[at]}, outside 0 to "
        f"{size - 1}."
    )


SparseZeros = Literal["missing", "zero"]

SPARSE_ZEROS: tuple[str, ...] = get_args(SparseZeros)
"""The two meanings of an entry that a sparse X does not store."""


def _settle_sparse_zeros(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Give X the form in which entries that are not stored mean what `sparse_zeros` says."""
    meaning = estimator._sparse_zeros()
    if meaning is None:
        return X
    if meaning == "zero" and sparse.issparse(X):
        X = X.toarray(order="C")
    if reset:
        estimator.sparse_X_ = sparse.issparse(X)
    elif estimator.sparse_X_ != sparse.issparse(X):
        found, before = ("sparse", "dense") if sparse.issparse(X) else ("dense", "sparse")
        raise ValueError(
            f"X is {found}, but in fit it was {before}. With sparse_zeros='missing' an entry that "
            "a sparse X does not store is a missing value, where a dense X would have a zero, and "
            "trees tell the two apart. Fit with sparse_zeros='zero' if both mean a zero, or give X "
            "the form that it had in fit."
        )
    return X
