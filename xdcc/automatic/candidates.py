"""The boosters that are tried: a rule from the sizes of X and Y, the same on every machine.

Trees that search their splits in one sketch dimension (`sketch_size=1`) are inexpensive and, on
real data, reach a lower log-loss than exact ones; with groups of labels drawn anew in each boosting
round they also suit nearly independent labels. Which is best depends on the data, and mixtures are
better still. So two that differ are tried, the less expensive one first, if an estimate of their
cost allows: shallow trees for all labels, each on another
part of the rows, and deeper ones for groups of labels, on all rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from xdcc.boosting import MultiLabelXGBClassifier

_MOST_LABELS_OF_A_GROUP = 40
_MAX_BIN = 64

_MOST_WORK = 2e10
"""Visits of entries beyond which there is no second candidate; about 40 seconds on one core."""

_MOST_WORK_AT_LOW_RATE = 6e9
"""Visits of one candidate beyond which its rate is 0.1, for half as many rounds, and not 0.05."""

_SUBSAMPLE = 0.7
"""Share of the rows that each tree of the first candidate is grown on."""

_ENOUGH_TO_SAMPLE = 300
"""With fewer rows each tree is grown on all of them."""

_PER_TREE = 1e5
"""Cost of a tree in visits, whatever the number of rows."""

MASKS_OF_CHAIN = 4
"""How often a row is repeated for an order-free chain."""

_MOST_LABELS_OF_A_CHAIN = 20
_DEPTH_OF_CHAIN = 4
_ROUNDS_OF_CHAIN = 150
"""As many as are usual at a rate of 0.1."""

_PER_LABEL = 10
"""Cost of gradient, margin and log-loss of a row and a label in visits."""


@dataclass(frozen=True)
class Candidate:
    """A booster that is tried.

    Attributes
    ----------
    name : str
        Its description, for a table.
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


def chain_pays(n_rows: int, n_labels: int, n_folds: int, work: float) -> bool:
    """Return whether an order-free chain on out-of-fold margins costs less than the candidates.

    Parameters
    ----------
    n_rows, n_labels : int
        Of Y.
    n_folds : int
        Boosters of a candidate.
    work : float
        Of all candidates together.

    Returns
    -------
    bool
        With many labels it is false: a search for labelsets takes long.

    Examples
    --------
    >>> chain_pays(400, 6, 5, work=1e9), chain_pays(400, 6, 5, work=1e6)
    (True, False)
    """
    n_entries = MASKS_OF_CHAIN * n_rows * 2 * n_labels
    n_trees = (n_folds + 1) * _ROUNDS_OF_CHAIN
    own_work = n_trees * (n_entries * _DEPTH_OF_CHAIN + _PER_TREE)
    return n_labels <= _MOST_LABELS_OF_A_CHAIN and own_work <= work


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
        The first always; the second if the sum of their work is below a limit.

    Examples
    --------
    >>> [c.name for c in candidates_for(400, 400 * 70, 6, 5)]
    ['all labels, depth 4, rate 0.05', 'groups of 3, depth 6, rate 0.05']
    >>> [c.name for c in candidates_for(10**6, 10**8, 100, 5)]
    ['all labels, depth 4, rate 0.1']
    """

    def booster(depth: int, rate: float, group: int, subsample: float) -> Candidate:
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
                "subsample": subsample,
            },
            n_folds * n_rounds * (in_trees + _PER_LABEL * n_rows * n_labels),
        )

    def slow_if_affordable(depth: int, group: int = 0, subsample: float = 1.0) -> Candidate:
        slow = booster(depth, 0.05, group, subsample)
        affordable = slow.work <= _MOST_WORK_AT_LOW_RATE
        return slow if affordable else booster(depth, 0.1, group, subsample)

    first = slow_if_affordable(4, subsample=_SUBSAMPLE if n_rows >= _ENOUGH_TO_SAMPLE else 1.0)
    if n_labels == 1:
        return [first]
    second = slow_if_affordable(6, min(ceil(n_labels / 2), _MOST_LABELS_OF_A_GROUP))
    return [first, second] if first.work + second.work <= _MOST_WORK else [first]
