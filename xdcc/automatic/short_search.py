"""``ShortSearch``: a search in a time budget that is too short for all folds.

With thousands of labels or features, the usual candidates can take longer in five folds than the
budget lasts. Boosters of few rounds would be all that fits in. So candidates are trained on one
fold, however inexact its log-loss is, and all estimates come from trials on the data
(:mod:`xdcc.automatic.trial`). Two fifths of the budget are kept for models of all rows until the
usual candidates are trained; each of these gets what the others leave, and a forest has as many
trees as it has time for.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xdcc.automatic.families import usual_candidates
from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.mixture import Member
from xdcc.automatic.search import Search
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.trial import correct_by_trials
from xdcc.automatic.watch import Watch
from xdcc.base.fit_data import FitData
from xdcc.base.folds import OutOfFold
from xdcc.decision.proba_metrics import ProbaMetric

_SHARE_OF_USUAL = 0.6
"""Share of a time budget that is there for the usual candidates; what follows takes the rest."""

_MOST_SLOWNESS = 4.0
"""How much longer than estimated from the sizes of the data candidates take at most."""

_MOST_ON_ALL_ROWS = 5
"""Models of all rows for each member, if the budget lasts for them."""


def is_too_short(
    families: Sequence[MemberFamily],
    budget: TimeBudget,
    data: FitData,
    n_folds: int | None,
    n_jobs: int | None,
    *,
    has_rules: bool,
) -> bool:
    """Return whether the usual candidates do not fit into all folds.

    If that is in doubt, trials on the data decide, and the families and the budget learn from them.
    Candidates may end early as long as they are worth something. Decision rules are learned from
    the rows that are tested, so with these it is enough that all but the most expensive one fit.
    """
    if not budget.is_limited or n_folds is None:
        return False
    shape = Shape.of(data, n_folds)

    def needed() -> float:
        usual = usual_candidates(families, shape, budget.longest())
        seconds = sorted(map(budget.estimate, usual))
        return sum(seconds[:-1] if has_rules else seconds)

    longest = _SHARE_OF_USUAL * budget.seconds
    if _MOST_SLOWNESS * needed() <= longest:
        return False
    correct_by_trials(families, data, budget, n_jobs)
    return needed() > longest


class ShortSearch(Search):
    """A search on one fold in a short time budget.

    Parameters
    ----------
    *arguments, **others
        As for :class:`Search`; families and budget have learned from trials.
    metric : ProbaMetric or None
        What is maximised; None if it depends on a decision rule that is chosen afterwards.
    """

    def __init__(self, *arguments: Any, metric: ProbaMetric | None, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._metric = metric
        if metric is not None:
            self._rules_per_calibration = 0.0
        self._tries_usual, self._own = True, np.inf
        self._took: dict[str, float] = {}

    def _try_first(self) -> None:
        self._reserve_for_all_rows()
        super()._try_first()

    def _usual_in_time(self) -> Iterator[Candidate]:
        """List the usual candidates, each of the size for which there is time when it begins.

        Each gets what the following ones leave, and at least an equal part of the time.
        """
        usual = self._by_place(self._budget.longest())
        seconds = {place: self._budget.slowness(c) * c.seconds for place, c in usual.items()}
        urgent = next((place for place in usual if self._families[place[0]].is_cut), None)
        order = sorted(usual, key=lambda place: (place != urgent, seconds[place]))
        while order:
            place, *order = order
            left = max(self._budget.left(), 0.0)
            following = [seconds[each] for each in order if seconds[each] <= left]
            self._own = max(left - sum(following), left / (1 + len(following)))
            sized = self._by_place(min(self._own, self._budget.longest()))
            yield sized.get(place, usual[place])
        self._tries_usual, self._own = False, np.inf
        self._reserve_for_all_rows()

    def _by_place(self, longest: float) -> dict[tuple[int, int], Candidate]:
        """List the usual candidates by their families and their numbers in these."""
        return {
            (number, place): candidate
            for number, family in enumerate(self._families)
            for place, candidate in enumerate(usual_candidates([family], self._shape, longest))
        }

    def _longest(self) -> float:
        return min(self._own, super()._longest())

    def _reserve_for_all_rows(self) -> None:
        self._reserve(0)
        if self._tries_usual and self._n_on_all_rows:
            self._budget.reserve(np.inf)
            return
        super()._reserve_for_all_rows()

    def _train(
        self, candidate: Candidate, data: FitData, number: int, watch: Watch
    ) -> OutOfFold | None:
        begun = time.perf_counter()
        found = super()._train(candidate, data, number, watch)
        self._took[candidate.name] = time.perf_counter() - begun
        return found

    def _seconds_on_all_rows(self, names: list[str]) -> float:
        """Estimate how long models of all rows take; calibration, which they need not, is long."""
        n_seeds = [self._members[name].n_seeds if self._refit is True else 1 for name in names]
        of_fold = sum(n * self._took[name] for n, name in zip(n_seeds, names, strict=True))
        return self._n_on_all_rows / self._trainings * of_fold

    def _complete(self) -> list[Member]:
        if not self._is_stopped:
            if self._metric is not None:
                self._mixture.drop_harmful(self._metric)
                self._members = {name: self._members[name] for name in self._mixture.names}
            self._n_affordable = self._as_many_as_fit()
        return super()._complete()

    def _as_many_as_fit(self) -> int:
        """Return how many models of all rows of each member the time that is left allows."""
        self._reserve(0)
        self._n_affordable = 1
        seconds = self._seconds_on_all_rows(self._mixture.names)
        return int(np.clip(self._budget.left() / max(seconds, 1e-9), 1, _MOST_ON_ALL_ROWS))

    def _choices(self, seed: int) -> list[Callable[[], Member]]:
        """List what makes the members of the mixture, that of the largest share first."""
        choices = super()._choices(seed)
        return [choices[number] for number in np.argsort(-self._mixture.shares, kind="stable")]
