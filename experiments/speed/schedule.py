"""How long a recording takes on any number of threads, by its work and its structure.

Threads claim the tasks of a region in their order, each when it has ended the one before. What is
between regions runs on one thread. Memory's bandwidth and the waking of threads are not modelled.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.speed.spans import Recording

SHORTEST = 10e-6
"""Seconds of work below which a region runs on one thread."""

type Kind = Literal["serial", "too short", "uneven"]


@dataclass(frozen=True)
class Part:
    """All regions of one name, or all that is serial between two names."""

    name: str
    times: int
    work: float  # seconds of all tasks
    seconds: float  # on the scheduled number of threads
    kind: Kind  # why it is slower than its share of the work


@dataclass(frozen=True)
class Schedule:
    """A recording on a number of threads."""

    n_threads: int
    seconds: float
    parts: list[Part]

    @property
    def work(self) -> float:
        """Seconds of all tasks, and of what is serial."""
        return sum(part.work for part in self.parts)

    def lost(self, part: Part) -> float:
        """Return the seconds that a part takes longer than its work by all threads."""
        return part.seconds - part.work / self.n_threads


def makespan(tasks: Sequence[float], n_threads: int) -> float:
    """Return when the last task ends if threads claim tasks in order.

    Examples
    --------
    >>> makespan([3.0, 1.0, 1.0, 4.0], 2)
    6.0
    """
    free_at = [0.0] * min(n_threads, len(tasks))
    for task in tasks:
        heapq.heapreplace(free_at, free_at[0] + task)
    return max(free_at, default=0.0)


def region_seconds(tasks: Sequence[float], n_threads: int, cost: float) -> float:
    """Return how long a region takes; `cost` is what each further thread costs to begin it.

    Examples
    --------
    >>> region_seconds([1.0, 1.0, 1.0], 4, 0.25)
    1.5
    """
    work = sum(tasks)
    if n_threads == 1 or work < SHORTEST:
        return work
    return min(work, _begin(tasks, n_threads, cost) + makespan(tasks, n_threads))


def _begin(tasks: Sequence[float], n_threads: int, cost: float) -> float:
    """Return the cost of beginning a region, which is offered to one thread after the other."""
    return cost * (min(n_threads, len(tasks)) - 1)


def schedule(recording: Recording, n_threads: int, cost: float) -> Schedule:
    """Return how long a recording takes on a number of threads, part by part.

    Parameters
    ----------
    recording : Recording
        With as many tasks as that number of threads has.
    n_threads : int
        The number of threads.
    cost : float
        Seconds that each further thread costs to begin a region.

    Returns
    -------
    Schedule
        Its parts are sorted by the seconds lost, most first.
    """
    regions: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    gaps: dict[str, list[float]] = defaultdict(list)
    before, end = "begin", 0.0
    for region in recording.regions:
        gaps[f"{before} → {region.name}"].append(region.begin - end)
        taken = region_seconds(region.tasks, n_threads, cost)
        begun = _begin(region.tasks, n_threads, cost)
        regions[region.name].append((sum(region.tasks), taken, begun))
        before, end = region.name, region.end
    gaps[f"{before} → end"].append(recording.total - end)
    parts = [Part(name, len(of), sum(of), sum(of), "serial") for name, of in gaps.items()]
    for name, of in regions.items():
        work, seconds, begun = (sum(column) for column in zip(*of, strict=True))
        # Time lost to the start of regions, not to tasks that are too few or too different.
        ideal = work / n_threads
        kind: Kind = "too short" if seconds - ideal < 2 * begun else "uneven"
        parts.append(Part(name, len(of), work, seconds, kind))
    total = sum(part.seconds for part in parts)
    parts.sort(key=lambda part: part.work / n_threads - part.seconds)
    return Schedule(n_threads, total, parts)
