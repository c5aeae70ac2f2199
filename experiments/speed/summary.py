"""Reads measurements: the best of the repeats, their spread, ratios and their means."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

type Bound = Literal["", "at least", "at most"]


class Cell(NamedTuple):
    """What the repeats of a measurement have in common."""

    suite: str
    phase: str
    data: str
    threads: int
    candidate: str


@dataclass(frozen=True)
class Best:
    """The least of the repeats."""

    value: float
    spread: float  # the largest divided by the least, less 1
    repeats: int
    at_least: bool = False  # ended at the time limit, which is the value


@dataclass(frozen=True)
class Ratio:
    """A quotient of two measurements, or a bound of it where one was ended at the time limit."""

    value: float
    bound: Bound = ""


class Summary:
    """Looks measurements up: the records of `Results`."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._records: dict[Cell, list[Mapping[str, Any]]] = defaultdict(list)
        for record in records:
            job = record["job"]
            self._records[Cell(*(job[field] for field in Cell._fields))].append(record)

    def cells(self, suite: str) -> list[Cell]:
        """Return the cells of a suite, in the order in which they were measured."""
        return [cell for cell in self._records if cell.suite == suite]

    def records(self, cell: Cell) -> list[Mapping[str, Any]]:
        """Return all that is known of a cell."""
        return self._records.get(cell, [])

    def results(self, cell: Cell) -> list[Mapping[str, Any]]:
        """Return what the repeats measured that came to their end."""
        return [r["result"] for r in self.records(cell) if r["outcome"] == "measured"]

    def best(self, cell: Cell, measure: str = "cpu_seconds") -> Best | None:
        """Return the least of the repeats, None if there is no measurement.

        If none came to its end but one was ended at the time limit, its CPU seconds are at least
        that.
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


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers, of which there is at least one."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))
