"""The table of results of an experiment: the numbers of which its report is made.

A configuration `full.yaml` has the table `full.csv` and, if its figures need them, the traces
`full.traces.csv`. Both are made of the records, which stay out of the repository.

A line of the table is a method with its parameters on a data set; it has the results of all parts
of the evaluation. The column `parts` lists the numbers of these, and a cell of a metric has a value
for each of them, separated by blanks, or one value for all. Shares are fractions, which are exact.
A long cell with `^` has the text of the cell above: decision rules share a model's probabilities.
A line of the traces is one trace of one part. The first line of the table has the number of lines
and the versions that made the results, the others are in the configuration's order. Equal results
give equal files, and a change of a method changes its own lines only.

A table that is damaged, or does not fit its configuration, is refused. The message names the file,
the line, and the commands that make it anew.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments import RESULTS
from experiments.engine.configuration import (
    SIZES,
    Configuration,
    configuration_files,
    find_configuration,
    load_configuration,
)
from experiments.engine.measures import MEASURES
from experiments.engine.plan import Group, groups, missing_methods
from experiments.engine.results import (
    ALL_FAILED,
    ALWAYS,
    COMPARISONS,
    COSTS,
    FAILURES,
    Results,
    place_of,
    table_of,
)
from experiments.engine.results import SIZES as PART_SIZES
from experiments.engine.table_lines import LineReader, number_list, write_rows
from experiments.engine.traces import Traces, traces_of

_PLACE = ("data", "line", "seed", "params", "rule", "error")
_PARTS = "parts"
_TRACE = ("part", "trace", "values")

_DIGITS = {"train_time": 6, "predict_time": 5, "tuning_time": 6, "peak_memory": 4}
"""Significant digits of costs; scores have all, because ranks depend on whether two are equal."""

_TRACE_DIGITS = 7

_SAME = "^"
_SHORT = 12  # a cell with more letters can be `_SAME`

_LARGEST_DENOMINATOR = 10**6


def table_file(name: str, results: Path = RESULTS) -> Path:
    """Return where the table of a configuration is, or would be.

    Those of the package's configurations are beside the YAML files; with another folder of results,
    all are in its subfolder `tables`.
    """
    files = configuration_files()
    if results == RESULTS and name in files:
        return files[name].with_suffix(".csv")
    return results / "tables" / f"{name}.csv"


def traces_file(table: Path) -> Path:
    """Return where the traces that belong to a table are, or would be."""
    return table.with_suffix(".traces.csv")


def load_finished(name: str, results: Path = RESULTS) -> tuple[Configuration, Results]:
    """Read the table of an experiment, named without a size, in its largest size with a table.

    Raises
    ------
    FileNotFoundError
        If no size has a table; the message names the commands that make it.
    TableError
        If the table is damaged.
    """
    sizes = [f"{name}-{size}" for size in SIZES]
    sizes = [size for size in sizes if size in configuration_files()] or sizes
    for size in sizes:
        file = table_file(size, results)
        if file.exists():
            config = load_configuration(find_configuration(size))
            return config, read_table(file, config)
    raise FileNotFoundError(f"There is no table of results of {name}. {_remedy(sizes[-1])}")


def _remedy(name: str) -> str:
    return (
        f"`python -m experiments run {name}` makes the records that are missing, and `python -m "
        f"experiments pack {name}` makes the table of them."
    )


def write_table(file: Path, config: Configuration, results: Results) -> list[Path]:
    """Write the table of finished results, and their traces if the report needs some.

    Raises
    ------
    StorageError
        If a file cannot be written; the old one stays.
    """
    versions = "; ".join(f"{name} {' and '.join(v)}" for name, v in results.versions.items())
    names = _number_columns(config)
    table: list[list[str]] = [[*_PLACE, _PARTS, *names]]
    above: dict[tuple[str, str], list[str]] = {}
    traces: list[list[str]] = [[*_PLACE[:-1], *_TRACE]]
    for place, rows in _merged(config, results):
        parts = _ranges([row["fold"] for row in rows])
        cells = [
            _cell([row.get(name) for row in rows[: 1 if name in PART_SIZES else None]], name)
            for name in names
        ]
        same = above.get((place[0], parts), [""] * len(cells))
        above = {(place[0], parts): cells}
        short = [
            _SAME if cell == one and len(cell) > _SHORT else cell
            for cell, one in zip(cells, same, strict=True)
        ]
        table.append([*place, parts, *short])
        for row in rows:
            for name, values in row.get("traces", {}).items():
                told = number_list(values, _TRACE_DIGITS)
                traces.append([*place[:-1], str(row["fold"]), name, told])
    write_rows(file, [[f"# {len(table) - 1} lines; {versions}"], *table])
    if len(traces) > 1:
        write_rows(traces_file(file), traces)
        return [file, traces_file(file)]
    traces_file(file).unlink(missing_ok=True)
    return [file]


def read_table(file: Path, config: Configuration) -> Results:
    """Read the table of a configuration and its traces.

    Raises
    ------
    TableError
        If a file is missing or damaged, or has not exactly the results of the configuration.
    """
    return _Reader(config).results(file)


def _number_columns(config: Configuration) -> list[str]:
    """Return the metrics that the report names, in the order of `MEASURES`, costs and sizes.

    The costs of prediction and memory are there if the report names them, or if the experiment is
    one of the comparisons of the overview.
    """
    named = {measure for section in config.report for measure in section.measures}
    for section in config.report:
        named |= {measure for claim in section.claims for measure in claim.measures()}
    scores = [name for name in MEASURES if name in named and name not in COSTS]
    compares = config.name.removesuffix(f"-{SIZES[0]}") in COMPARISONS
    costs = [name for name in COSTS if compares or name in named or name in ALWAYS]
    return [*scores, *costs, *PART_SIZES]


def _merged(
    config: Configuration, results: Results
) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """Yield the first cells of each line of the table, and its results part by part."""
    rows = results.table.assign(error="").to_dict("records")
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in [*rows, *results.failures.assign(rule="").to_dict("records")]:
        told = _told(row["params"], config, row["line"])
        cells = row["data"], row["line"], str(row["seed"]), told, row["rule"], row["error"]
        found.setdefault(cells, []).append(row)
    datasets, lines = list(config.datasets), list(config.methods)

    def order(place: tuple[str, ...]) -> tuple[int, int, int]:
        return datasets.index(place[0]), lines.index(place[1]), int(place[2])

    for place in sorted(found, key=order):  # lines that differ in parameters stay in their order
        yield list(place), found[place]


def _told(params: dict[str, Any], config: Configuration, line: str) -> str:
    """Return the cell of a model's parameters: those that are chosen or varied."""
    entry = config.methods[line]
    names = config.methods[entry.params_of or line].chosen_from()
    told = {name: params[name] for name in names if name in params}
    return json.dumps(told, separators=(",", ":")) if told else ""


