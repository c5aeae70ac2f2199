"""``TimeBudget``: the seconds of a search, and what candidates take of them."""

import time
from typing import Protocol

import numpy as np

from xdcc.base.label_rows import SAMPLE_ENTRIES
from xdcc.base.workers import agreed, largest

SHARE_OF_ONE = 0.3
"""Share of a time budget that one candidate can take."""

_MOST_RESERVED = 0.4
"""Share of a time budget that can be kept for what follows the training."""

_FULL_SAMPLE = 80.0
"""Seconds of a time budget from which on calibration and rules have a sample of full size."""


_ENTRIES_IN_HASTE = 2**17
"""Entries of the sample after a callback or Ctrl-C has ended a search."""


class Estimated(Protocol):
    """A candidate, as far as its costs are concerned."""

    @property
    def kind(self) -> type:
        """The class of its model."""

    @property
    def seconds(self) -> float:
        """Seconds for training, estimated."""

    @property
    def least_seconds(self) -> float:
        """Seconds after which it is worth something."""

    @property
    def is_measured(self) -> bool:
        """Whether the seconds come from a trial on this machine."""


class TimeBudget:
    """Seconds for the whole search; without a budget they never end.

    Parameters
    ----------
    started : float
        When the time began, by `time.perf_counter`.
    seconds : float or None
        None sets no limit.

    Attributes
    ----------
    is_limited : bool
        Whether there is a limit.
    seconds : float
        The limit.
    entries : int
        Entries of the rows that calibration and rules are learned from.
    """

    def __init__(self, started: float, seconds: float | None) -> None:
        self.is_limited = seconds is not None
        share = 1.0 if seconds is None else min(1.0, seconds / _FULL_SAMPLE)
        self.entries = int(share * SAMPLE_ENTRIES)
        self._started = started
        self.seconds = np.inf if seconds is None else seconds
        self._reserved = 0.0
        self._slowness: dict[type, float] = {}

    def hurry(self) -> None:
        """End the time, without a limit of it, too; calibration and rules have few rows."""
        self.seconds = 0.0
        self.entries = min(self.entries, _ENTRIES_IN_HASTE)

    def has(self, seconds: float) -> bool:
        """Return whether more seconds than these are left for training; all workers agree on it."""
        return not self.is_limited or agreed(seconds < self.left())

    def reserve(self, seconds: float) -> None:
        """Keep time for what follows the training."""
        self._reserved = min(seconds, _MOST_RESERVED * self.seconds)

    def reserve_more(self, seconds: float) -> bool:
        """Keep more time for what follows, if that is possible; return whether it is."""
        possible = self._reserved + seconds <= _MOST_RESERVED * self.seconds
        if possible:
            self._reserved += seconds
        return possible

    def left(self) -> float:
        """Return the seconds that are left for training."""
        return self._started + self.seconds - self._reserved - time.perf_counter()

    def longest(self) -> float:
        """Return the seconds that the next candidate can take, the same for all workers."""
        if not self.is_limited:
            return np.inf
        left = -largest(-self.left())
        return min(SHARE_OF_ONE * self.seconds, max(left, 0.0))

    def after(self, share: float) -> float:
        """Return when a share of the time is over, by `time.perf_counter`."""
        return self._started + share * self.seconds

    def estimate(self, candidate: Estimated) -> float:
        """Return how many seconds a candidate needs at least, learned from others of its kind."""
        return candidate.least_seconds * self.slowness(candidate)

    def slowness(self, candidate: Estimated) -> float:
        """Return how much longer a candidate takes than estimated.

        The first of a kind is as slow as the slowest other kind, unless its time was measured: the
        machine can be busy.
        """
        of_new = 1.0 if candidate.is_measured else max([1.0, *self._slowness.values()])
        return self._slowness.get(candidate.kind, of_new)

    def learn(self, candidate: Estimated, seconds: float) -> None:
        """Correct the next estimates by what a candidate took."""
        self._slowness[candidate.kind] = seconds / candidate.seconds
