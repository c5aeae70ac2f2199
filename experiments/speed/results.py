"""The file of the measurements, their origin, and summaries of them.

The head of a file names the fields of a job once, a measurement lists their values. Numbers have
twelve significant digits.
`Results` writes the file after each measurement, so you can continue an interrupted run: it does
not repeat the measurements in the file. A file has measurements of one machine, the same builds and
the same settings (`describe_machine`, `installed_versions`). `Summary` gives the best of the
repeats, their spread, ratios and their means.
"""

import hashlib
import json
import math
import os
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import xgboost

from experiments.engine.records import atomic, versions
from experiments.speed.suites import Job
from xdcc.base.plugin import plugin_version

_FORMAT = 2
_FIELDS = [field.name for field in fields(Job)]
_DIGITS = 12


class Results:
    """The measurements.

    Attributes
    ----------
    file : Path
        The file, `results.json`.
    header : dict
        `machine`, `versions` and `settings` of all measurements.
    records : list of dict
        `job`, `repeat` (from 0), `outcome` ("measured", "longer than", "ended" or "skipped"),
        `time_limit` in CPU seconds, `written` and `result` of each.
    """

    def __init__(self, file: Path, header: dict[str, Any], records: list[dict[str, Any]]) -> None:
        self.file = file
        self.header = header
        self.records = records
        self._place = {(Job(**r["job"]), r["repeat"]): k for k, r in enumerate(records)}

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the results in a folder.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not the output of a run.
        """
        file = folder / "results.json"
        if not file.exists():
            raise FileNotFoundError(
                f"{folder} has no results.json: it is not the output folder of a run"
            )
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']}, expected {_FORMAT}")
            header = {name: content[name] for name in ("machine", "versions", "settings")}
            job_of = partial(zip, content["job"], strict=True)
            records = [r | {"job": dict(job_of(r["job"]))} for r in content["measurements"]]
            return cls(file, header, records)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{file} is not the output of a run ({type(error).__name__}: {error}); move it "
                "away or name another folder"
            ) from error

    @classmethod
    def open(cls, folder: Path, header: dict[str, Any]) -> Self:
        """Read the results in a folder to add to them, or start without any.

        Raises
        ------
        ValueError
            If the file is not the output of a run, or its measurements come from another machine,
            other builds or other settings.
        """
        if not (folder / "results.json").exists():
            return cls(folder / "results.json", header, [])
        results = cls.read(folder)
        for part, values in header.items():
            before = results.header[part]
            for name in before.keys() & values.keys():
                if before[name] != values[name]:
                    raise ValueError(
                        f"{results.file} was measured with {part} {name} = {before[name]!r}, and "
                        f"now it is {values[name]!r}: name another folder"
                    )
            results.header[part] = before | values
        return results

    def find(self, job: Job, repeat: int) -> dict[str, Any] | None:
        """Return the record of a measurement, None if there is none."""
        place = self._place.get((job, repeat))
        return None if place is None else self.records[place]

    def measured(self, job: Job) -> dict[str, Any] | None:
        """Return the result of the first repeat, None if it did not finish."""
        record = self.find(job, 0)
        return record["result"] if record and record["outcome"] == "measured" else None

    def add(
        self, job: Job, repeat: int, outcome: str, time_limit: float, result: dict[str, Any]
    ) -> None:
        """Store a measurement, instead of an earlier one of the same job and repeat."""
        record = {
            "job": asdict(job),
            "repeat": repeat,
            "outcome": outcome,
            "time_limit": time_limit,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "result": result,
        }
        place = self._place.setdefault((job, repeat), len(self.records))
        self.records[place : place + 1] = [record]
        self.write()

    def write(self) -> None:
        """Write the file; the old one stays if that fails."""
        compact = json.JSONEncoder(separators=(",", ":"))
        records = ({**r, "job": [r["job"][name] for name in _FIELDS]} for r in self.records)
        lines = ",\n".join(compact.encode(_rounded(record)) for record in records)
        head = json.dumps(
            {"format": _FORMAT, "job": _FIELDS, **self.header}, indent=1
        ).removesuffix("\n}")
        text = f'{head},\n "measurements": [\n{lines}\n]}}\n'
        with atomic(self.file) as file:
            file.write(text.encode())


def _rounded(value: Any) -> Any:
    """Round the floating-point numbers of a JSON value."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value


_PACKAGES = (
    "xdcc",
    "xgboost",
    "lightgbm",
    "catboost",
    "treelite",
    "scikit-learn",
    "numpy",
    "scipy",
)


