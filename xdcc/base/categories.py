"""Categorical columns of a DataFrame as the codes that XGBoost takes for categories.

``fit`` learns the categories of every column of pandas' type ``category``: the values that
occur in it, in the order of the type (:mod:`xdcc.base.input_form`). A column becomes positions in
them, NaN where it is missing. At prediction columns are recoded by
value, whatever their type: another order of categories, or text or numbers as they come from JSON.
What a value is that did not occur in ``fit`` is up to :mod:`xdcc.base.unknown_categories`.
:func:`category_values` tells the Cython kernels which values a discrete feature has.
"""

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import infer_dtype
from scipy import sparse

from xdcc.base.frames import as_pandas
from xdcc.base.input_form import Categories, InputForm
from xdcc.base.package import PACKAGE

_FEW_ROWS = 20

_LEAST_ROWS, _MOST_LEVELS = 50, 0.9
"""With at least 50 rows, a column with more categories than this share of them identifies rows."""

_DATES = frozenset({"date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"})
"""Answers of pandas' `infer_dtype` for dates and times."""

_LIKE_A_DATE = r"\d.*\d.{3}|.{3}\d.*\d"
"""Text that may be a date, but is not the name of a day or month."""

_NUMBERS = frozenset({"boolean", "integer", "floating", "mixed-integer-float"})
"""Answers of pandas' `infer_dtype` for numbers."""


def learn_categories(X: pd.DataFrame, takes_categories: bool) -> Categories | None:
    """Learn the categories of columns; reject columns that hold neither categories nor numbers.

    Returns the values that occur in a column, by its position; None if no column has categories. A
    ValueError says which column the estimator does not take.

    Examples
    --------
    >>> colours = pd.DataFrame({"colour": pd.Categorical(["red", "blue", None])})
    >>> learn_categories(colours, takes_categories=True)
    {0: array(['blue', 'red'], dtype=object)}
    """
    _require_numbers_and_categories(X, takes_categories)
    return {
        position: _occurring(X.iloc[:, position])
        for position, dtype in enumerate(X.dtypes)
        if _is_category(dtype)
    } or None


def encode_categories(X: pd.DataFrame, form: InputForm) -> pd.DataFrame:
    """Replace categories by the codes that a form has for them.

    Values that did not occur in fit get theirs, with a warning or an error. A ValueError says which
    column differs from that in fit.

    Examples
    --------
    >>> colours = pd.DataFrame({"colour": ["red", "blue", None]})
    >>> form = InputForm(1, categories={0: np.array(["blue", "red"], object)})
    >>> encode_categories(colours, form)["colour"].tolist()
    [1.0, 0.0, nan]
    """
    if not form.categories:
        return X
    encoded, unknown = X.copy(deep=False), {}
    for position, categories in form.categories.items():
        codes, is_unknown = _codes(X, position, categories, form)
        encoded.isetitem(position, codes)
        if len(categories) and is_unknown.any():
            unknown[X.columns[position]] = X.iloc[:, position][is_unknown].tolist()
    form.tell_unknown(unknown)
    return encoded


