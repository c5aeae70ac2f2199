"""The steps of a pipeline as ONNX operators, from X to the features of the estimator.

X is in double precision, in which scikit-learn computes for a DataFrame. A column that an encoder
reads has codes in X: the position of a value among those that the steps know (`vocabulary`), NaN
for a missing value.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import is_missing
from xdcc.serving.compiled_pipeline import Steps
from xdcc.serving.compiled_steps import Codes, Imputer, OneHot, Scaler, SideBySide
from xdcc.serving.onnx_categories import add_codes
from xdcc.serving.onnx_graph import Graph

type Sources = NDArray[np.intp]
"""The column of X that each column is; -1 for one that steps have computed."""

_OPERATORS = {"subtract": "Sub", "divide": "Div", "multiply": "Mul", "add": "Add"}
_BOUNDS = {"at least": "Less", "at most": "Greater"}
"""Operators that find what a bound replaces; ``Max`` and ``Min`` may lose NaN."""


class Columns(NamedTuple):
    """A matrix of the graph, its type, and where its columns come from."""

    name: str
    dtype: type[np.floating]
    sources: Sources


class StepsGraph:
    """Adds steps to a graph.

    Attributes
    ----------
    vocabulary : dict of int to dict
        Codes of the values of each column of X that an encoder reads.
    rejects : set of int
        Columns in which an encoder accepts known values only.
    unread : list of int
        Columns that no step reads.

    Raises
    ------
    TypeError
        If a column is both a number and a category.
    """

    def __init__(self, graph: Graph, steps: Steps) -> None:
        self._graph = graph
        self._steps = steps
        read = _Reads()
        every = np.arange(steps.input_form.n_features)
        read.numbers.update(read.all_of(steps.steps, every).tolist())
        both = read.categories & read.numbers - {-1}
        if both or -1 in read.categories:
            names = steps.input_form.names
            which = "A column that another step computes"
            if both:
                column = min(both)
                which = f"The column {str(column if names is None else names[column])!r}"
            raise TypeError(
                f"{which} is both a number and a category for the steps of the pipeline: in ONNX, "
                "a column has either numbers or codes of categories. Give each step a column of "
                "its own."
            )
        self.vocabulary: dict[int, dict[Any, int]] = {each: {} for each in sorted(read.categories)}
        self.rejects: set[int] = set()
        self.unread = sorted({*every.tolist()} - read.numbers - read.categories)

    def add(self, X: str) -> str:
        """Add all steps; return the features, float32."""
        every = np.arange(self._steps.input_form.n_features)
        columns = self._add_all(self._steps.steps, Columns(X, np.float64, every))
        return self._graph.cast(columns.name, np.float32)

    def _add_all(self, steps: Sequence[Any], X: Columns) -> Columns:
        for step in steps:
            X = self._add_step(step, X)
        return X

    def _add_step(self, step: Any, X: Columns) -> Columns:
        match step:
            case Scaler():
                return self._scale(step, X)
            case Imputer():
                return self._impute(step, X)
            case Codes():
                rows, table = self._table(step, X)
                dtype = step.codes[0].dtype.type
                found = self._graph.add("Gather", self._graph.constant(table, dtype), rows)
                return Columns(found, dtype, _computed(step.n_out))
            case OneHot():
                return self._one_hot(step, X)
            case SideBySide():
                parts = [self._add_all(of, self._some(X, at)) for at, of in step.parts]
                return self._joined(parts)
        raise AssertionError(step)

    def _scale(self, step: Scaler, X: Columns) -> Columns:
        graph, found = self._graph, X.name
        dtype: type[np.floating] = X.dtype if step.rounds else np.float64
        for name, constants in step.operations:
            found, of = self._cast(found, X.dtype, dtype), graph.constant(constants, dtype)
            if name in _BOUNDS:
                found = graph.add("Where", graph.add(_BOUNDS[name], found, of), of, found)
            else:
                found = graph.add(_OPERATORS[name], found, of)
            found = self._cast(found, dtype, X.dtype)
        return X._replace(name=found)

    def _impute(self, step: Imputer, X: Columns) -> Columns:
        graph = self._graph
        if is_missing(step.marker):
            is_absent = graph.add("IsNaN", X.name)
        else:
            markers = [self._number(of, step.marker) for of in X.sources.tolist()]
            is_absent = graph.add("Equal", X.name, graph.constant(markers, X.dtype))
        kept = self._some(X, step.kept)
        pairs = zip(kept.sources.tolist(), step.fill.tolist(), strict=True)
        fill = graph.constant([self._number(of, value) for of, value in pairs], X.dtype)
        absent = Columns(is_absent, X.dtype, X.sources)
        filled = graph.add("Where", self._some(absent, step.kept).name, fill, kept.name)
        parts = [kept._replace(name=filled)]
        if len(step.indicated):
            marks = graph.cast(self._some(absent, step.indicated).name, X.dtype)
            parts.append(Columns(marks, X.dtype, _computed(len(step.indicated))))
        return self._joined(parts)

    def _number(self, source: int, value: Any) -> Any:
        """Return the code of a value in a column of X that has codes; else the value."""
        if source not in self.vocabulary:
            return value
        if is_missing(value):
            return np.nan
        codes = self.vocabulary[source]
        return codes.setdefault(value, len(codes))

    def _table(self, step: Codes, X: Columns) -> tuple[str, NDArray[np.float64]]:
        """Return rows of a table for the codes of X, and the table: the codes of an encoder."""
        graph, sources = self._graph, X.sources.tolist()
        for source, categories in zip(sources, step.categories, strict=True):
            for value in categories.tolist():
                self._number(source, value)
        sizes = {i: len(self.vocabulary[source]) for i, source in enumerate(sources)}
        codes = add_codes(graph, X.name, sizes, X.dtype)
        made, is_error = np.zeros(codes.n_rows), np.zeros(codes.n_rows, bool)
        for i, source in enumerate(sources):
            table, unknown = step._tables[i], step.unknown[i]
            of_values = [table.get(value, unknown) for value in self.vocabulary[source]]
            of_missing = table.get(None, unknown) if step._of_nan[i] is None else step._of_nan[i]
            found = codes.table(i, missing=of_missing, categories=of_values, other=unknown)
            is_error[codes.of_column[i]] = [value is None for value in found]
            made[codes.of_column[i]] = [0 if value is None else value for value in found]
            if unknown is None:
                self.rejects.add(source)
        if not is_error.any():
            return codes.rows, made
        # Rows beyond the table, for which a runtime reports an error.
        bounded = np.where(is_error, codes.n_rows, np.arange(codes.n_rows))
        return graph.add("Gather", graph.constant(bounded, np.int64), codes.rows), made

    def _one_hot(self, step: OneHot, X: Columns) -> Columns:
        graph, dtype = self._graph, step.places.codes[0].dtype.type
        rows, place = self._table(step.places, X)
        if step.n_out == 0:
            return self._some(X, np.empty(0, np.int64))
        at = graph.add("Gather", graph.constant(np.maximum(place, 0), np.int64), rows)
        ones = graph.add("Gather", graph.constant(place >= 0, dtype), rows)
        zeros = graph.full(X.name, np.zeros(step.n_out, dtype))
        found = graph.add("ScatterElements", zeros, at, ones, axis=1, reduction="add")
        return Columns(found, dtype, _computed(step.n_out))

    def _some(self, X: Columns, positions: NDArray[np.integer]) -> Columns:
        """Take some columns."""
        if np.array_equal(positions, np.arange(len(X.sources))):
            return X
        name = self._graph.add("Gather", X.name, self._graph.constant(positions, np.int64), axis=1)
        return X._replace(name=name, sources=X.sources[positions])

    def _joined(self, parts: Sequence[Columns]) -> Columns:
        if len(parts) == 1:
            return parts[0]
        dtype = np.result_type(*(part.dtype for part in parts)).type
        names = [self._cast(part.name, part.dtype, dtype) for part in parts]
        sources = np.concatenate([part.sources for part in parts])
        return Columns(self._graph.add("Concat", *names, axis=1), dtype, sources)

    def _cast(self, name: str, dtype: type[np.floating], to: type[np.floating]) -> str:
        return name if dtype is to else self._graph.cast(name, to)


class _Reads:
    """The columns of X that steps read as numbers, and as categories; -1 is any other column."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.categories: set[int] = set()

    def all_of(self, steps: Sequence[Any], sources: Sources) -> Sources:
        """Note what steps read, and return where their columns come from."""
        for step in steps:
            sources = self._of_step(step, sources)
        return sources

    def _of_step(self, step: Any, sources: Sources) -> Sources:
        if isinstance(step, SideBySide):
            return np.concatenate([self.all_of(of, sources[at]) for at, of in step.parts])
        if isinstance(step, Scaler):
            self.numbers.update(sources.tolist())
            return sources
        if not step.takes_numbers:
            self.categories.update(sources.tolist())
        if isinstance(step, Imputer):
            return np.append(sources[step.kept], _computed(len(step.indicated)))
        return _computed(step.n_out)


def _computed(n_columns: int) -> Sources:
    return np.full(n_columns, -1)
