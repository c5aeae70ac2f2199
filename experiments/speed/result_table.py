"""The table of results of a run: the measurements of which the reports are made.

The first lines have the number of jobs, and the machine, versions and settings of all. Below, a
line is a job with the results of all repeats: a cell of a metric has a number for each repeat,
separated by blanks ("-": none), or one for all. Other values are JSON in the column `more`. The
second column `rounds` has the rounds that were trained. The curves of the figure are in a second
file, `<name>.traces.csv`.

The records also have what no report shows: a search for the time to quality measures a curve per
setting, of which the figure shows one for each candidate of two suites; of a training's parameters,
the reports name one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from experiments.engine.result_table import traces_file
from experiments.engine.table_lines import LineReader, number_list, write_rows
from experiments.speed.quality import Curve, from_json
from experiments.speed.suites import Job
from experiments.speed.summary import Cell, cell_of

DRAWN = ("quality", "end")
"""The suites whose curves the figure shows."""

REMEDY = (
    "`python -m experiments.speed run --output DIR` measures, and `python -m experiments.speed "
    "pack DIR` makes the table of the measurements."
)

_PLACE = [field.name for field in fields(Job)]
_REPEATS = ["repeats", "outcome", "time_limit"]
_MORE = "more"
_TRACE = ["repeat", "trace", "values"]
_CURVE = ("cpu_seconds", "held_out")
_IDLE = ("curves", "library")  # what a table leaves out
_NAMED = ("max_cached_hist_node",)
_DIGITS = 12
_CURVE_DIGITS = 4
_STEP = 1.04  # ratio of the seconds of two drawn points: two pixels of the logarithmic axis


class Measurements(NamedTuple):
    """Measurements as the reports use them: `Results.records` without what no report shows."""

    header: Mapping[str, Mapping[str, Any]]
    records: Sequence[Mapping[str, Any]]


def shown(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records without what no report shows.

    The `curve` of the first record of each candidate in `DRAWN` has the CPU seconds and held-out
    log-losses of the drawn points.
    """
    drawn: set[Cell] = set()
    found = []
    for record in records:
        cell, result = cell_of(record), record["result"]
        kept = {name: value for name, value in result.items() if name not in _IDLE}
        if named := {k: v for k, v in kept.pop("parameters", {}).items() if k in _NAMED}:
            kept["parameters"] = named
        if result.get("curves") and cell.suite in DRAWN and cell not in drawn:
            drawn.add(cell)
            kept["curve"] = _points(_drawn(result))
        found.append({**record, "result": kept})
    return found


def _drawn(result: Mapping[str, Any]) -> Curve:
    """Return the curve of the fastest setting, or of the one that came closest to the target."""
    curves = [from_json(curve) for curve in result["curves"]]
    if "setting" in result:
        return next(curve for curve in curves if vars(curve.setting) == result["setting"])
    return min(curves, key=lambda curve: curve.best().held_out)


def _points(curve: Curve) -> dict[str, list[float]]:
    """Return the points that are drawn."""
    kept = curve.points[:1]
    for point in curve.points[1:]:
        if point.cpu_seconds >= _STEP * kept[-1].cpu_seconds or point is curve.points[-1]:
            kept.append(point)
    return {name: [getattr(point, name) for point in kept] for name in _CURVE}


def write_table(file: Path, found: Measurements) -> list[Path]:
    """Write the table of measurements, and the curves if there are some.

    Raises
    ------
    StorageError
        If a file cannot be written; the old one stays.
    """
    jobs: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for record in found.records:
        jobs.setdefault(tuple(record["job"][name] for name in _PLACE), []).append(record)
    results = [record["result"] for record in found.records]
    names = list(dict.fromkeys(n for r in results for n, value in r.items() if _is_number(value)))
    rows = [[f"# {len(jobs)} jobs"]]
    for part, values in found.header.items():
        rows += [[part, name, json.dumps(value)] for name, value in values.items()]
    rows.append([*_PLACE, *_REPEATS, *names, _MORE])
    traces = [[*_PLACE, *_TRACE]]
    for job, records in jobs.items():
        place = list(map(str, job))
        own = [record["result"] for record in records]
        outcomes = [record["outcome"] for record in records]
        limits = _cell([record["time_limit"] for record in records])
        more = [{k: v for k, v in r.items() if k != "curve" and not _is_number(v)} for r in own]
        cells = [_cell([result.get(name) for result in own]) for name in names]
        rows.append(
            [*place, str(len(records)), _shared(outcomes, ";"), limits, *cells, _json(more)]
        )
        for record in records:
            for name, values in record["result"].get("curve", {}).items():
                told = number_list(values, _CURVE_DIGITS)
                traces.append([*place, str(record["repeat"]), name, told])
    write_rows(file, rows)
    if len(traces) == 1:
        traces_file(file).unlink(missing_ok=True)
        return [file]
    write_rows(traces_file(file), traces)
    return [file, traces_file(file)]


def read_table(file: Path) -> Measurements:
    """Read a table and its curves.

    Raises
    ------
    TableError
        If a file is missing or damaged.
    """
    return _Reader(REMEDY).measurements(file)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> str:
    """Return a number as text: whole numbers exactly."""
    return str(value) if isinstance(value, int) else f"{value:.{_DIGITS}g}"


