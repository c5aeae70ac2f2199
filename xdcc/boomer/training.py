"""What the kernel of the training takes: `SortedColumns` of the attributes, and `RuleSettings`.

Every attribute's values are sorted once per training. Only values that are neither 0 nor missing
are stored with their order, so a sparse X stays sparse and a dense one with many zeros becomes so;
the search gets the rows whose value is 0 by subtraction. Missing values follow at the end of a
column, where the search leaves them out.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.documentation import documented
from xdcc.base.features import Features


class RuleSettings(NamedTuple):
    """Checked settings of a training.

    Attributes
    ----------
    loss : str
        Name of the loss.
    complete : bool
        Whether rules predict for all labels; otherwise each does for one.
    l2 : float
        Weight of the squared scores, positive.
    learning_rate : float
        Shrinkage of every rule's scores but the default rule's.
    bootstrap : bool
        Whether each rule is searched on rows drawn with replacement.
    n_attributes : int
        Attributes drawn for each condition.
    bin_share : float
        Label bins per label that is raised or lowered, 0 for no bins.
    max_conditions : int
        Most conditions of a rule, -1 for no limit.
    min_coverage : int
        Fewest rows of the sample that a rule covers.
    """

    loss: str
    complete: bool
    l2: float
    learning_rate: float
    bootstrap: bool
    n_attributes: int
    bin_share: float
    max_conditions: int
    min_coverage: int


@documented
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
        {features_with_zeros}
        nominal : bool array of shape (n_features,)
            Which attributes are nominal.

        Returns
        -------
        SortedColumns
        """
        # Columns of ascending rows: the stable sort leaves equal values in that order.
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
    """Columns whose values do not ascend; in sparse data most are 0 and 1 and need no sorting."""
    falls = np.flatnonzero(~(value[:-1] <= value[1:]))
    column = np.searchsorted(start, falls, side="right") - 1
    return np.unique(column[falls + 1 < start[column + 1]])
