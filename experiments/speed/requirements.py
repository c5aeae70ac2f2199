"""Requirements for the updater (`requirements.yaml`), and whether the measurements meet them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from experiments.engine.registry import lookup
from experiments.engine.yaml_file import Part, checked, read_yaml
from experiments.speed.suites import CANDIDATES, SUITES, members
from experiments.speed.summary import Cell, Ratio, Summary


@dataclass(frozen=True)
class Comparison:
    """One measurement divided by another, or alone."""

    label: str  # unique within its requirement
    over: Cell
    under: Cell | None
    measure: str


@dataclass(frozen=True)
class Requirement:
    """A number to reach."""

    text: str
    required: float
    comparisons: list[Comparison]
    reduce: Callable[[Sequence[float]], float]  # of the comparisons' quotients
    at_most: bool  # the number, not at least, what is required
    unit: str  # printed behind numbers


@dataclass(frozen=True)
class Verdict:
    """The measurements of a requirement."""

    requirement: Requirement
    measured: float | None
    state: str  # "reached", "NOT reached", "incomplete" (comparisons are missing), "not measured"
    found: int  # comparisons that are there
    worst: tuple[Comparison, Ratio] | None  # furthest from what is required


def largest_departure(ratios: Sequence[float]) -> float:
    """Return by how many per cent the ratio that is furthest from 1 differs from it."""
    return 100 * max(abs(ratio - 1) for ratio in ratios)


def number_faster(ratios: Sequence[float]) -> float:
    """Return how many ratios are above 1."""
    return sum(ratio > 1 for ratio in ratios)


_REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "geometric mean": geometric_mean,
    "largest departure": largest_departure,
    "number faster": number_faster,
}


def _known(kind: str, known: Mapping[str, Any]) -> AfterValidator:
    """Return a check that a name is known."""

    def check(name: str) -> str:
        lookup(kind, name, known)
        return name

    return AfterValidator(check)


class Row(Part):
    """A requirement in `requirements.yaml`."""

    text: str
    suite: Annotated[str, _known("suite", SUITES)]
    over: Annotated[str, _known("candidate", dict.fromkeys(CANDIDATES))] | list[str]
    reduce: Annotated[str, _known("reduction", _REDUCTIONS)]
    under: str | None = None
    data: list[str] | None = None
    phase: str | None = None
    threads: int | list[int] = 1
    measure: str = "cpu_seconds"
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "×"
    case: str = "{data}, {over}"

    @model_validator(mode="after")
    def _requires_a_number(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give one of at_least and at_most")
        return self

    def requirement(self, titles: dict[str, str]) -> Requirement:
        """Return the requirement with its comparisons."""
        over, suite, threads = self.over, SUITES[self.suite], self.threads
        names = [over] if isinstance(over, str) else [n for n in members(over) if n != self.under]
        above, below = threads if isinstance(threads, list) else (threads, threads)
        comparisons = []
        for numerator in names:
            for name in members(self.data or suite.data):
                cell = Cell(self.suite, self.phase or suite.phases[0], name, above, numerator)
                other = cell._replace(threads=below, candidate=self.under) if self.under else None
                label = self.case.format(data=name, over=numerator)
                comparisons.append(Comparison(label, cell, other, self.measure))
        text = self.text.format(over=titles.get(names[0]), under=titles.get(self.under or ""))
        required = self.at_least if self.at_most is None else self.at_most
        assert required is not None
        reduce = _REDUCTIONS[self.reduce]
        return Requirement(text, required, comparisons, reduce, self.at_most is not None, self.unit)


def _entries(entry: Any) -> Iterator[Any]:
    """Yield an entry, or the rows that it stands for."""
    if not isinstance(entry, dict) or not isinstance(entry.get("rows"), list):
        yield entry
        return
    common = {key: value for key, value in entry.items() if key != "rows"}
    for row in entry["rows"]:
        yield from _entries(common | row if isinstance(row, dict) else row)


def _rows(parts: Any) -> Any:
    return [row for part in parts for row in _entries(part)] if isinstance(parts, list) else parts


Rows = Annotated[list[Row], BeforeValidator(_rows)]


class RequirementFile(Part):
    """The keys of `requirements.yaml`: titles of candidates, requirements by report."""

    titles: dict[str, str]
    quality: Rows  # time to quality and scale
    results: Rows  # equal rounds
    drop_in: Rows  # plain XGBoost and busy machines
    side: Rows  # trainings side by side
    prediction: Rows
    cores: Rows
    outputs: Rows  # targets and classes


REPORTS = tuple(name for name in RequirementFile.model_fields if name != "titles")
"""The reports by the names of their templates."""


@cache
def _file() -> RequirementFile:
    path = Path(__file__).with_suffix(".yaml")
    return checked(path, read_yaml(path), RequirementFile)


def read_requirements(report: str) -> list[Requirement]:
    """Return the requirements of a report, one of `REPORTS`."""
    return [row.requirement(_file().titles) for row in getattr(_file(), report)]


def judge(requirement: Requirement, summary: Summary) -> Verdict:
    """Compare a requirement with what was measured.

    If only a bound of a quotient is known, because a training reached the time limit, the bound
    counts. A bound on the wrong side means that the requirement is not reached, except for counts,
    where such a case counts as not faster.
    """
    found = [
        (comparison, ratio)
        for comparison in requirement.comparisons
        if (ratio := summary.ratio(comparison.over, comparison.under, comparison.measure))
    ]
    if not found:
        return Verdict(requirement, None, "not measured", 0, None)
    measured = requirement.reduce([ratio.value for _, ratio in found])
    if requirement.at_most:
        worst = max(found, key=lambda pair: requirement.reduce([pair[1].value]))
        useless, reached = "at least", measured <= requirement.required
    else:
        worst = min(found, key=lambda pair: pair[1].value)
        useless, reached = "at most", measured >= requirement.required
    if requirement.reduce is not number_faster:
        reached = reached and all(ratio.bound != useless for _, ratio in found)
    state = "reached" if reached else "NOT reached"
    if len(found) < len(requirement.comparisons):
        state = "incomplete"
    return Verdict(requirement, measured, state, len(found), worst)
