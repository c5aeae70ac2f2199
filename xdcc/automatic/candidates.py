"""Which boosters are tried: a rule from the sizes of X and Y, the same on every machine.

Trees that search their splits on one random direction of the labels' gradients (`sketch_size=1`)
are cheap and, on real data, end at a lower log-loss than exact ones; with groups of labels drawn
anew in each round they also suit labels that have little to do with each other. Which is best
depends on the data, and mixtures of them are better still. So a few that differ are tried, the
cheapest first, as far as an estimate of their cost allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from xdcc.boosting import MultiLabelXGBClassifier

_MOST_LABELS_OF_A_GROUP = 40
_MAX_BIN = 64

_MOST_WORK = 2e10
"""Visits of entries beyond which no further candidate is tried; about 40 seconds on one core."""

_MOST_WORK_AT_LOW_RATE = 6e9
"""Visits of one candidate beyond which its rate is 0.1, for half as many rounds, and not 0.05."""

_PER_TREE = 1e5
"""What the making of a tree costs in visits, whatever the number of rows."""

_PER_LABEL = 10
"""What gradient, margin and log-loss of a row and a label cost in visits."""


@dataclass(frozen=True)
class Candidate:
    """A booster that is tried.

    Attributes
    ----------
    name : str
        What it is, for a table.
    params : mapping
        Of :class:`~xdcc.boosting.MultiLabelXGBClassifier`.
    work : float
        Visits of entries of X in its training, as estimated for a usual number of rounds.
    """

    name: str
    params: Mapping[str, Any] = field(repr=False)
    work: float

    def estimator(self, seed: int, n_jobs: int | None) -> MultiLabelXGBClassifier:
        """Make the booster, not fitted."""
        return MultiLabelXGBClassifier(
            max_bin=_MAX_BIN, random_state=seed, n_jobs=n_jobs, **self.params
        )


def candidates_for(n_rows: int, n_entries: int, n_labels: int, n_folds: int) -> list[Candidate]:
    """List the candidates for data of this size, in the order in which they are trained.

    Parameters
    ----------
    n_rows, n_labels : int
        Of Y.
    n_entries : int
        Of X, those that are stored.
    n_folds : int
        Boosters of each candidate.

    Returns
    -------
    list of Candidate
        The first always; each further one as long as the sum of all work stays below a limit.

    Examples
    --------
    >>> [c.name for c in candidates_for(400, 400 * 70, 6, 5)][:2]
    ['all labels, depth 4, rate 0.05', 'groups of 3, depth 6, rate 0.05']
    >>> [c.name for c in candidates_for(10**6, 10**8, 100, 5)]
    ['all labels, depth 4, rate 0.1']
    """

    def booster(depth: int, rate: float, group: int = 0) -> Candidate:
        """Describe a booster whose trees are for groups of labels; 0 is for all."""
        of_labels = f"groups of {group}" if group else "all labels"
        n_trees = ceil(n_labels / group) if group else 1
        in_trees = n_trees * (n_entries * depth + _PER_TREE)
        n_rounds = 15 / rate
        return Candidate(
            f"{of_labels}, depth {depth}, rate {rate:g}",
            {
                "max_depth": depth,
                "learning_rate": rate,
                "n_estimators": round(2 * n_rounds),
                "sketch_size": 1,
                "labels_per_tree": group,
            },
            n_folds * n_rounds * (in_trees + _PER_LABEL * n_rows * n_labels),
        )

    def slow_if_cheap(depth: int, group: int = 0) -> Candidate:
        slow = booster(depth, 0.05, group)
        return slow if slow.work <= _MOST_WORK_AT_LOW_RATE else booster(depth, 0.1, group)

    tried = [slow_if_cheap(4)]
    if n_labels > 1:
        tried.append(slow_if_cheap(6, min(ceil(n_labels / 2), _MOST_LABELS_OF_A_GROUP)))
    tried.append(booster(6, 0.1))
    kept, total = tried[:1], tried[0].work
    for candidate in tried[1:]:
        total += candidate.work
        if total > _MOST_WORK:
            break
        kept.append(candidate)
    return kept
