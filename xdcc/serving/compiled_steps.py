"""The steps of a scikit-learn pipeline before a compiled model, on NumPy alone.

Each step takes a table, `(n_samples, n_in)`, an array or a slice of a DataFrame, and returns an
array, `(n_samples, n_out)`. It computes what scikit-learn computes, operation by operation and in
the same type: a rounding error more, and a tree could take another branch. ``compiling_steps.py``
makes the steps.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import is_missing
from xdcc.base.package import PACKAGE
from xdcc.base.state_checks import check_categories, check_indices, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, Shape, Within

type Step = Scaler | Imputer | Codes | OneHot
type Table = Any
"""A two-dimensional array or a pandas DataFrame."""

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
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
            of = constants.astype(scaled.dtype, copy=False) if self.rounds else constants
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
        if len(self.kept) == self.n_in:
            filled, to_fill = table.copy(), is_absent
        else:
            filled, to_fill = table[:, self.kept], is_absent[:, self.kept]
        np.copyto(filled, self.fill, where=to_fill, casting="same_kind")
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
        found, unknown = [], []
        for column, (entries, table) in enumerate(zip(values, self._tables, strict=True)):
            codes: list[float | None] = [table.get(value) for value in entries]
            if None in codes and self._settle(column, entries, codes):
                unknown.append(self.names[column])
            found.append(codes)
        if unknown and self.warns:
            warnings.warn(
                f"Values that did not occur in fit, in column {', '.join(unknown)} of X.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return np.array(found, self.codes[0].dtype).T

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
        known = [place for place in self.places.unknown if place is not None]
        places = np.concatenate([*self.places.codes, known])
        is_place = Within(-1, self.n_out - 1).holds(places, self)
        require(is_place and bool((places == np.floor(places)).all()), "places")
        require(self.n_out <= len(places), "n_out")  # each column is that of a category

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
            check_chain(len(positions), steps)

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


def numbers(X: Table) -> NDArray[np.floating]:
    """Return a table of numbers in single or double precision; a ValueError if it is none.

    Examples
    --------
    >>> numbers(np.array([[1, None]], dtype=object))
    array([[ 1., nan]])
    """
    found = X if isinstance(X, np.ndarray) else X.to_numpy()
    if found.dtype not in FLOATS:
        is_array = found is X
        found = X.astype(np.float64) if is_array else X.to_numpy(np.float64, na_value=np.nan)
    if found is not X:
        check_finite(found)
    return found


def check_finite(X: NDArray[np.floating]) -> None:
    """Raise a ValueError if an entry is infinite.

    Examples
    --------
    >>> check_finite(np.array([[1.5, np.nan]]))
    """
    if np.isinf(X).any():
        raise ValueError("X has infinite entries.")


def _objects(X: Table) -> NDArray[np.object_]:
    return X.astype(object) if isinstance(X, np.ndarray) else X.to_numpy(object)


def check_chain(n_columns: int, steps: Sequence[Any]) -> None:
    """Raise a ValueError unless each step takes as many columns as the one before returns.

    Examples
    --------
    >>> check_chain(2, [Scaler(3, [], rounds=False)])
    Traceback (most recent call last):
    ValueError: n_in does not fit the rest of the model
    """
    for step in steps:
        require(step.n_in == n_columns > 0, "n_in")
        n_columns = step.n_out