def _cell(values: list[float | None]) -> str:
    if all(value is None for value in values):
        return ""
    return _shared(["-" if value is None else _number(value) for value in values], " ")


def _shared(texts: list[str], separator: str) -> str:
    """Return one text if all are equal, else all."""
    return texts[0] if len({*texts}) == 1 else separator.join(texts)


def _json(more: list[dict[str, Any]]) -> str:
    """Return the other values of each repeat, or once if they are the same."""
    texts = [json.dumps(_rounded(entries), separators=(",", ":")) for entries in more]
    if not any(more):
        return ""
    return texts[0] if len({*texts}) == 1 else f"[{','.join(texts)}]"


def _rounded(value: Any) -> Any:
    """Round the floating-point numbers of a JSON value."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value


class _Reader(LineReader):
    """Reads a table and its curves."""

    def measurements(self, file: Path) -> Measurements:
        """Return the measurements in the order of the file."""
        curves = self._curves(traces_file(file)) if traces_file(file).exists() else {}
        rows = self.rows(file)
        first = ",".join(next(rows, [])).split(" ")
        if len(first) != 3 or first[0] != "#" or first[2] != "jobs":
            self.fail("the number of jobs is missing")
        header: dict[str, dict[str, Any]] = {}
        head: list[str] = []
        for cells in rows:
            if cells[:1] == _PLACE[:1]:
                head = cells
                break
            self.check_width(cells, 3)
            header.setdefault(cells[0], {})[cells[1]] = self._value(cells[2])
        n_own = len(_PLACE) + len(_REPEATS)
        names = head[n_own:-1]
        self.check_head(head, [*_PLACE, *_REPEATS, *names, _MORE])
        records: list[Mapping[str, Any]] = []
        n_jobs = 0
        for cells in rows:
            self.check_width(cells, len(head))
            records += self._repeats(cells, names, curves)
            n_jobs += 1
        if first[1] != str(n_jobs):
            self.fail(f"the table does not end with job {first[1]}")
        return Measurements(header, records)

    def _repeats(
        self, cells: list[str], names: list[str], curves: Mapping[tuple[str, ...], dict[str, Any]]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the records of a job."""
        n_place = len(_PLACE)
        place, (repeats, outcomes, limits), own = (
            cells[:n_place],
            cells[n_place : n_place + len(_REPEATS)],
            cells[n_place + len(_REPEATS) : -1],
        )
        n_repeats = self._integer(repeats)
        job = dict(zip(_PLACE, place, strict=True))
        numbers = {name: self._integer(job[name]) for name in ("threads", "rounds", "seed")}
        more = self._value(cells[-1] or "{}")
        if isinstance(more, dict):
            more = [more] * n_repeats
        if len(more) != n_repeats:
            self.fail(f"{cells[-1]!r} is of {len(more)} repeats, not {n_repeats}")
        columns = {
            name: self._of_repeats(cell, n_repeats) for name, cell in zip(names, own, strict=True)
        }
        of_outcomes = self._split(outcomes, ";", n_repeats)
        of_limits = self._of_repeats(limits, n_repeats)
        for repeat in range(n_repeats):
            result = {
                n: values[repeat] for n, values in columns.items() if values[repeat] is not None
            }
            curve = curves.get((*place, str(repeat)))
            yield {
                "job": job | numbers,
                "repeat": repeat,
                "outcome": of_outcomes[repeat],
                "time_limit": of_limits[repeat],
                "result": result | more[repeat] | ({"curve": curve} if curve else {}),
            }

    def _curves(self, file: Path) -> dict[tuple[str, ...], dict[str, Any]]:
        rows = self.rows(file)
        head = [*_PLACE, *_TRACE]
        self.check_head(next(rows, []), head)
        found: dict[tuple[str, ...], dict[str, Any]] = {}
        for cells in rows:
            self.check_width(cells, len(head))
            *place, name, values = cells
            found.setdefault(tuple(place), {})[name] = self.numbers(values)
        return found

    def _split(self, cell: str, separator: str, n_repeats: int) -> list[str]:
        """Return the text of each repeat."""
        texts = cell.split(separator)
        if len(texts) == 1:
            return texts * n_repeats
        if len(texts) != n_repeats:
            self.fail(f"{cell!r} has {len(texts)} entries, not {n_repeats}, one for each repeat")
        return texts

    def _of_repeats(self, cell: str, n_repeats: int) -> list[float | None]:
        """Return the number of each repeat, None where it has none."""
        texts = self._split(cell or "-", " ", n_repeats)
        return [None if text == "-" else self._one(text) for text in texts]

    def _one(self, text: str) -> float:
        return int(text) if text.isdigit() else self.numbers(text)[0]

    def _integer(self, text: str) -> int:
        if not text.isdigit():
            self.fail(f"{text!r} is not a whole number from 0")
        return int(text)

    def _value(self, cell: str) -> Any:
        try:
            return json.loads(cell)
        except ValueError as error:
            self.fail(f"{cell!r} is not JSON ({error})")