def _ranges(parts: list[int]) -> str:
    """Return increasing numbers, with runs of them as ranges.

    Examples
    --------
    >>> _ranges([0, 1, 2, 5]), _ranges([3])
    ('0-2 5', '3')
    """
    ends = [k for k, part in enumerate(parts) if part + 1 not in parts[k + 1 : k + 2]]
    starts = [0, *(k + 1 for k in ends[:-1])]
    pairs = [(parts[start], parts[end]) for start, end in zip(starts, ends, strict=True)]
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in pairs)


def _list(values: Iterable[float], digits: int | None) -> str:
    """Return numbers as text, with this many digits, or all that make a difference."""
    return " ".join(map(_exact, values)) if digits is None else number_list(values, digits)


def _exact(value: float) -> str:
    """Return a number as text that gives the same number: as a fraction, if that is shorter.

    Examples
    --------
    >>> _exact(4 / 19), _exact(0.25), _exact(3.0), _exact(2**0.5)
    ('4/19', '0.25', '3', '1.4142135623730951')
    """
    text = repr(float(value)).removesuffix(".0")
    if len(text) < 9 or not 0 < value < 1:
        return text
    near = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    exact = near.numerator / near.denominator == value
    return min(str(near), text, key=len) if exact else text


def _cell(values: list[float | None], name: str) -> str:
    """Return the cell of a value per part: one if all are equal, empty if all are missing."""
    numbers = [math.nan if value is None else value for value in values]
    if all(map(math.isnan, numbers)):
        return ""
    texts = _list(numbers, _DIGITS.get(name)).split(" ")
    return texts[0] if len({*texts}) == 1 else " ".join(texts)


class _Line(NamedTuple):
    """A line of the table: the numbers of a model in each part."""

    number: int
    place: dict[str, str]
    parts: list[int]
    columns: dict[str, list[float]]

    def row(self, part: int) -> dict[str, Any]:
        """Return the numbers of a part."""
        k = self.parts.index(part)
        return {name: values[k] for name, values in self.columns.items()}


type _Traces = dict[tuple[str, ...], Traces]  # by the place and the part


