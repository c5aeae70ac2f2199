"""``Trial``: times a few steps of candidates on the data at hand, before a search in a time budget.

Costs that are estimated from the sizes of the data (:class:`~xdcc.automatic.shape.Shape`) are right
on tables like those that their constants come from, and wrong by ten times with thousands of labels
or features. So families train a few rounds or trees, and correct their estimates by what these
took. With many entries they do so on a sample of the rows.
"""

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.watch import Watch
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, ShouldEnd
from xdcc.base.workers import agreed, largest
from xdcc.decision.out_of_fold import out_of_fold

if TYPE_CHECKING:
    from xdcc.automatic.family import Candidate

_ENTRIES_PER_SECOND, _MOST_ENTRIES = 2**18, 2**24
"""Entries of X and Y that candidates are timed on, for each second of the budget, and at most."""

_LEAST_ROWS = 200

_SHARE_OF_STEPS = 0.002
"""Share of the budget that the timed steps of a booster take at least."""

_N_FOLDS = 2
"""Folds of a trial; each tests a tenth of the rows."""


class Trial(NamedTuple):
    """Rows to time candidates on.

    Attributes
    ----------
    data : FitData
        All rows, or a sample.
    shape : Shape
        Its sizes, and the number of folds that are timed.
    least : float
        Seconds that the timed steps of a booster take at least.
    n_jobs : int or None
        Threads of the candidates.
    """

    data: FitData
    shape: Shape
    least: float
    n_jobs: int | None

    @classmethod
    def of(cls, data: FitData, seconds: float, n_jobs: int | None) -> "Trial":
        """Take as many rows as a time budget of this many seconds allows."""
        whole = Shape.of(data, _N_FOLDS)
        most = min(_ENTRIES_PER_SECOND * seconds, _MOST_ENTRIES)
        share = most / (whole.n_entries + whole.n_rows * whole.n_labels)
        counting = np.flatnonzero(data.counts)
        n_rows = max(_LEAST_ROWS, int(share * len(data.Y)))
        if n_rows < len(counting):
            rows = np.random.default_rng(0).permutation(counting)[:n_rows]
            data = data.part(np.sort(rows))
        return cls(data, Shape.of(data, _N_FOLDS), _SHARE_OF_STEPS * seconds, n_jobs)

    def seconds_per_step(self, candidate: "Candidate") -> float:
        """Time steps of a candidate, without what precedes them."""
        watch = Watch(TimeBudget(0, None))

        def ends(n_steps: int) -> bool:
            watch.ends(n_steps)
            return agreed(watch.n_timed > 0 and watch.seconds_timed >= self.least)

        self._train(candidate, ends)
        return watch.seconds_per_step()

    def seconds(self, candidate: "Candidate") -> float:
        """Time the whole training of a candidate."""
        begun = time.perf_counter()
        self._train(candidate, None)
        return largest(time.perf_counter() - begun)

    def _train(self, candidate: "Candidate", should_end: ShouldEnd | None) -> None:
        fold = np.arange(len(self.data.Y)) % 10
        folds = Folds(np.where(fold < _N_FOLDS, fold, -1))
        out_of_fold(candidate.estimator(0, self.n_jobs), self.data, folds, should_end=should_end)
