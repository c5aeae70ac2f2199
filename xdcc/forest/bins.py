"""``BinnedFeatures``: X as bytes, in the two forms in which trees search it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.features import Features
from xdcc.forest import _binning

SPARSE_SHARE = 0.2
"""A numeric feature is sparse if it differs from 0 in at most this share of the rows."""

MISSING = 255
"""The bin of a missing value."""


@dataclass(frozen=True)
class BinnedFeatures:
    """Features of the training rows as bins.

    Features are numbered anew: first the dense ones, which have a bin for each row, then the sparse
    ones, whose entries that are not 0 are stored by rows and by columns.

    Attributes
    ----------
    dense : uint8 array of shape (n_dense, n_rows)
        Bins of the dense features, `MISSING` for a missing value.
    is_category : uint8 array of shape (n_dense,)
        Whether a dense feature is discrete; its bins are its categories then.
    feature : int32 array of shape (n_dense + n_sparse,)
        Columns of X.
    has_missing : uint8 array of shape (n_dense + n_sparse,)
        Whether a feature has missing values.
    low, high : float32 arrays
        Least and largest value in each bin, one feature after the other.
    start : int64 array of shape (n_dense + n_sparse + 1,)
        Feature f has the bins from ``start[f]`` to ``start[f + 1]``.
    row_start, row_feature, row_bin : int64, int32 and uint8 arrays
        Stored entries by rows; sparse features are numbered from 0.
    column_start, column_row, column_bin : int64, int32 and uint8 arrays
        The same entries by columns.
    default : uint8 array of shape (n_sparse,)
        Bin of zero.
    is_binary : bool
        Whether all sparse features have two bins and no missing values.
    category_value, category_start, category_bin : float32, int32 and uint8 arrays
        Values of the discrete columns of X and their bins: column c has those from
        ``category_start[c]`` to ``category_start[c + 1]``.
    """

    dense: NDArray[np.uint8]
    is_category: NDArray[np.uint8]
    feature: NDArray[np.int32]
    has_missing: NDArray[np.uint8]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    start: NDArray[np.int64]
    row_start: NDArray[np.int64]
    row_feature: NDArray[np.int32]
    row_bin: NDArray[np.uint8]
    column_start: NDArray[np.int64]
    column_row: NDArray[np.int32]
    column_bin: NDArray[np.uint8]
    default: NDArray[np.uint8]
    is_binary: bool
    category_value: NDArray[np.float32]
    category_start: NDArray[np.int32]
    category_bin: NDArray[np.uint8]


def bin_features(
    X: Features, categorical: NDArray[np.bool_], max_bin: int, n_threads: int
) -> BinnedFeatures:
    """Divide features into bins of about equally many rows.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_rows, n_features)
        Checked features; NaN is a missing value, what a sparse X does not store is 0.
    categorical : bool array of shape (n_features,)
        Which features are discrete.
    max_bin : int
        Most bins of a feature, from 3 to 255. If a discrete feature has more values, the rarest
        ones share a bin.
    n_threads : int
        Number of threads.

    Returns
    -------
    BinnedFeatures
    """
    n_rows, n_features = X.shape
    columns: Any = X
    if sparse.issparse(X):
        columns = sparse.csc_matrix(X)
        columns.eliminate_zeros()
        stored = np.diff(columns.indptr)
    else:
        stored = np.count_nonzero(X, axis=0)
    is_sparse = (stored <= SPARSE_SHARE * n_rows) & ~categorical
    dense_columns, sparse_columns = np.flatnonzero(~is_sparse), np.flatnonzero(is_sparse)
    values = _dense_values(columns, dense_columns)
    bins, low, high, start = _binning.bin_dense(values, max_bin, n_threads)
    category_value, category_start = category_values(columns, categorical)
    category_bin = np.zeros(len(category_value), np.uint8)
    for number in np.flatnonzero(categorical[dense_columns]).tolist():
        column = int(dense_columns[number])
        part = slice(category_start[column], category_start[column + 1])
        bins[number], category_bin[part] = _bin_categories(
            values[number], category_value[part], max_bin
        )
    entries = sparse.csc_matrix(columns[:, sparse_columns])
    column_bin, default, low_sparse, high_sparse, start_sparse = _binning.bin_sparse(
        entries.data, entries.indptr.astype(np.int64), max_bin
    )
    by_rows = sparse.csr_matrix(
        sparse.csc_matrix((column_bin, entries.indices, entries.indptr), shape=entries.shape)
    )
    missing_entries = np.add.reduceat(
        np.append(column_bin == MISSING, False), entries.indptr[:-1], dtype=np.int64
    ) * (np.diff(entries.indptr) > 0)
    has_missing = np.concatenate(((bins == MISSING).any(axis=1), missing_entries > 0))
    n_bins = np.diff(start_sparse)
    return BinnedFeatures(
        dense=bins,
        is_category=categorical[dense_columns].astype(np.uint8),
        feature=np.concatenate((dense_columns, sparse_columns)).astype(np.int32),
        has_missing=has_missing.astype(np.uint8),
        low=np.concatenate((low, low_sparse)),
        high=np.concatenate((high, high_sparse)),
        start=np.concatenate((start, start[-1] + start_sparse[1:])),
        row_start=by_rows.indptr.astype(np.int64),
        row_feature=by_rows.indices.astype(np.int32),
        row_bin=by_rows.data,
        column_start=entries.indptr.astype(np.int64),
        column_row=entries.indices.astype(np.int32),
        column_bin=column_bin,
        default=default,
        is_binary=bool((n_bins <= 2).all() and not missing_entries.any()),
        category_value=category_value,
        category_start=category_start,
        category_bin=category_bin,
    )


def _dense_values(X: Any, columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Columns of X, one after the other."""
    if sparse.issparse(X):
        return np.ascontiguousarray(X[:, columns].toarray().T, dtype=np.float32)
    return np.ascontiguousarray(X.T if len(columns) == X.shape[1] else X[:, columns].T)


def _bin_categories(
    values: NDArray[np.float32], categories: NDArray[np.float32], max_bin: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Bins of a discrete feature's rows and of its categories."""
    known = ~np.isnan(values)
    number = np.searchsorted(categories, values[known])
    bin_of = np.arange(len(categories))
    if len(categories) > max_bin:
        counts = np.bincount(number, minlength=len(categories))
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        bin_of = np.minimum(rank, max_bin - 1)
    bins = np.full(len(values), MISSING, np.uint8)
    bins[known] = bin_of[number]
    return bins, bin_of.astype(np.uint8)
