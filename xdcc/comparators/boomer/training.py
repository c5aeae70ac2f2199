"""Input of the training kernel: the sorted columns of X and the settings of the rules.

Each attribute is sorted once per fit. Zeros are not stored, so a sparse X stays sparse and a dense
X with many zeros becomes sparse; the search obtains the sums of zero rows by subtraction. Missing
values are stored at the end of a column, and the search skips them.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features


class RuleSettings(NamedTuple):
    """Checked settings of a fit."""

    loss: str
    complete: bool  # heads predict all labels; otherwise one
    l2: float  # positive
    learning_rate: float
    bootstrap: bool
    n_attributes: int  # drawn for each condition
    bin_share: float  # label bins per label of the same sign, 0 for no bins
    max_conditions: int  # -1 for no limit
    min_coverage: int  # rows of the sample


class SortedColumns(NamedTuple):
    """The columns of X in compressed form, each sorted by value; equal values are sorted by row.

    Attribute `f` has the entries ``start[f]`` to ``start[f + 1]``; from ``known_end[f]`` on, its
    values are missing.
    """

    start: NDArray[np.int64]  # (n_features + 1,)
    known_end: NDArray[np.int64]  # (n_features,)
    row: NDArray[np.int32]  # (n_entries,)
    value: NDArray[np.float32]  # (n_entries,)
    nominal: NDArray[np.uint8]  # (n_features,)
    n_distinct: NDArray[np.int64]  # (n_features,) number of distinct stored values

    @classmethod
    def of(cls, X: Features, nominal: NDArray[np.bool_]) -> Self:
        """Sort the columns of X; `nominal` (n_features,) marks the nominal attributes."""
        # Rows ascend within a column, and the stable sort keeps that order for equal values.
        columns: Any = sparse.csc_matrix(X, copy=True)
        columns.eliminate_zeros()
        columns.sort_indices()
        start, row, value = columns.indptr.astype(np.int64), columns.indices, columns.data
        for feature in _unsorted(start, value):
            entries = slice(*start[feature : feature + 2])
            order = np.argsort(value[entries], kind="stable")
            row[entries], value[entries] = row[entries][order], value[entries][order]
        feature_of = np.repeat(np.arange(len(nominal)), np.diff(start))
        is_missing = np.isnan(value)
        is_new = ~is_missing
        is_new[1:] &= (value[1:] != value[:-1]) | (feature_of[1:] != feature_of[:-1])
        return cls(
            start,
            start[1:] - np.bincount(feature_of[is_missing], minlength=len(nominal)),
            row.astype(np.int32),
            value,
            nominal.astype(np.uint8),
            np.bincount(feature_of[is_new], minlength=len(nominal)),
        )


def _unsorted(start: NDArray[np.int64], value: NDArray[np.float32]) -> NDArray[np.intp]:
    """Find the columns that need sorting; most columns of sparse data hold only 0 and 1."""
    falls = np.flatnonzero(~(value[:-1] <= value[1:]))
    column = np.searchsorted(start, falls, side="right") - 1
    return np.unique(column[falls + 1 < start[column + 1]])
