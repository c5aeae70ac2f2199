"""``Trial``: times a few steps of candidates on the data at hand, before a search in a time budget.

Costs that are estimated from the sizes of the data (:class:`~xdcc.automatic.shape.Shape`) are right
on tables like those that their constants come from, and wrong by ten times with thousands of labels
or features. Trials decide whether the usual candidates fit into all folds. If they do not, the
estimates are corrected by the trials (:mod:`xdcc.automatic.short_search`).
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.watch import Watch
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, ShouldEnd
from xdcc.base.memory import NotEnoughMemoryError
from xdcc.base.output_form import LabelForm
from xdcc.decision.out_of_fold import out_of_fold
from xdcc.linear.many_labels import sampled_labels
from xdcc.linear.path import take_labels

if TYPE_CHECKING:
    from xdcc.automatic.family import Candidate, MemberFamily

_ENTRIES_PER_SECOND, _MOST_ENTRIES = 2**14, 2**22
"""Entries of X and Y that candidates are timed on, for each second of the budget, and at most."""

_LEAST_ROWS = 200

_SHARE_OF_STEPS = 0.002
"""Share of the budget after which the timed steps of a booster end."""


class Trial(NamedTuple):
    """Rows to time candidates on, in one fold.

    Attributes
    ----------
    data : FitData
        All rows, or a sample.
    shape : Shape
        Its sizes, with one fold.
    whole : FitData
        All rows.
    budget : float
        Seconds of the time budget.
    n_jobs : int or None
        Threads of the candidates.
    """

    data: FitData
    shape: Shape
    whole: FitData
    budget: float
    n_jobs: int | None

    @classmethod
    def of(cls, data: FitData, seconds: float, n_jobs: int | None) -> "Trial":
        """Take as many rows as a time budget of this many seconds allows."""
        whole, of_whole = data, Shape.of(data, 1)
        most = min(_ENTRIES_PER_SECOND * seconds, _MOST_ENTRIES)
        share = most / (of_whole.n_entries + of_whole.n_rows * of_whole.n_labels)
        counting = np.flatnonzero(data.counts)
        n_rows = max(_LEAST_ROWS, int(share * len(data.Y)))
        if n_rows < len(counting):
            rows = np.random.default_rng(0).permutation(counting)[:n_rows]
            data = data.part(np.sort(rows))
        return cls(data, Shape.of(data, 1), whole, seconds, n_jobs)

    def of_labels(self, n_labels: int) -> "Trial":
        """Take at most so many labels, from the rarest to the most frequent, and more rows."""
        labels = sampled_labels(self.whole)
        some = labels[:: -(-len(labels) // n_labels)]
        names = np.array([str(label) for label in some], object)
        form = LabelForm.of_matrix(names, is_named=False)
        data = take_labels(self.whole, some)._replace(output_form=form)
        return Trial.of(data, self.budget, self.n_jobs)

    def seconds_per_step(self, candidate: "Candidate") -> float:
        """Time steps of a candidate, without what precedes them."""
        watch = Watch(TimeBudget(0, None))

        def ends(n_steps: int) -> bool:
            watch.ends(n_steps)
            return watch.n_timed > 0 and watch.seconds_timed >= _SHARE_OF_STEPS * self.budget

        self._train(candidate, ends)
        return watch.seconds_per_step()

    def seconds(self, candidate: "Candidate") -> float:
        """Time the whole training of a candidate."""
        begun = time.perf_counter()
        self._train(candidate, None)
        return time.perf_counter() - begun

    def _train(self, candidate: "Candidate", should_end: ShouldEnd | None) -> None:
        folds = Folds(np.where(np.arange(len(self.data.Y)) % 10, -1, 0))
        out_of_fold(candidate.estimator(0, self.n_jobs), self.data, folds, should_end=should_end)


def correct_by_trials(
    families: Sequence["MemberFamily"], data: FitData, budget: TimeBudget, n_jobs: int | None
) -> None:
    """Correct the estimates of families, and those of a time budget, by trials."""
    trial = Trial.of(data, budget.seconds, n_jobs)
    for family in families:
        with suppress(NotEnoughMemoryError):  # the search says so
            if (measured := family.measure(trial)) is not None:
                budget.learn(*measured)