class _Reader(LineReader):
    """Reads a table and its traces."""

    def __init__(self, config: Configuration) -> None:
        super().__init__(_remedy(config.name))
        self.config = config

    def results(self, file: Path) -> Results:
        """Return the results of a table, in the order of `load_results`."""
        traces = self._traces(traces_file(file))
        lines = self.rows(file)
        n_lines, versions = self._first_line(next(lines, []))
        found: dict[tuple[str, str, int, int], list[_Line]] = {}
        for line in self._lines(lines):
            for part in line.parts:
                key = line.place["data"], line.place["line"], part, int(line.place["seed"])
                found.setdefault(key, []).append(line)
        end = self.number
        if len({line.number for own in found.values() for line in own}) != n_lines:
            self.fail(f"the table does not end with line {n_lines} of the results")
        there = {line for _, line, _, _ in found}
        absent = missing_methods(self.config)
        rows: list[dict[str, Any]] = []
        failures: list[dict[str, Any]] = []
        n_missing = 0
        for group in groups(self.config):
            place = place_of(group)
            own = found.pop(tuple(place.values()), [])
            if group.line not in there:
                n_missing += group.line not in absent
                continue
            self._check_whole(group, own, end)
            for line in own:
                self.number = line.number
                row = place | {"params": self._params(group, line)}
                if line.place["error"]:
                    failures.append(row | {"error": line.place["error"]})
                else:
                    of_part = (*list(line.place.values())[:-1], str(place["fold"]))
                    rows.append(
                        row
                        | {"rule": line.place["rule"]}
                        | line.row(place["fold"])
                        | {"traces": self._own_traces(row, traces.get(of_part, {}))}
                    )
        for (data, name, part, seed), own in found.items():
            self.number = own[0].number
            self.fail(f"{name} on {data}, part {part}, seed {seed} is not in the configuration")
        return Results(
            table_of(rows), pd.DataFrame(failures, columns=FAILURES), n_missing, versions
        )

    def _lines(self, rows: Iterator[list[str]]) -> Iterator[_Line]:
        """Yield the lines of the table below the versions."""
        names = _number_columns(self.config)
        n_place = len(_PLACE)
        above: dict[tuple[str, str], list[str]] = {}
        self.check_head(next(rows, []), [*_PLACE, _PARTS, *names])
        for cells in rows:
            self.check_width(cells, n_place + 1 + len(names))
            parts = self._parts(cells[n_place])
            self._parts(cells[_PLACE.index("seed")])
            of = cells[0], cells[n_place]
            above = {of: self._with_same(cells[n_place + 1 :], above.get(of))}
            columns = {
                name: self._of_parts(cell, len(parts))
                for name, cell in zip(names, above[of], strict=True)
            }
            place = dict(zip(_PLACE, cells[:n_place], strict=True))
            if not self._is_known(place["data"], place["line"]):
                self.fail(f"{place['line']} on {place['data']} is not in the configuration")
            yield _Line(self.number, place, parts, columns)

    def _with_same(self, cells: list[str], above: list[str] | None) -> list[str]:
        """Return the cells with the text of those above for `_SAME`."""
        if above is None:
            if _SAME in cells:
                self.fail(f"{_SAME} is in the first line of a data set or of its parts")
            return cells
        return [one if cell == _SAME else cell for cell, one in zip(cells, above, strict=True)]

    def _is_known(self, data: str, line: str) -> bool:
        return data in self.config.datasets and line in self.config.methods

    def _traces(self, file: Path) -> _Traces:
        if not file.exists():
            self.file, self.number = file, 1
            return {}
        rows = self.rows(file)
        head = [*_PLACE[:-1], *_TRACE]
        self.check_head(next(rows, []), head)
        found: _Traces = {}
        for cells in rows:
            self.check_width(cells, len(head))
            *place, name, values = cells
            found.setdefault(tuple(place), {})[name] = np.array(self.numbers(values))
        return found

    def _own_traces(self, row: dict[str, Any], found: Traces) -> Traces:
        names = traces_of(self.config, row["data"], row["line"], row["params"])
        for name in names:
            if name not in found:
                self.fail(f"{traces_file(self.file).name} has no trace {name} of this")
        return {name: found[name] for name in names}

    def _first_line(self, cells: list[str]) -> tuple[int, dict[str, list[str]]]:
        """Return the number of results, and the versions."""
        told = re.fullmatch(r"# (\d+) lines; (.*)", ",".join(cells))
        if told is None:
            self.fail("the number of lines and the versions are missing")
        packages = [part.partition(" ") for part in told[2].split("; ")]
        return int(told[1]), {name: each.split(" and ") for name, _, each in packages}

    def _params(self, group: Group, line: _Line) -> dict[str, Any]:
        if line.place["error"] == ALL_FAILED:
            return {}
        try:
            told = json.loads(line.place["params"] or "{}")
        except ValueError as error:
            self.fail(f"the parameters are not JSON ({error})")
        return group.finals[0].params | told

    def _check_whole(self, group: Group, own: list[_Line], end: int) -> None:
        expected = 1 if group.tuning_tasks() else len(group.finals) * len(group.rules)
        if len(own) != expected:
            place = place_of(group)
            self.number = own[-1].number if own else end
            self.fail(
                f"{place['line']} on {place['data']}, part {place['fold']}, seed {place['seed']} "
                f"has {len(own)} results, not {expected}"
            )

    def _parts(self, cell: str) -> list[int]:
        """Return the numbers of a list of ranges."""
        try:
            ends = [[int(text) for text in part.split("-")] for part in cell.split(" ")]
        except ValueError:
            self.fail(f"{cell!r} is not a list of numbers from 0")
        return [number for pair in ends for number in range(pair[0], pair[-1] + 1)]

    def _of_parts(self, cell: str, n_parts: int) -> list[float]:
        """Return the value of each part: of an empty cell NaN, of a single number always it."""
        numbers = self.numbers(cell) if cell else [math.nan]
        if len(numbers) == 1:
            return numbers * n_parts
        if len(numbers) != n_parts:
            self.fail(f"{cell!r} has {len(numbers)} numbers, not {n_parts}, one for each part")
        return numbers
