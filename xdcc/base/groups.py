"""Groups of rows that belong together, such as the visits of a patient or the hours of a day.

The only place where groups are read and checked. They are a value for each row, or the name of the
column of X that has these values.
"""

import difflib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from xdcc.base.frames import as_pandas
from xdcc.base.libraries import pd


def read_groups(groups: Any, X: Any, n_samples: int) -> NDArray[Any] | None:
    """Return the group of each row, `(n_samples,)`; None stays None.

    A ValueError says that X has no such column, that there is not one value for each row, or that
    some are missing.

    Examples
    --------
    >>> table = pd.DataFrame({"day": ["Mon", "Tue", "Tue"], "size": [1, 2, 3]})
    >>> read_groups("day", table, 3).tolist()
    ['Mon', 'Tue', 'Tue']
    >>> read_groups("days", table, 3)
    Traceback (most recent call last):
    ValueError: groups='days': X has no such column. Did you mean 'day'?
    >>> read_groups([7, None, 8], table, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: groups is missing (NaN or None) in 1 row, first in row 1: ...
    """
    if groups is None:
        return None
    given = as_pandas(groups, "groups")
    if isinstance(groups, str):
        given = column_of_groups(groups, as_pandas(X))
    elif not hasattr(given, "shape"):
        given = np.asarray(given, dtype=object)  # which keeps None and NaN beside text
    if given.shape != (n_samples,):
        raise ValueError(
            f"groups has the shape {given.shape}; it must be {(n_samples,)}, a value for each row, "
            "or the name of a column of X."
        )
    values = pd.Series(given).infer_objects().to_numpy()
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        rows = "1 row" if len(missing) == 1 else f"{len(missing)} rows"
        raise ValueError(
            f"groups is missing (NaN or None) in {rows}, first in row {missing[0]}: give each of "
            "them a group, its own if it belongs to no other row."
        )
    return values


def column_of_groups(name: str, X: Any) -> Any:
    """Take the column of a DataFrame, of pandas or Dask, that `groups` names.

    A ValueError says that there is no such column.

    Examples
    --------
    >>> column_of_groups("day", pd.DataFrame({"day": ["Mon", "Tue"]})).tolist()
    ['Mon', 'Tue']
    >>> column_of_groups("day", np.zeros((2, 2)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: groups='day' names a column, but X is a ndarray without names: give a ...
    """
    if not hasattr(X, "columns"):
        raise ValueError(
            f"groups={name!r} names a column, but X is a {type(X).__name__} without names: give a "
            "DataFrame, or a value for each row."
        )
    names = list(X.columns)
    if name not in names:
        close = difflib.get_close_matches(name, map(str, names))
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise ValueError(f"groups={name!r}: X has no such column.{hint}")
    return X[name]


def number_groups(groups: NDArray[Any]) -> NDArray[np.intp]:
    """Give each group a number, from 0, in the order of their values if these have one.

    Examples
    --------
    >>> number_groups(np.array(["b", "a", "b"]))
    array([1, 0, 1])
    """
    return np.asarray(pd.factorize(groups, sort=True)[0], dtype=np.intp)


def grouped_folds(groups: NDArray[Any], n_folds: int) -> NDArray[np.intp]:
    """Deal groups of rows out to folds of about the same size; return the fold of each row.

    A ValueError says that there are not as many groups as folds.

    Examples
    --------
    >>> grouped_folds(np.array(["a", "b", "b", "a"]), 2)
    array([1, 0, 0, 1])
    """
    numbers = number_groups(groups)
    n_groups = int(numbers.max()) + 1
    if n_groups < n_folds:
        values = "a single value" if n_groups == 1 else f"{n_groups} different values"
        raise ValueError(f"{n_folds} folds need as many groups, but groups has {values}.")
    folds = np.empty(len(groups), dtype=np.intp)
    for number, (_, rows) in enumerate(GroupKFold(n_folds).split(numbers, groups=numbers)):
        folds[rows] = number
    return folds
