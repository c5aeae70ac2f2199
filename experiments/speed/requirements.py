"""Requirements for the updater (`requirements.yaml`), and whether the measurements meet them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import yaml

from experiments.speed.suites import SUITES, members
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


def read_requirements(report: str) -> list[Requirement]:
    """Return the requirements of a report, one of `REPORTS`."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    return [
        _requirement(content["titles"], **entry)
        for part in content[report]
        for entry in _entries(part)
    ]


def _entries(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an entry, or the rows that it stands for."""
    if "rows" not in entry:
        yield entry
        return
    common = {key: value for key, value in entry.items() if key != "rows"}
    for row in entry["rows"]:
        yield from _entries(common | row)


def _requirement(
    titles: dict[str, str],
    *,
    text: str,
    suite: str,
    over: str | list[str],
    reduce: str,
    under: str | None = None,
    data: list[str] | None = None,
    phase: str | None = None,
    threads: int | list[int] = 1,
    measure: str = "cpu_seconds",
    at_least: float | None = None,
    at_most: float | None = None,
    unit: str = "×",
    case: str = "{data}, {over}",
) -> Requirement:
    required = at_least if at_most is None else at_most
    assert required is not None
    names = [over] if isinstance(over, str) else [name for name in members(over) if name != under]
    above, below = threads if isinstance(threads, list) else (threads, threads)
    comparisons = []
    for numerator in names:
        for name in members(data or SUITES[suite].data):
            cell = Cell(suite, phase or SUITES[suite].phases[0], name, above, numerator)
            other = None if under is None else cell._replace(threads=below, candidate=under)
            label = case.format(data=name, over=numerator)
            comparisons.append(Comparison(label, cell, other, measure))
    text = text.format(over=titles.get(names[0]), under=titles.get(under or ""))
    return Requirement(text, required, comparisons, _REDUCTIONS[reduce], at_most is not None, unit)


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
