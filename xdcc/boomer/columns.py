"""``SortedColumns``: every attribute's values in order, sorted once per training.

Only values that are neither 0 nor missing are stored with their order, so a sparse X stays sparse
and a dense one with many zeros becomes so; the search gets the rows whose value is 0 by
subtraction. Missing values follow at the end of a column, where the search leaves them out.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.validation import Features


class SortedColumns(NamedTuple):
    """Columns of X, one after the other.

    Attributes
    ----------
    start : int64 array of shape (n_features + 1,)
        Attribute `f` has the entries ``start[f]`` to ``start[f + 1]``.
    known_end : int64 array of shape (n_features,)
        From here on the values of attribute `f` are missing.
    row : int32 array of shape (n_entries,)
        Row of each entry.
    value : float32 array of shape (n_entries,)
        Its value: ascending within an attribute, equal ones by row; NaN is missing.
    nominal : uint8 array of shape (n_features,)
        Whether conditions compare for equality.
    n_distinct : int64 array of shape (n_features,)
        Different values that are stored.
    """

    start: NDArray[np.int64]
    known_end: NDArray[np.int64]
    row: NDArray[np.int32]
    value: NDArray[np.float32]
    nominal: NDArray[np.uint8]
    n_distinct: NDArray[np.int64]

    @classmethod
    def of(cls, X: Features, nominal: NDArray[np.bool_]) -> Self:
        """Sort the columns of a matrix.

        Parameters
        ----------
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            NaN is a missing value; what a sparse X does not store is 0.
        nominal : bool array of shape (n_features,)
            Which attributes are nominal.

        Returns
        -------
        SortedColumns
        """
        n_features = X.shape[1]
        if sparse.issparse(X):
            entries: Any = sparse.coo_matrix(X)
            stored = entries.data != 0
            row, column, value = (part[stored] for part in (entries.row, entries.col, entries.data))
        else:
            column, row = np.nonzero(X.T)
            value = X[row, column]
        order = np.lexsort((row, value, column))
        value = value[order]
        start = np.zeros(n_features + 1, np.int64)
        np.cumsum(np.bincount(column, minlength=n_features), out=start[1:])
        column = column[order]
        missing = np.bincount(column[np.isnan(value)], minlength=n_features)
        new = np.ones(len(value), bool)
        new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
        n_distinct = np.bincount(column[new], minlength=n_features)
        return cls(
            start,
            start[1:] - missing,
            row[order].astype(np.int32),
            value.astype(np.float32),
            nominal.astype(np.uint8),
            n_distinct.astype(np.int64),
        )