def describe_machine() -> dict[str, Any]:
    """Return the processor's model and caches, the cores, the memory and the operating system.

    Raises
    ------
    OSError
        If this is not Linux, which has them in /proc.
    """
    cpu_info = Path("/proc/cpuinfo")
    if not cpu_info.exists():
        raise OSError("the benchmark needs Linux, because it reads /proc")
    fields = dict(line.split(":", 1) for line in cpu_info.read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    return {
        "processor": fields.get("model name", platform.machine()),
        "vector instructions": [name for name in ("avx2", "avx512f") if name in flags],
        "caches": _caches(Path("/sys/devices/system/cpu/cpu0/cache")),
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": platform.platform(),
    }


def installed_versions() -> dict[str, str]:
    """Return the versions of Python, the installed packages and the plugin.

    `library` is a digest of the compiled XGBoost, which identifies the build.
    """
    installed = {name: number for name, number in versions(_PACKAGES).items() if number}
    return installed | {"plugin": plugin_version() or "none", "library": library_digest()}


def library_digest() -> str:
    """Return the beginning of the SHA-256 digest of the compiled XGBoost."""
    library = Path(xgboost.build_info()["libxgboost"])
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16]


def _caches(folder: Path) -> dict[str, str]:
    """Return the size of each of a core's caches."""
    caches = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size = (
            (index / name).read_text().strip() for name in ("level", "type", "size")
        )
        caches[f"L{level} {kind.lower()}"] = size
    return caches


type Bound = Literal["", "at least", "at most"]


class Cell(NamedTuple):
    """The fields that the repeats of a measurement share."""

    suite: str
    phase: str
    data: str
    threads: int
    candidate: str


def cell_of(record: Mapping[str, Any]) -> Cell:
    """Return the cell that a measurement belongs to."""
    return Cell(*(record["job"][field] for field in Cell._fields))


@dataclass(frozen=True)
class Best:
    """The minimum of the repeats."""

    value: float
    spread: float  # the maximum divided by the minimum, minus 1
    repeats: int
    at_least: bool = False  # the value is the time limit


@dataclass(frozen=True)
class Ratio:
    """A ratio of two measurements, or a bound of it if one reached the time limit."""

    value: float
    bound: Bound = ""


class Summary:
    """Summarises the records of `Results`."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._records: dict[Cell, list[Mapping[str, Any]]] = defaultdict(list)
        for record in records:
            self._records[cell_of(record)].append(record)

    def cells(self, suite: str) -> list[Cell]:
        """Return the cells of a suite, in the order in which they were measured."""
        return [cell for cell in self._records if cell.suite == suite]

    def records(self, cell: Cell) -> list[Mapping[str, Any]]:
        """Return the records of a cell."""
        return self._records.get(cell, [])

    def results(self, cell: Cell) -> list[Mapping[str, Any]]:
        """Return the results of the repeats that finished."""
        return [r["result"] for r in self.records(cell) if r["outcome"] == "measured"]

    def best(self, cell: Cell, measure: str = "cpu_seconds") -> Best | None:
        """Return the minimum of the repeats, None if there is no measurement.

        If none finished but one reached the time limit, its CPU seconds are at least that limit.
        """
        values = [result[measure] for result in self.results(cell)]
        if values:
            spread = max(values) / min(values) - 1 if min(values) > 0 else math.nan
            return Best(min(values), spread, len(values))
        limits = [r["time_limit"] for r in self.records(cell) if r["outcome"] == "longer than"]
        if limits and measure == "cpu_seconds":
            return Best(max(limits), math.nan, 0, at_least=True)
        return None

    def tests(self, cell: Cell) -> dict[int, float]:
        """Return the test log-loss at the end, by the seed of the held-out rows."""
        measured = (r for r in self.records(cell) if r["outcome"] == "measured")
        return {record["job"]["seed"]: record["result"]["test"] for record in measured}

    def ratio(self, over: Cell, under: Cell | None, measure: str = "cpu_seconds") -> Ratio | None:
        """Return how many times as much one measurement is as another, None if that is unknown.

        Without another it is the measurement itself. Of test log-losses the means are divided,
        over the seeds that both have.
        """
        if measure == "test":
            above = self.tests(over)
            below = dict.fromkeys(above, 1.0) if under is None else self.tests(under)
            seeds = above.keys() & below.keys()
            sums = [sum(losses[seed] for seed in seeds) for losses in (above, below)]
            return Ratio(sums[0] / sums[1]) if seeds else None
        numerator = self.best(over, measure)
        denominator = Best(1.0, 0.0, 1) if under is None else self.best(under, measure)
        if numerator is None or denominator is None:
            return None
        if numerator.at_least and denominator.at_least:
            return None
        bound: Bound = (
            "at least" if numerator.at_least else "at most" if denominator.at_least else ""
        )
        return Ratio(numerator.value / denominator.value, bound)
