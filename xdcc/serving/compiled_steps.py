"""The steps of a scikit-learn pipeline before a compiled model, on NumPy alone.

Each step takes a table, `(n_samples, n_in)`, an array or a slice of a DataFrame, and returns an
array, `(n_samples, n_out)`. It computes what scikit-learn computes, operation by operation and in
the same type: a rounding error more, and a tree could take another branch. ``compiling_steps.py``
makes the steps.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import Features, InputForm, is_missing, is_rows_as_dicts
from xdcc.base.libraries import sparse
from xdcc.base.package import PACKAGE
from xdcc.base.state_checks import check_categories, check_indices, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, In, Shape, Within

type Step = Scaler | Imputer | Codes | OneHot
type Table = Any
"""A two-dimensional array or a pandas DataFrame."""

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_OPERATIONS: dict[str, np.ufunc] = {
    "subtract": np.subtract,
    "divide": np.divide,
    "multiply": np.multiply,
    "add": np.add,
    "at least": np.maximum,
    "at most": np.minimum,
}
type Operation = Literal["subtract", "divide", "multiply", "add", "at least", "at most"]


@stored
@dataclass(frozen=True, eq=False)
class Scaler:
    """Computes with constants of the columns, one operation after the other.

    `rounds`: whether the constants are rounded to the type of X first.
    """

    n_in: Annotated[int, Within(1)]
    operations: list[tuple[Operation, NDArray[np.floating]]]
    rounds: bool
    takes_numbers: ClassVar[bool] = True

    def _check_state(self) -> None:
        require(all(of.shape == (self.n_in,) for _, of in self.operations), "operations")

    @property
    def n_out(self) -> int:
        """Number of columns that it returns."""
        return self.n_in

    def missing(self, column: int) -> Any:
        """Return a missing value of a column."""
        return np.nan

    def transform(self, X: Table) -> NDArray[np.floating]:
        """Return the scaled columns."""
        scaled = numbers(X).copy()
        for name, constants in self.operations:
            of = constants.astype(scaled.dtype) if self.rounds else constants
            _OPERATIONS[name](scaled, of, out=scaled, casting="same_kind")
        return scaled


@stored
@dataclass(frozen=True, eq=False)
class Imputer:
    """Fills missing entries of the columns that it keeps, and tells where some were missing."""

    marker: float | int | str | None
    takes_numbers: bool
    n_in: Annotated[int, Within(1)]
    kept: Annotated[NDArray[np.int64], Shape(None), Below("n_in")]
    fill: Annotated[NDArray[Any], Shape("kept")]
    indicated: Annotated[NDArray[np.int64], Shape(None), Below("n_in")]

    def _check_state(self) -> None:
        require(self.takes_numbers == (self.fill.dtype.kind == "f"), "fill")
        require(not (self.takes_numbers and isinstance(self.marker, str | None)), "marker")

    @property
    def n_out(self) -> int:
        """Number of columns that it returns."""
        return len(self.kept) + len(self.indicated)

    def missing(self, column: int) -> Any:
        """Return a missing value of a column."""
        return self.marker

    def transform(self, X: Table) -> NDArray[Any]:
        """Return the filled columns, then the indicators."""
        table: NDArray[Any] = numbers(X) if self.takes_numbers else _objects(X)
        marker: Any = self.marker
        is_absent = table != table  # NaN
        if marker == marker:
            if is_absent.any():
                raise ValueError(f"X has NaN where {marker!r} is the missing value of an imputer.")
            is_absent = np.equal(table, marker)
        filled = table[:, self.kept]
        np.copyto(filled, self.fill, where=is_absent[:, self.kept], casting="same_kind")
        if not len(self.indicated):
            return filled
        return np.hstack((filled, is_absent[:, self.indicated]))


@stored
@dataclass(frozen=True, eq=False)
class Codes:
    """Replaces categories by numbers.

    `unknown` has the numbers of categories that did not occur in fit; None if they are an error.
    """

    names: list[str]
    categories: Annotated[list[NDArray[Any]], Shape("names")]
    codes: Annotated[list[NDArray[np.floating]], Shape("names")]
    unknown: Annotated[list[float | None], Shape("names")]
    warns: bool
    takes_numbers: ClassVar[bool] = False
    _tables: ClassVar[Sequence[dict[Any, float]]]
    _of_nan: ClassVar[Sequence[float | None]]

    def __post_init__(self) -> None:
        """Look up the categories by their values."""
        pairs = list(zip(self.categories, self.codes, strict=True))
        tables = [dict(zip(of.tolist(), codes.tolist(), strict=True)) for of, codes in pairs]
        nan = [[t[value] for value in t if value != value] for t in tables]
        object.__setattr__(self, "_tables", tables)
        object.__setattr__(self, "_of_nan", [codes[0] if codes else None for codes in nan])

    def _check_state(self) -> None:
        for categories, codes in zip(self.categories, self.codes, strict=True):
            check_categories(categories, "categories")
            require(codes.shape == categories.shape, "codes")

    @property
    def n_in(self) -> int:
        """Number of columns that it takes."""
        return len(self.names)

    @property
    def n_out(self) -> int:
        """Number of columns that it returns."""
        return len(self.names)

    def missing(self, column: int) -> Any:
        """Return a missing value of a column."""
        return None if None in self._tables[column] and self._of_nan[column] is None else np.nan

    def transform(self, X: Table) -> NDArray[np.floating]:
        """Return the numbers of the categories."""
        values = (X if isinstance(X, np.ndarray) else _objects(X)).T.tolist()
        found = np.empty((len(X), self.n_in), self.codes[0].dtype)
        unknown = []
        for column, (entries, table) in enumerate(zip(values, self._tables, strict=True)):
            codes: list[float | None] = [table.get(value) for value in entries]
            if None in codes and self._settle(column, entries, codes):
                unknown.append(self.names[column])
            found[:, column] = codes
        if unknown and self.warns:
            warnings.warn(
                f"Values that did not occur in fit, in column {', '.join(unknown)} of X.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return found

    def _settle(self, column: int, entries: list[Any], codes: list[float | None]) -> bool:
        """Find what values without a code get, and tell whether one is unknown."""
        is_unknown = False
        for row, value in enumerate(entries):
            if codes[row] is None and value is not None and is_missing(value):
                codes[row] = self._of_nan[column]
            if codes[row] is None:
                codes[row], is_unknown = self.unknown[column], True
            if codes[row] is None:
                raise ValueError(
                    f"X has {value!r} in row {row} of column {self.names[column]}, which did not "
                    "occur in fit, and the encoder has handle_unknown='error'."
                )
        return is_unknown


@stored
@dataclass(frozen=True, eq=False)
class OneHot:
    """Has a column for each category, with ones: its place is a code, or -1 for no column."""

    places: Codes
    n_out: Annotated[int, Within(0)]
    takes_numbers: ClassVar[bool] = False

    def _check_state(self) -> None:
        unknown = [place for place in self.places.unknown if place is not None]
        for places in (*self.places.codes, np.array(unknown, np.float64)):
            require(In(range(-1, self.n_out)).holds(places, self), "places")

    @property
    def n_in(self) -> int:
        """Number of columns that it takes."""
        return self.places.n_in

    def missing(self, column: int) -> Any:
        """Return a missing value of a column."""
        return self.places.missing(column)

    def transform(self, X: Table) -> NDArray[np.floating]:
        """Return zeros and ones."""
        places = self.places.transform(X)
        found = np.zeros((len(places), self.n_out + 1), places.dtype)
        found[np.arange(len(places))[:, np.newaxis], places.astype(np.int64)] = 1
        return found[:, :-1]  # the last column has what is -1


@stored
@dataclass(frozen=True, eq=False)
class SideBySide:
    """Puts side by side what steps make of some of the columns; no step leaves them unchanged."""

    n_in: Annotated[int, Within(1)]
    parts: list[tuple[NDArray[np.int64], list[Step]]]

    def _check_state(self) -> None:
        for positions, steps in self.parts:
            check_indices(positions, self.n_in, "positions")
            _check_chain(len(positions), steps)

    @property
    def n_out(self) -> int:
        """Number of columns that it returns."""
        return sum(steps[-1].n_out if steps else len(of) for of, steps in self.parts)

    def transform(self, X: Table) -> NDArray[Any]:
        """Return the columns of all parts."""
        found = []
        for positions, steps in self.parts:
            is_array = isinstance(X, np.ndarray)
            part = X[:, positions] if is_array else X.iloc[:, positions]
            for step in steps:
                part = step.transform(part)
            found.append(part if isinstance(part, np.ndarray) else part.to_numpy())
        return np.hstack(found)


@stored
@dataclass(frozen=True, eq=False)
class Steps:
    """All steps before the estimator.

    Attributes
    ----------
    input_form : InputForm
        The form of X for the first step.
    steps : list
        The steps.

    Examples
    --------
    >>> halve = Scaler(2, [("multiply", np.array([0.5, 0.5]))], rounds=False)
    >>> Steps(InputForm(2, np.array(["a", "b"])), [halve]).rows({"b": 3}, "Model")
    array([[nan, 1.5]])
    """

    input_form: InputForm
    steps: list[Step | SideBySide]
    _missing: ClassVar[NDArray[Any]]
    _numbers: ClassVar[frozenset[int]]
    _read: ClassVar[NDArray[np.int64]]

    def __post_init__(self) -> None:
        """Find what the columns hold, by the first step that reads them."""
        first: Any = self.steps[0]
        every = np.arange(self.input_form.n_features)
        parts = first.parts if isinstance(first, SideBySide) else [(every, [first])]
        readers = {
            position: (steps[0], column)
            for positions, steps in reversed(parts)
            for column, position in enumerate(positions.tolist())
            if steps
        }
        missing = np.full(len(every), np.nan, object)
        for position, (step, column) in readers.items():
            missing[position] = step.missing(column)
        of_numbers = frozenset(p for p, (step, _) in readers.items() if step.takes_numbers)
        if len(of_numbers) == len(every):
            missing = missing.astype(np.float64)
        read = np.unique(np.concatenate([positions for positions, _ in parts]))
        object.__setattr__(self, "_missing", missing)
        object.__setattr__(self, "_numbers", of_numbers)
        object.__setattr__(self, "_read", read)

    def _check_state(self) -> None:
        require(self.input_form.categories is None and not self.input_form.is_open, "input_form")
        _check_chain(self.input_form.n_features, self.steps)

    @property
    def n_out(self) -> int:
        """Number of features of the estimator."""
        return self.steps[-1].n_out

    def rows(self, X: Any, estimator: str, *, lacks_zeros: bool = False) -> Features:
        """Return the features of the estimator.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or rows as dicts
            As for the first step. SideBySide of a DataFrame are found by their names.
        estimator : str
            Name of the estimator in messages.
        lacks_zeros : bool
            Whether zeros are to be missing from a sparse matrix.

        Raises
        ------
        ValueError
            If X has other columns than in fit, has infinite numbers or text instead of numbers, or
            has a category that is an error.
        TypeError
            If it is a sparse matrix.
        """
        table = self._table(X, estimator)
        for step in self.steps:
            table = step.transform(table)
        found = numbers(table)
        if not lacks_zeros:
            return found
        row, column = np.nonzero(found)
        start = np.searchsorted(row, np.arange(len(found) + 1))
        with np.errstate(over="ignore"):  # infinity is reported by the later check
            entries = found[row, column].astype(np.float32)
        return sparse.csr_matrix((entries, column.astype(np.int32), start), shape=found.shape)

    def _table(self, X: Any, estimator: str) -> Table:
        form = self.input_form
        if is_rows_as_dicts(X):
            return form.rows_of_dicts(X, estimator, self._missing, self._entry)
        if isinstance(X, list | tuple):
            X = np.array(X, dtype=object)
        elif not isinstance(X, np.ndarray):
            from xdcc.base.frames import as_pandas

            if sparse.issparse(X):
                raise TypeError(
                    f"X is a sparse matrix, but {estimator} takes arrays, DataFrames and rows as "
                    "dicts for the steps of a pipeline."
                )
            X = as_pandas(X)
            if not hasattr(X, "iloc"):
                X = np.asarray(X)
            elif X.ndim == 2 and form.names is not None and list(X.columns) != list(form.names):
                lacking = [name for name in form.names[self._read] if name not in X.columns]
                if lacking:
                    raise ValueError(f"X lacks columns that {estimator} needs: {lacking}.")
                X = X.reindex(columns=form.names)
        if X.ndim != 2 or X.shape[1] != form.n_features or not len(X):
            raise ValueError(
                f"X has the shape {X.shape}, but {estimator} is expecting rows of "
                f"{form.n_features} features."
            )
        return X

    def _entry(self, position: int, row: int, value: Any) -> Any:
        """Return an entry of a row that is a dict."""
        if position in self._numbers:
            return self.input_form.number_of(position, row, value)
        if isinstance(value, str | float | int | Real | np.bool_):
            return value
        where = self.input_form.where(position, row)
        raise ValueError(f"{where} is {value!r}, which is neither text nor a number.")


def numbers(X: Table) -> NDArray[np.floating]:
    """Return a table of numbers in single or double precision; a ValueError if it is none.

    Examples
    --------
    >>> numbers(np.array([[1, None]], dtype=object))
    array([[ 1., nan]])
    """
    found = X if isinstance(X, np.ndarray) else X.to_numpy()
    if found.dtype not in _FLOATS:
        is_array = found is X
        found = X.astype(np.float64) if is_array else X.to_numpy(np.float64, na_value=np.nan)
    if np.isinf(found).any():
        raise ValueError("X has infinite entries.")
    return found


def _objects(X: Table) -> NDArray[np.object_]:
    return X.astype(object) if isinstance(X, np.ndarray) else X.to_numpy(object)


def _check_chain(n_columns: int, steps: Sequence[Any]) -> None:
    """Check that each step takes as many columns as the one before returns."""
    for step in steps:
        require(step.n_in == n_columns > 0, "n_in")
        n_columns = step.n_out
