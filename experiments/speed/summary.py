"""Summaries of measurements: the best of the repeats, their spread, ratios and their means."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