def without_identifiers(
    categories: Categories, names: NDArray[np.object_] | None, X: NDArray[np.float32]
) -> tuple[Categories, NDArray[np.float32]]:
    """Make columns missing that have a category for almost every row, with a warning.

    Parameters
    ----------
    categories : dict of int to array
        Categories of the columns, by position.
    names : array of str of shape (n_features,) or None
        Names of the columns.
    X : float32 array of shape (n_samples, n_features)
        Codes of categories, and numbers.

    Returns
    -------
    categories : dict of int to array
        None are left of such columns.
    X : float32 array of shape (n_samples, n_features)
        A copy, if there is such a column.

    Examples
    --------
    >>> X = np.arange(60.0)[:, np.newaxis]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     left, X = without_identifiers({0: np.array([f"row {i}" for i in range(60)])}, None, X)
    >>> np.isnan(X).all(), len(left[0])
    (np.True_, 0)
    """
    left = dict(categories)
    for position, values in categories.items():
        n_known = int((~np.isnan(X[:, position])).sum())
        if n_known < _LEAST_ROWS or len(values) <= _MOST_LEVELS * n_known:
            continue
        name = position if names is None else names[position]
        warnings.warn(
            f"Column {name!r} of X (position {position}) has {len(values)} "
            f"categories in {n_known} rows, so it tells nothing about other rows. It is ignored: "
            "all of its values are taken as missing. If they are numbers or dates, make numbers of "
            "it.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )
        left[position] = values[:0]
        X = X.copy()
        X[:, position] = np.nan
    return left, X


def holds_dates(column: pd.Series) -> bool:
    """Tell whether a column holds dates or times, as such or as text.

    Examples
    --------
    >>> holds_dates(pd.Series(["2024-01-31", None])), holds_dates(pd.Series(["monday"]))
    (True, False)
    """
    if column.dtype.kind in "mM" or infer_dtype(column) in _DATES:
        return True
    texts = column.dropna().astype(str)
    if texts.empty or not texts.str.contains(_LIKE_A_DATE).all():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of formats that differ
        return bool(pd.to_datetime(texts, errors="coerce").notna().all())


def categorical_mask(
    n_features: int, feature_types: list[str] | None, given: ArrayLike | None
) -> NDArray[np.bool_]:
    """Find the categorical features: by their type, or named by the user.

    Parameters
    ----------
    n_features : int
        Number of features.
    feature_types : list of str of length n_features or None
        As :attr:`~xdcc.base.input_form.InputForm.feature_types`.
    given : array-like of bool or int, or None
        An estimator's parameter `categorical_features`: a mask of shape (n_features,), or
        positions.

    Returns
    -------
    bool array of shape (n_features,)

    Raises
    ------
    ValueError
        If `given` is neither a mask nor positions of features.

    Examples
    --------
    >>> categorical_mask(3, ["q", "c", "q"], given=[2])
    array([False,  True,  True])
    """
    mask = np.array([t == "c" for t in feature_types or ["q"] * n_features])
    if given is None:
        return mask
    array = np.asarray(given)
    if array.dtype == bool and array.shape == (n_features,):
        return mask | array
    positions = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
    if not positions or ((array < 0) | (array >= n_features)).any():
        raise ValueError(
            f"categorical_features={given!r}: it must be a mask of "
            f"shape ({n_features},) or positions from 0 to {n_features - 1}."
        )
    mask[array.astype(np.intp)] = True
    return mask


def _is_category(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) or str(dtype).startswith("dictionary<")


def _require_numbers_and_categories(X: pd.DataFrame, takes_categories: bool) -> None:
    for position, dtype in enumerate(X.dtypes):
        if dtype.kind in "biuf" or (takes_categories and _is_category(dtype)):
            continue
        advice = (
            "the estimator takes numbers and categories. If its values are names, make it a "
            "category with astype('category'), in Polars with cast(pl.Categorical)."
            if takes_categories
            else "the estimator takes numbers only. Encode categories as numbers first, for "
            "example as one column per category."
        )
        if holds_dates(X.iloc[:, position]):
            advice = (
                "the estimator takes no dates and times. Make numbers of them: the year, the "
                "month, the days since a date, (day - pd.Timestamp('2020-01-01')).dt.days."
            )
        raise ValueError(f"{_described(X, position)}; {advice}")


def _described(X: pd.DataFrame, position: int) -> str:
    return (
        f"Column {X.columns[position]!r} of X (position {position}) has the type "
        f"{X.dtypes.iloc[position]}"
    )


def numbers_as_in_fit(X: pd.DataFrame, categories: Categories | None) -> pd.DataFrame:
    """Read columns of numbers that came as Python objects, as a JSON null makes of them.

    Examples
    --------
    >>> numbers_as_in_fit(pd.DataFrame({"size": [1.5, None]}, dtype=object), None)["size"].tolist()
    [1.5, nan]
    """
    if not categories and all(dtype.kind in "biuf" for dtype in X.dtypes):
        return X
    read = X.copy(deep=False)
    for position, dtype in enumerate(X.dtypes):
        if position in (categories or {}) or dtype.kind in "biuf":
            continue
        column = X.iloc[:, position]
        if _is_category(dtype) or not all(isinstance(value, Real) for value in column.dropna()):
            raise ValueError(f"{_described(X, position)}, but in fit it was numeric.")
        read.isetitem(position, column.astype(object).where(column.notna(), np.nan).astype(float))
    return read


def _as_category(column: pd.Series) -> pd.Series:
    """Give a column the type `category`; pandas has another one for Arrow's dictionaries."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    return as_pandas(column.array.__arrow_array__())


def _occurring(column: pd.Series) -> NDArray[Any]:
    return np.asarray(_as_category(column).cat.remove_unused_categories().cat.categories)


def _codes(
    X: pd.DataFrame, position: int, categories: NDArray[Any], form: InputForm
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the codes of a column, and which of its values did not occur in fit."""
    column, codes = X.iloc[:, position], form._codes[position]
    if len(X) <= _FEW_ROWS and categories.dtype == object:
        found = _codes_of_few(column, codes)
        if found is not None:
            return found, np.zeros(len(X), bool)
    is_category = _is_category(column.dtype)
    try:
        column = _as_category(column) if is_category else pd.Series(pd.Categorical(column))
    except TypeError as error:  # lists, for example
        raise ValueError(f"{_described(X, position)}; its values cannot be categories.") from error
    positions = pd.Index(categories).get_indexer(column.cat.categories)
    own = column.cat.codes.to_numpy()
    is_unknown = np.append(positions < 0, False)[own]  # pandas' code of a missing value is -1
    kinds = {_kind(column.cat.categories), _kind(categories)} - {"any"}
    if is_unknown.any() and not is_category and len(kinds) == 2 and (own[~is_unknown] < 0).all():
        raise ValueError(
            f"{_described(X, position)}, but in fit it was a category, such as "
            f"{categories[:1].tolist()[0]!r}."
        )
    # The last elements are the codes of unknown and of missing values.
    of_positions = np.array([*codes.values(), form.code_of_unknown(position)], np.float32)
    return np.append(of_positions[positions], np.float32(np.nan))[own], is_unknown


def _codes_of_few(column: pd.Series, codes: Mapping[Any, float]) -> NDArray[np.float32] | None:
    """Do as `_codes` for a few rows of text, in less time; None if a value is anything else."""
    found = np.full(len(column), np.nan, dtype=np.float32)
    for row, value in enumerate(column.tolist()):
        if isinstance(value, str) and value in codes:
            found[row] = codes[value]
        elif not (value is None or value is pd.NA or value != value):
            return None
    return found


def _kind(values: Any) -> str:
    found = infer_dtype(values)
    if found in _NUMBERS:
        return "number"
    return "any" if found == "empty" or found.startswith("mixed") else found


def category_values(
    X: Any, categorical: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Find the values of the discrete features.

    Parameters
    ----------
    X : float32 array or CSC matrix of shape (n_samples, n_features)
        Checked features; what a sparse X does not store is 0.
    categorical : bool array of shape (n_features,)
        Which features are discrete.

    Returns
    -------
    values : float32 array
        Distinct values of each discrete feature, sorted, one feature after the other.
    start : int32 array of shape (n_features + 1,)
        Feature f has the values from ``start[f]`` to ``start[f + 1]``; no values if it is a number.

    Examples
    --------
    >>> X = np.array([[0.5, 3], [1.5, 7], [2.5, 3]], dtype=np.float32)
    >>> category_values(X, np.array([False, True]))
    (array([3., 7.], dtype=float32), array([0, 0, 2], dtype=int32))
    """
    values = [np.empty(0, np.float32)]
    sizes = np.zeros(len(categorical) + 1, np.int32)
    for feature in np.flatnonzero(categorical).tolist():
        column = _column(X, feature)
        values.append(np.unique(column[~np.isnan(column)]))
        sizes[feature + 1] = len(values[-1])
    return np.concatenate(values), np.cumsum(sizes, dtype=np.int32)


def _column(X: Any, feature: int) -> NDArray[np.float32]:
    if not sparse.issparse(X):
        return np.asarray(X[:, feature])
    stored = X.data[X.indptr[feature] : X.indptr[feature + 1]]
    # A value that is not stored somewhere is 0, which is enough to find the distinct values.
    return stored if len(stored) == X.shape[0] else np.append(stored, np.float32(0))
