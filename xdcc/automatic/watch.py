"""``Watch``: ends a training when its time is over, and measures its steps."""

import time

import numpy as np

from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.workers import agreed, largest

_SHORTEST_STEP = 1e-6
"""Seconds; the clock may show less."""


class Watch:
    """Ends a training when its time is over, and measures its steps.

    Parameters
    ----------
    budget : TimeBudget
        Time budget of the search.
    end : float
        Time limit of the training, by `time.perf_counter`; the first step is always made.

    Attributes
    ----------
    n_steps : int
        Number of steps made so far.
    is_cut : bool
        Whether the training was ended early.
    """

    def __init__(self, budget: TimeBudget, end: float = np.inf) -> None:
        self.n_steps, self.is_cut = 0, False
        self._budget, self._end = budget, end
        self._began = self._first = self._last = time.perf_counter()
        self._n_first = 0

    def ends(self, n_steps: int) -> bool:
        """Record the number of steps, and return whether the training has to end."""
        self._last = time.perf_counter()
        if not self.n_steps:
            self._first, self._n_first = self._last, n_steps
        self.n_steps = n_steps
        in_time = self._end == np.inf or agreed(self._last < self._end)
        self.is_cut = not (in_time and self._budget.has(0))
        return self.is_cut

    @property
    def n_timed(self) -> int:
        """Number of steps after the first one that was recorded."""
        return self.n_steps - self._n_first

    @property
    def seconds_timed(self) -> float:
        """Seconds of these steps."""
        return self._last - self._first

    def seconds_per_step(self) -> float:
        """Return the seconds of a step on the slowest worker.

        It does not count what comes before the first one, such as bins, if there are others.
        """
        since, n_steps = self._first, self.n_timed
        if not n_steps:
            since, n_steps = self._began, self.n_steps
        return largest(max((self._last - since) / n_steps, _SHORTEST_STEP))
