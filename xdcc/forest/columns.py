"""``FeatureColumns``: X in the two forms in which trees search it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.features import Features

SPARSE_SHARE = 0.2
"""A numeric feature is sparse if it differs from 0 in at most this share of the rows."""

MISSING = np.iinfo(np.int32).max
"""The key of a missing value."""

MAX_CATEGORIES = 255
"""Most categories of a feature that are told apart; the rarest of more have one number."""

MISSING_CATEGORY = 255
"""The number of a missing category."""


@dataclass(frozen=True)
class FeatureColumns:
    """Features of the training rows by columns.

    Features are numbered anew: first the dense ones, which have a key for each row, then the sparse
    ones, whose entries that are not 0 are stored by rows and by columns.

    Attributes
    ----------
    dense : int32 array of shape (n_dense, n_rows)
        Keys of the values of dense features (:func:`order_keys`); numbers of categories,
        `MISSING_CATEGORY` for a missing one.
    is_category : uint8 array of shape (n_dense,)
        Whether a dense feature is discrete.
    feature : int32 array of shape (n_dense + n_sparse,)
        Columns of X.
    has_missing : uint8 array of shape (n_dense + n_sparse,)
        Whether a feature has missing values.
    least, largest : float32 arrays of shape (n_sparse,)
        Range of the values of a sparse feature, 0 among them.
    row_start, row_feature, row_value : int64, int32 and float32 arrays
        Stored entries by rows; sparse features are numbered from 0.
    column_start, column_row, column_value : int64, int32 and float32 arrays
        The same entries by columns.
    is_binary : bool
        Whether no sparse feature has more than two values or missing ones.
    category_value, category_start, category_number : float32, int32 and uint8 arrays
        Values of the discrete columns of X and their numbers: column c has those from
        ``category_start[c]`` to ``category_start[c + 1]``.
    """

    dense: NDArray[np.int32]
    is_category: NDArray[np.uint8]
    feature: NDArray[np.int32]
    has_missing: NDArray[np.uint8]
    least: NDArray[np.float32]
    largest: NDArray[np.float32]
    row_start: NDArray[np.int64]
    row_feature: NDArray[np.int32]
    row_value: NDArray[np.float32]
    column_start: NDArray[np.int64]
    column_row: NDArray[np.int32]
    column_value: NDArray[np.float32]
    is_binary: bool
    category_value: NDArray[np.float32]
    category_start: NDArray[np.int32]
    category_number: NDArray[np.uint8]


def order_keys(values: NDArray[np.float32]) -> NDArray[np.int32]:
    """Whole numbers in the order of float32 values; `MISSING` for NaN.

    Parameters
    ----------
    values : float32 array
        Of any shape, without infinity.

    Returns
    -------
    int32 array of the same shape
        A key is the bits of a value, all but the sign inverted where the value is negative.

    Examples
    --------
    >>> order_keys(np.array([-2, -0.0, 0.0, 2], np.float32))
    array([-1073741825,           0,           0,  1073741824], dtype=int32)
    """
    bits = (values + np.float32(0)).view(np.int32)
    keys = bits ^ ((bits >> 31) & MISSING)
    keys[np.isnan(values)] = MISSING
    return keys


def feature_columns(X: Features, categorical: NDArray[np.bool_]) -> FeatureColumns:
    """Bring features into the form in which trees search them.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_rows, n_features)
        Checked features; NaN is a missing value, what a sparse X does not store is 0.
    categorical : bool array of shape (n_features,)
        Which features are discrete.

    Returns
    -------
    FeatureColumns
    """
    columns: Any = X
    if sparse.issparse(X):
        columns = sparse.csc_matrix(X)
        columns.eliminate_zeros()
        stored = np.diff(columns.indptr)
    else:
        stored = np.count_nonzero(X, axis=0)
    is_sparse = (stored <= SPARSE_SHARE * X.shape[0]) & ~categorical
    of_dense, of_sparse = np.flatnonzero(~is_sparse), np.flatnonzero(is_sparse)
    values = _values(columns, of_dense)
    dense = order_keys(values)
    category_value, category_start = category_values(columns, categorical)
    category_number = np.zeros(len(category_value), np.uint8)
    for number in np.flatnonzero(categorical[of_dense]).tolist():
        column = int(of_dense[number])
        part = slice(category_start[column], category_start[column + 1])
        dense[number], category_number[part] = _number_categories(
            values[number], category_value[part]
        )
    entries = sparse.csc_matrix(columns[:, of_sparse])
    by_rows = sparse.csr_matrix(entries)
    least, largest, is_binary = _ranges(entries)
    is_missing = np.isnan(entries.data)
    missing_in = np.zeros(len(of_sparse), bool)
    missing_in[np.repeat(np.arange(len(of_sparse)), np.diff(entries.indptr))[is_missing]] = True
    return FeatureColumns(
        dense=dense,
        is_category=categorical[of_dense].astype(np.uint8),
        feature=np.concatenate((of_dense, of_sparse)).astype(np.int32),
        has_missing=np.append(np.isnan(values).any(axis=1), missing_in).astype(np.uint8),
        least=least,
        largest=largest,
        row_start=by_rows.indptr.astype(np.int64),
        row_feature=by_rows.indices.astype(np.int32),
        row_value=by_rows.data,
        column_start=entries.indptr.astype(np.int64),
        column_row=entries.indices.astype(np.int32),
        column_value=entries.data,
        is_binary=bool(is_binary and not is_missing.any()),
        category_value=category_value,
        category_start=category_start,
        category_number=category_number,
    )


def _values(X: Any, columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Columns of X, one after the other."""
    if sparse.issparse(X):
        return np.ascontiguousarray(X[:, columns].toarray().T, dtype=np.float32)
    return np.ascontiguousarray(X.T if len(columns) == X.shape[1] else X[:, columns].T)


def _ranges(X: Any) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Range of each column, 0 included, and whether no column stores two different values."""
    extremes = np.zeros((2, X.shape[1]), np.float32)
    filled = np.flatnonzero(np.diff(X.indptr))
    first = X.indptr[filled]
    if not len(filled):
        return extremes[0], extremes[1], True
    least, largest = np.fmin.reduceat(X.data, first), np.fmax.reduceat(X.data, first)
    extremes[0, filled], extremes[1, filled] = np.fmin(least, 0), np.fmax(largest, 0)
    return extremes[0], extremes[1], bool((least == largest).all())


def _number_categories(
    values: NDArray[np.float32], categories: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Numbers of a discrete feature's rows, and of its categories."""
    known = ~np.isnan(values)
    position = np.searchsorted(categories, values[known])
    number = np.arange(len(categories))
    if len(categories) > MAX_CATEGORIES:
        counts = np.bincount(position, minlength=len(categories))
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        number = np.minimum(rank, MAX_CATEGORIES - 1)
    numbers = np.full(len(values), MISSING_CATEGORY, np.int32)
    numbers[known] = number[position]
    return numbers, number.astype(np.uint8)
