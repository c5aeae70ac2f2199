"""``Steps``: the steps of a pipeline before a compiled model, from X to features."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import Features, InputForm, is_rows_as_dicts
from xdcc.base.libraries import sparse
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.serving.compiled_steps import (
    FLOATS,
    SideBySide,
    Step,
    Table,
    check_chain,
    check_finite,
    numbers,
)

_FEW_ROWS = 8
"""Up to this many rows of a DataFrame, slicing columns takes longer than making objects of all."""


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
    >>> from xdcc.serving.compiled_steps import Scaler
    >>> halve = Scaler(2, [("multiply", np.array([0.5, 0.5]))], rounds=False)
    >>> Steps(InputForm(2, np.array(["a", "b"])), [halve]).rows({"a": None, "b": 3}, "Model")
    array([[nan, 1.5]])
    """

    input_form: InputForm
    steps: list[Step | SideBySide]
    _missing: ClassVar[NDArray[Any]]
    _numbers: ClassVar[frozenset[int]]
    _read: ClassVar[NDArray[np.int64]]
    _expected: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        """Find what named columns hold, by the first step that reads them."""
        names = self.input_form.names
        first: Any = self.steps[0]
        every = np.arange(0 if names is None else len(names))
        parts = first.parts if isinstance(first, SideBySide) else [(every, [first])]
        readers = {
            position: (steps[0], column)
            for positions, steps in reversed(parts)
            for column, position in enumerate(positions.tolist())
            if steps
        }
        missing: NDArray[Any] = np.full(len(every), np.nan, object)
        for position in readers.keys() & set(every.tolist()):
            step, column = readers[position]
            missing[position] = step.missing(column)
        of_numbers = frozenset(p for p, (step, _) in readers.items() if step.takes_numbers)
        if len(of_numbers) == len(every):
            missing = missing.astype(np.float64)
        read = np.unique(np.concatenate([positions for positions, _ in parts]))
        object.__setattr__(self, "_missing", missing)
        object.__setattr__(self, "_numbers", of_numbers)
        object.__setattr__(self, "_read", read)
        expected = [] if names is None else names[read].tolist()
        object.__setattr__(self, "_expected", frozenset(expected))

    def _check_state(self) -> None:
        require(self.input_form.categories is None and not self.input_form.is_open, "input_form")
        check_chain(self.input_form.n_features, self.steps)

    @property
    def n_out(self) -> int:
        """Number of features of the estimator."""
        return self.steps[-1].n_out

    def rows(self, X: Any, estimator: str, *, lacks_zeros: bool = False) -> Features:
        """Return the features of the estimator.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or rows as dicts
            As for the first step. Columns of a DataFrame are found by their names.
        estimator : str
            Name of the estimator in messages.
        lacks_zeros : bool
            Whether zeros are to be missing from a sparse matrix.

        Raises
        ------
        ValueError
            If X has other columns than in fit, has infinite numbers or text instead of numbers,
            has a category that is an error, or is a sparse matrix.
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
            return form.rows_of_dicts(X, estimator, self._missing, self._entry, self._expected)
        if isinstance(X, list | tuple):
            X = np.array(X, dtype=object)
        elif not isinstance(X, np.ndarray):
            X = self._of_frame(X, estimator)
        if X.ndim != 2 or X.shape[1] != form.n_features or not len(X):
            raise ValueError(
                f"X has the shape {X.shape}, but {estimator} is expecting rows of "
                f"{form.n_features} features."
            )
        if isinstance(X, np.ndarray):
            if X.dtype.kind in "cmM":
                raise ValueError(
                    f"X has the type {X.dtype}: its entries are neither text nor numbers."
                )
            if X.dtype in FLOATS:
                check_finite(X)
        return X

    def _of_frame(self, X: Any, estimator: str) -> Table:
        """Return the columns of a DataFrame in the order of fit, and anything else as an array."""
        from xdcc.base.frames import as_pandas

        if sparse.issparse(X):
            raise ValueError(
                f"X is a sparse matrix, but {estimator} takes arrays, DataFrames and rows as dicts "
                "for the steps of a pipeline."
            )
        X, names = as_pandas(X), self.input_form.names
        if not hasattr(X, "iloc") or X.ndim != 2:
            return np.asarray(X)
        if names is not None and X.columns.tolist() != names.tolist():
            lacking = [name for name in names[self._read] if name not in X.columns]
            if lacking:
                raise ValueError(f"X lacks columns that {estimator} needs: {lacking}.")
            X = X.reindex(columns=names)
        if 0 < len(X) <= _FEW_ROWS and all(map(_is_exact, X.dtypes)):
            return X.to_numpy(object)
        return X

    def _entry(self, position: int, row: int, value: Any) -> Any:
        """Return an entry of a row that is a dict."""
        if position in self._numbers:
            return self.input_form.number_of(position, row, value)
        if isinstance(value, str | float | int | Real | np.bool_):
            return value
        where = self.input_form.where(position, row)
        raise ValueError(f"{where} is {value!r}, which is neither text nor a number.")


def _is_exact(dtype: Any) -> bool:
    """Whether objects are as exact as a column of a DataFrame, and not more exact."""
    return dtype.kind == "O" or (isinstance(dtype, np.dtype) and dtype != np.float32)
