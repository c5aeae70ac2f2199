"""``FeatureColumns``: X in the two forms in which trees search it."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.workers import from_all, sum_of_all
from xdcc.forest import _binning

SPARSE_SHARE = 0.2
"""A numeric feature is sparse if it differs from 0 in at most this share of the rows."""

MISSING = 255
"""The bin of a missing value."""


@dataclass(frozen=True)
class FeatureColumns:
    """Features of the training rows by columns.

    Features are numbered anew: first the dense ones, which have a bin for each row, then the sparse
    ones, whose entries that are not 0 are stored by rows and by columns.

    Attributes
    ----------
    dense : uint8 array of shape (n_dense, n_rows)
        Bins of the dense features, `MISSING` for a missing value.
    edge, edge_start : float32 array, int64 array of shape (n_dense + 1,)
        Edges between the bins of dense feature f: from ``edge_start[f]`` to ``edge_start[f + 1]``.
    is_category : uint8 array of shape (n_dense,)
        Whether a dense feature is discrete; its bins are categories then.
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
    category_value, category_start, category_bin : float32, int32 and uint8 arrays
        Values of the discrete columns of X and their bins: column c has those from
        ``category_start[c]`` to ``category_start[c + 1]``.
    """

    dense: NDArray[np.uint8]
    edge: NDArray[np.float32]
    edge_start: NDArray[np.int64]
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
    category_bin: NDArray[np.uint8]


@dataclass(frozen=True)
class CategoryBins:
    """Bins of the discrete features' values, the same for workers that train together.

    Attributes
    ----------
    value, start, bin : float32, int32 and uint8 arrays
        Column c of X has the values from ``start[c]`` to ``start[c + 1]``, in these bins.
    """

    value: NDArray[np.float32]
    start: NDArray[np.int32]
    bin: NDArray[np.uint8]

    @classmethod
    def of(cls, X: Features, categorical: NDArray[np.bool_], max_bin: int) -> Self:
        """Put the values that occur in bins of their own; the rarest of too many share one."""
        columns = sparse.csc_matrix(X) if sparse.issparse(X) else X
        values, bins = [np.empty(0, np.float32)], [np.empty(0, np.uint8)]
        sizes = np.zeros(len(categorical) + 1, np.int32)
        for column in np.flatnonzero(categorical).tolist():
            of_rows = _values(columns, np.array([column]))[0]
            known = of_rows[~np.isnan(of_rows)]
            values.append(np.unique(np.concatenate(from_all(np.unique(known)))))
            position = np.searchsorted(values[-1], known)
            counts = sum_of_all(np.bincount(position, minlength=len(values[-1])))
            rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
            bins.append(np.minimum(rank, max_bin - 1).astype(np.uint8))
            sizes[column + 1] = len(values[-1])
        return cls(np.concatenate(values), np.cumsum(sizes, dtype=np.int32), np.concatenate(bins))

    def bins_of(self, column: int, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Get the bins of a column's values in rows, `MISSING` for NaN."""
        part = slice(self.start[column], self.start[column + 1])
        known = ~np.isnan(values)
        bins = np.full(len(values), MISSING, np.uint8)
        bins[known] = self.bin[part][np.searchsorted(self.value[part], values[known])]
        return bins


def are_sparse(X: Features, categorical: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which features are sparse, `(n_features,)`; NaN is not 0, a stored 0 is."""
    if isinstance(X, sparse.csr_matrix):
        stored = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    else:
        stored = np.count_nonzero(X, axis=0)
    return np.asarray((stored <= SPARSE_SHARE * X.shape[0]) & ~categorical)


def feature_columns(
    X: Features,
    is_sparse: NDArray[np.bool_],
    categories: CategoryBins,
    max_bin: int,
    n_threads: int,
) -> FeatureColumns:
    """Bring features into the form in which trees search them.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_rows, n_features)
        Checked features; NaN is a missing value, what a sparse X does not store is 0.
    is_sparse : bool array of shape (n_features,)
        Which features are sparse.
    categories : CategoryBins
        Bins of the discrete features.
    max_bin : int
        Most bins of the other dense features, at most 255.
    n_threads : int
        Number of threads.

    Returns
    -------
    FeatureColumns
    """
    columns: Any = X
    if sparse.issparse(X):
        columns = sparse.csc_matrix(X)
        columns.eliminate_zeros()
    categorical = np.diff(categories.start) > 0
    of_dense, of_sparse = np.flatnonzero(~is_sparse), np.flatnonzero(is_sparse)
    values = _values(columns, of_dense)
    dense, edge, edge_start = _binning.bin_columns(values, max_bin, n_threads)
    for number in np.flatnonzero(categorical[of_dense]).tolist():
        dense[number] = categories.bins_of(int(of_dense[number]), values[number])
    entries = sparse.csc_matrix(columns[:, of_sparse])
    by_rows = sparse.csr_matrix(entries)
    least, largest, is_binary = _ranges(entries)
    is_missing = np.isnan(entries.data)
    missing_in = np.zeros(len(of_sparse), bool)
    missing_in[np.repeat(np.arange(len(of_sparse)), np.diff(entries.indptr))[is_missing]] = True
    return FeatureColumns(
        dense=dense,
        edge=edge,
        edge_start=edge_start,
        is_category=categorical[of_dense].astype(np.uint8),
        feature=np.concatenate((of_dense, of_sparse)).astype(np.int32),
        has_missing=np.append((dense == MISSING).any(axis=1), missing_in).astype(np.uint8),
        least=least,
        largest=largest,
        row_start=by_rows.indptr.astype(np.int64),
        row_feature=by_rows.indices.astype(np.int32),
        row_value=by_rows.data,
        column_start=entries.indptr.astype(np.int64),
        column_row=entries.indices.astype(np.int32),
        column_value=entries.data,
        is_binary=bool(is_binary and not is_missing.any()),
        category_value=categories.value,
        category_start=categories.start,
        category_bin=categories.bin,
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
