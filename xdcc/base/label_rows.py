"""``LabelRows``: a label matrix in whatever form, read as numbers, some rows at a time.

Labels come as arrays, lists, DataFrames with any types of columns, or sparse matrices. Whoever
checks or compares them walks over :func:`row_blocks` and takes :meth:`LabelRows.block`, so that
no form needs a copy of the whole matrix, dense or of another type.
"""

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

_BLOCK_ENTRIES = 2**18
"""Entries of a block: as float64 2 MiB, which a processor's cache can hold."""

_NAMES_SHOWN = 5
"""Names of labels that a message lists."""


def row_blocks(shape: tuple[int, int], entries: int | None = None) -> Iterator[slice]:
    """Cut the rows of a matrix into blocks.

    Parameters
    ----------
    shape : tuple of int
        Number of rows, number of columns.
    entries : int, optional
        About so many entries make a block; 2**18 if not given.

    Yields
    ------
    slice
        The next rows, at least one.

    Examples
    --------
    >>> list(row_blocks((300_000, 2)))
    [slice(0, 131072, None), slice(131072, 262144, None), slice(262144, 300000, None)]
    """
    n_rows, n_columns = shape
    step = max(1, (entries or _BLOCK_ENTRIES) // max(1, n_columns))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


class LabelRows:
    """Labels of any form as blocks of numbers.

    Parameters
    ----------
    Y : array-like, sparse matrix or array, DataFrame or Series
        Labels. Only its form is looked at here, and no copy is made of an array, a CSR matrix or
        a DataFrame of dense columns.
    one_label : bool, default=False
        Whether one dimension is a column; else `shape` has one element for it.

    Attributes
    ----------
    shape : tuple of int
        As of the array that Y makes.

    Raises
    ------
    ValueError
        If Y makes no array, for example because rows have different lengths.

    Examples
    --------
    >>> rows = LabelRows(pd.DataFrame({"red": [1, None], "blue": [0, 1]}))
    >>> rows.shape
    (2, 2)
    >>> rows.block(slice(1, 2))
    array([[nan,  1.]])
    """

    shape: tuple[int, ...]

    def __init__(self, Y: Any, *, one_label: bool = False) -> None:
        self._labels: Any = _sliceable(Y)
        if one_label and self._labels.ndim == 1:
            self._labels = (
                self._labels.to_frame()
                if isinstance(self._labels, pd.Series)
                else self._labels.reshape((-1, 1))
            )
        self.shape = self._labels.shape
        if sparse.issparse(self._labels) and self._labels.ndim == 2:
            self._labels = self._labels.tocsr()

    def block(self, rows: slice) -> NDArray[Any]:
        """Read some rows as numbers. Y needs to have two dimensions.

        Parameters
        ----------
        rows : slice
            Which rows.

        Returns
        -------
        bool, int or float array of shape (n_rows, n_labels)
            It may share memory with Y. None and pandas' NA are NaN; what is no number at all is
            infinite, which is no label either.
        """
        if sparse.issparse(self._labels):
            values = self._labels[rows].toarray()
        elif isinstance(self._labels, pd.DataFrame):
            part = self._labels.iloc[rows]
            numeric = all(dtype.kind in "biuf" for dtype in part.dtypes)
            values = part.to_numpy(dtype=np.float64 if numeric else object, na_value=np.nan)
        else:
            values = self._labels[rows]
        if values.dtype.kind in "biuf":
            return values
        return np.vectorize(_number, otypes=[np.float64])(values)

    def entry(self, row: int, label: int) -> Any:
        """Return an entry as it was given, for a message.

        Parameters
        ----------
        row, label : int
            Which entry.

        Returns
        -------
        object
            A number or anything else.
        """
        if isinstance(self._labels, pd.DataFrame):
            return self._labels.iat[row, label]
        return self._labels[row, label]


def labels_in_order(Y: Any, names: Sequence[Any], what: str) -> Any:
    """Bring the columns of a DataFrame into an order given by names; leave all else as it is.

    Parameters
    ----------
    Y : array-like, sparse matrix or array, DataFrame or Series
        Labels, or probabilities of them.
    names : sequence of length n_labels
        Names of labels; they are compared as text.
    what : str
        What messages call Y.

    Returns
    -------
    object
        Y, or a DataFrame of its columns in the order of `names`.

    Raises
    ------
    ValueError
        If Y is a DataFrame with other names, or with another order of names that are not unique.

    Examples
    --------
    >>> labels_in_order(pd.DataFrame({"blue": [0], "red": [1]}), ["red", "blue"], "Y")
       red  blue
    0    1     0
    """
    if not isinstance(Y, pd.DataFrame):
        return Y
    wanted, found = [str(name) for name in names], [str(name) for name in Y.columns]
    if found == wanted:
        return Y
    if sorted(found) != sorted(wanted) or len(set(wanted)) < len(wanted):
        missing = [name for name in wanted if name not in found]
        unexpected = [name for name in found if name not in wanted]
        raise ValueError(
            f"The columns of {what} have to be the labels {_listed(wanted)}, in any order: "
            f"missing are {_listed(missing)}, unexpected are {_listed(unexpected)}, and no name "
            "may occur twice"
        )
    position = {name: column for column, name in enumerate(found)}
    return Y.iloc[:, [position[name] for name in wanted]]


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_NAMES_SHOWN])) or "none"
    return f"{shown} and {len(names) - _NAMES_SHOWN} more" if names[_NAMES_SHOWN:] else shown


def _sliceable(Y: Any) -> Any:
    if sparse.issparse(Y) or isinstance(Y, pd.Series):
        return Y
    if isinstance(Y, pd.DataFrame):
        # pandas gives the sparse matrix of a frame only if nothing but zeros is left out.
        kinds = set(Y.dtypes)
        kind = kinds.pop() if len(kinds) == 1 else None
        is_sparse = isinstance(kind, pd.SparseDtype) and kind.fill_value == 0
        return Y.sparse.to_coo() if is_sparse else Y
    return np.asarray(Y)


def _number(value: Any) -> float:
    if value is None or value is pd.NA:
        return np.nan
    return float(value) if isinstance(value, Real) else np.inf
