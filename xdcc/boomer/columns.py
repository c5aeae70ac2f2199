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
        # Columns with ascending rows: the stable sort then leaves equal values in that order.
        columns: Any = sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)
        rows, values = [], []
        for feature in range(n_features):
            row, value = _stored(columns, feature)
            order = np.argsort(value, kind="stable")
            rows.append(row[order])
            values.append(value[order])
        start = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        missing = [np.count_nonzero(np.isnan(value)) for value in values]
        known = [value[: len(value) - n] for value, n in zip(values, missing, strict=True)]
        n_distinct = [bool(len(v)) + np.count_nonzero(v[1:] != v[:-1]) for v in known]
        return cls(
            start,
            start[1:] - np.array(missing, np.int64),
            np.concatenate(rows).astype(np.int32),
            np.concatenate(values).astype(np.float32),
            nominal.astype(np.uint8),
            np.array(n_distinct, np.int64),
        )


def _stored(columns: Any, feature: int) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
    """Rows and values of a column that are not 0."""
    if not sparse.issparse(columns):
        row = np.flatnonzero(columns[:, feature])
        return row, columns[row, feature]
    entries = slice(*columns.indptr[feature : feature + 2])
    row, value = columns.indices[entries], columns.data[entries]
    return row[value != 0], value[value != 0]
