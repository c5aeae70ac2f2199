"""Boosters: gradient-boosted trees for all labels, and for groups of labels.

Trees that search their splits in one sketch dimension (``sketch_size=1``) are inexpensive and, on
real data, reach a lower log-loss than exact ones; with groups of labels drawn anew in each boosting
round they also suit nearly independent labels. Two that differ are tried: shallow trees for all
labels, each on another part of the rows (on all where one fold is enough), and deeper ones for
groups of labels, on all rows.

Boosters gain most from time. With a time budget the first one ends after a tenth of it, so that
there is a good model early. What its rounds took on this machine, and how many of them these data
needed, decides how fast the next ones learn. Where one fold is enough and time is not limited, they
have a number of rounds for all of them: if the first needs few, a slower one follows.

Where one fold is enough, labels can need their own trees (:mod:`xdcc.automatic.label_trees`). Then
boosters have single-label trees, the first of a time budget aside. Without a budget there is one.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from xdcc.automatic.family import Candidate, MemberFamily, Training
from xdcc.automatic.label_trees import N_COMMON, N_ROWS, N_SINGLE, need_own_trees
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import SHARE_OF_ONE
from xdcc.automatic.trial import Trial
from xdcc.base.fit_data import FitData
from xdcc.boosting import MultiLabelXGBClassifier

_MOST_LABELS_OF_A_GROUP = 40
_MAX_BIN = 64
OF_CATEGORIES = {"cat_penalty": 1.3, "cat_smoothing": 10}
"""Chosen on generated tables: docs/guide/categories.md."""

_MOST_ROUNDS = 10_000
"""Training ends when the log-loss out of fold does not fall any more, long before."""

_LONGEST_BOOSTER = 300.0
"""Estimated seconds on one core after which training ends nevertheless."""

_AFFORDABLE = 50.0
"""Seconds on one core beyond which a second booster is not among the usual candidates."""

_RATES = ((0.05, 15.0), (0.1, 100.0), (0.3, np.inf))
"""Learning rates, and the seconds up to which a booster is trained with each."""

_RATES_OF_ONE_FOLD = (0.05, 0.1, 0.2, 0.4)
"""Learning rates where one fold is enough. With that many rows, boosters that learn fast lose
little; one that needs more rounds than there is time for loses most."""

_RATE_OF_ONE_FOLD = 0.2
"""Learning rate of the first of them without a budget. With a higher one they would have time for
more of what they need, but small effects are overfitted."""

ROUNDS_OF_ONE_FOLD = 420
"""Boosting rounds of one fold without a budget, for all boosters together. They and the rest take
less than three times as long as 200 rounds of depth 6 on all rows."""

_DEPTH_OF_OWN_TREES, _RATE_OF_OWN_TREES = 5, 0.4
"""Of single-label trees without a budget, chosen on a generated table."""

_TIME_OF_OWN_TREES = 1.33
"""Estimated time of all rounds of single-label trees without a budget, divided by that of
`ROUNDS_OF_ONE_FOLD` rounds for all labels: the default takes a quarter of the time of XGBoost's
100 rounds per label (200,000 rows, 50 features, 20 labels)."""

_LEAST_ROUNDS_OF_OWN_TREES = 25
"""If that is time for fewer rounds, trees are for all labels: with more than about 60 labels."""

_SHARE_OF_TRIAL = 0.1
"""Most of the longest time of a candidate in a budget that may go into finding out whether labels
need their own trees, by its estimate."""

ROUNDS_TIMES_RATE = 15.0
"""About how many boosting rounds are needed, times the learning rate."""

SECOND_LEVEL = "second level"
"""Name of the booster on the margins of a mixture's members."""

_FIRST = "first"
"""Prefix of the name of the booster that should be good after a short time."""

_SLOW = 0.1
"""Learning rate of a booster that learns slowly."""

_RATE_OF_SECOND_LEVEL = 0.1
"""The lowest rate of a second level, whose features are few and strong."""

_RATE_WITH_TIME, _COLUMNS_WITH_TIME = 0.03, 0.4
"""Rate and share of the features for each tree of a second level, if a time budget allows it."""

_SUBSAMPLE = 0.7
"""Share of the rows that each tree of the first candidate is grown on."""

_ENOUGH_TO_SAMPLE = 300
"""With fewer rows each tree is grown on all of them; also where one fold is enough: with that many
rows trees overfit little, and a rare label needs each of them."""

# Seconds per unit of work, read by hand from the column "seconds" of `summary_` after fits of the
# benchmark data on one core. They decide what is tried and how fast it learns, so they are
# constants: the default model is the same on every machine. With a time budget, what a candidate
# took corrects them for the next ones of its kind (`TimeBudget.learn`), but not for other kinds:
# the ratio of seconds to estimate differs too much between them.

PER_VISIT = 2.5e-9
"""Seconds for an entry of X that a booster visits."""

PER_TREE = 3e-4
"""Seconds for a tree, whatever the number of rows."""

PER_LABEL = 2.5e-8
"""Seconds for gradient, margin and log-loss of a row and a label."""


class Pace(NamedTuple):
    """How fast boosters have to learn.

    Attributes
    ----------
    longest : float
        Seconds that one can take, on the scale of the estimates; infinity without a time budget.
    needed : float
        Boosting rounds that it needs, times its rate; infinity if it has to learn as fast as it
        can.
    """

    longest: float = np.inf
    needed: float = ROUNDS_TIMES_RATE


ANY_PACE = Pace()
"""That of boosters that time does not limit, before one has been trained."""


class Boosters(MemberFamily):
    """Boosters that learn as fast as the time needs, by the rounds of those before."""

    name = "boosters"
    draws = 3
    noun = "booster"

    def __init__(self) -> None:
        self._needed, self._slowness = ANY_PACE.needed, 1.0
        self._group = 0
        self._of_groups: float | None = None

    @property
    def is_cut(self) -> bool:  # type: ignore[override]
        """Whether none has had time for all rounds that it needs: another one gains most."""
        return self._needed == np.inf

    def begin(self, data: FitData, shape: Shape, longest: float) -> None:
        """Find out whether labels need their own trees, if there is time for these."""
        if can_have_own_trees(shape, longest):
            self._group = int(need_own_trees(data, booster(shape, 4, 0).model))

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List a booster, and a second one if both cost little enough and labels are several."""
        if self._group:
            return [booster_of_own_trees(shape, self._pace(longest))]
        is_sampled = shape.n_rows >= _ENOUGH_TO_SAMPLE and shape.n_folds > 1
        subsample = _SUBSAMPLE if is_sampled else 1.0
        first = self._booster(shape, 4, 0, longest, subsample)
        if shape.n_labels == 1 or (shape.n_folds == 1 and longest == np.inf):
            return [first]
        second = self._booster(shape, 6, _half_of_labels(shape), longest)
        is_affordable = first.seconds + second.seconds <= _AFFORDABLE
        if self._of_groups is not None:
            is_affordable = self._slowness * second.least_seconds <= longest
        return [first, second] if is_affordable else [first]

    def measure(self, trial: Trial) -> tuple[Candidate, float]:
        """Time rounds of trees for all labels, and of trees for groups of labels."""
        candidate = booster(trial.shape, 6, 0)
        self._slowness = slowness(candidate, trial.seconds_per_step(candidate))
        if trial.shape.n_labels > 1:
            group = _half_of_labels(trial.shape)
            part = trial.of_labels(2 * group)
            of_groups = booster(part.shape, 6, min(group, part.shape.n_labels))
            found = slowness(of_groups, part.seconds_per_step(of_groups))
            self._of_groups = found / self._slowness
        return candidate, self._slowness * candidate.seconds

    def first(self, shape: Shape, longest: float) -> Candidate:
        """Describe a booster that is a good model after this many seconds."""
        return first_booster(shape, longest / self._slowness)

    def draw(self, shape: Shape, random: np.random.Generator, longest: float) -> Candidate:
        """Draw a booster."""
        groups = {1} if self._group else {0, _half_of_labels(shape), min(4, shape.n_labels), 1}
        return self._booster(
            shape,
            int(random.choice([3, 4, 6, 8])),
            int(random.choice(sorted(groups))),
            longest,
            float(random.choice([0.5, 0.7, 0.9])),
            colsample_bytree=float(random.choice([0.3, 0.5, 0.8])),
            min_child_weight=float(random.choice([1, 3, 10])),
        )

    def learn(self, training: Training) -> float:
        """Learn how long others take, and how fast they have to learn."""
        model, watch = training.candidate.model, training.watch
        self._slowness = slowness(training.candidate, watch.seconds_per_step())
        if model.labels_per_tree == self._group:
            n_best = training.unfitted.n_estimators
            needed = np.inf if watch.is_cut else n_best * model.learning_rate
            self._needed = max(ANY_PACE.needed, needed)
        return self._slowness * training.candidate.seconds

    def after(self, shape: Shape, training: Training) -> Sequence[Candidate]:
        """List a slower booster with the remaining rounds, if there are enough of them."""
        if self._group:
            return []
        left = ROUNDS_OF_ONE_FOLD - training.watch.n_steps
        slower = slower_booster(shape, self._needed, left)
        return [] if slower is None else [slower]

    def _booster(
        self,
        shape: Shape,
        depth: int,
        group: int,
        longest: float,
        subsample: float = 1.0,
        **others: Any,
    ) -> Candidate:
        """Describe a booster that learns as fast as it has to."""
        factor = (self._of_groups or 1.0) if group else 1.0
        found = booster(shape, depth, group, subsample, self._pace(longest / factor), **others)
        return replace(found, seconds=factor * found.seconds)

    def _pace(self, longest: float) -> Pace:
        """Tell how fast the next booster has to learn."""
        return Pace(longest / self._slowness, self._needed)


def _half_of_labels(shape: Shape) -> int:
    """Return the size of groups of half of the labels, of at most as many as a tree is good for."""
    return min(ceil(shape.n_labels / 2), _MOST_LABELS_OF_A_GROUP)


def _seconds_of_round(shape: Shape, depth: int, group: int) -> float:
    """Estimate the seconds of a boosting round of a fold."""
    n_trees = ceil(shape.n_labels / group) if group else 1
    in_trees = n_trees * (shape.n_entries * depth * PER_VISIT + PER_TREE)
    return in_trees + PER_LABEL * shape.n_rows * shape.n_labels


def booster(
    shape: Shape,
    depth: int,
    group: int,
    subsample: float = 1.0,
    pace: Pace = ANY_PACE,
    **others: Any,
) -> Candidate:
    """Describe a booster whose trees are for groups of labels; 0 is for all.

    Its rate is so high that it takes not much longer than `pace` allows, if that is possible.
    """
    of_labels = f"groups of {group}" if group else "all labels"
    in_round = _seconds_of_round(shape, depth, group)
    longest, affordable = pace.longest, ceil(_LONGEST_BOOSTER / (shape.n_folds * in_round))
    rates: Sequence[tuple[float, float]] = _RATES
    if shape.n_folds == 1:
        rates = [(rate, np.inf) for rate in _RATES_OF_ONE_FOLD]
        if longest == np.inf:
            rates = [(_RATE_OF_ONE_FOLD, np.inf)]
            affordable = min(affordable, ROUNDS_OF_ONE_FOLD)
    for rate, longest_of_rate in rates:
        seconds = shape.n_folds * ROUNDS_TIMES_RATE / rate * in_round
        if seconds * pace.needed / ROUNDS_TIMES_RATE <= min(longest, longest_of_rate):
            break
    model = MultiLabelXGBClassifier(
        max_depth=depth,
        learning_rate=rate,
        n_estimators=min(affordable, _MOST_ROUNDS),
        sketch_size=1,
        labels_per_tree=group,
        subsample=subsample,
        max_bin=_MAX_BIN,
        **OF_CATEGORIES,
        **others,
    )
    name = f"{of_labels}, depth {depth}, rate {rate:g}"
    return Candidate(name, model, seconds, ends_early=True)


def can_have_own_trees(shape: Shape, longest: float = np.inf) -> bool:
    """Return whether there is time for single-label trees, and for the comparison before them.

    Examples
    --------
    >>> shape = Shape(200_000, 50, 20, 10**7, 1)
    >>> can_have_own_trees(shape), can_have_own_trees(shape._replace(n_folds=5))
    (True, False)
    >>> can_have_own_trees(shape, longest=18), can_have_own_trees(shape, longest=3)
    (True, False)
    """
    if shape.n_folds > 1 or shape.n_labels == 1:
        return False
    share = min(1.0, N_ROWS / shape.n_rows)
    sample = shape._replace(
        n_rows=int(share * shape.n_rows), n_entries=int(share * shape.n_entries)
    )
    seconds = N_SINGLE * _seconds_of_round(sample, 4, 1) + N_COMMON * _seconds_of_round(
        sample, 4, 0
    )
    has_rounds = _rounds_of_own_trees(shape) >= _LEAST_ROUNDS_OF_OWN_TREES
    return bool(has_rounds and seconds <= _SHARE_OF_TRIAL * longest)


def booster_of_own_trees(shape: Shape, pace: Pace = ANY_PACE) -> Candidate:
    """Describe a booster of single-label trees for data of which one fold is enough.

    Examples
    --------
    >>> found = booster_of_own_trees(Shape(200_000, 50, 20, 10**7, 1))
    >>> found.name, found.model.n_estimators
    ('groups of 1, depth 5, rate 0.4', 42)
    """
    found = booster(shape, _DEPTH_OF_OWN_TREES, 1, pace=pace)
    if pace.longest < np.inf:
        return found
    rate, n_rounds = _RATE_OF_OWN_TREES, _rounds_of_own_trees(shape)
    found.model.set_params(learning_rate=rate, n_estimators=n_rounds)
    name = f"groups of 1, depth {_DEPTH_OF_OWN_TREES}, rate {rate:g}"
    return replace(found, name=name)


def _rounds_of_own_trees(shape: Shape) -> int:
    seconds = _TIME_OF_OWN_TREES * ROUNDS_OF_ONE_FOLD * _seconds_of_round(shape, 4, 0)
    return int(seconds / _seconds_of_round(shape, _DEPTH_OF_OWN_TREES, 1))


def first_booster(shape: Shape, longest: float) -> Candidate:
    """Describe a booster that is a good model after this many seconds, if that is possible.

    Examples
    --------
    >>> shape = Shape(400, 70, 6, 400 * 70, 1)
    >>> first_booster(shape, 60).name, first_booster(shape, 1e-3).name
    ('first, depth 6, rate 0.05', 'first, depth 6, rate 0.4')
    """
    found = booster(shape, 6, 0, pace=Pace(longest))
    return replace(found, name=found.name.replace("all labels", _FIRST), repeats=False)


def slower_booster(shape: Shape, needed: float, n_rounds: int) -> Candidate | None:
    """Describe a booster of one fold that learns as slowly as this many rounds allow.

    Parameters
    ----------
    shape : Shape
        The shape of the data.
    needed : float
        Boosting rounds that another booster needed, times its rate.
    n_rounds : int
        That are left.

    Returns
    -------
    Candidate or None
        None if they do not suffice.

    Examples
    --------
    >>> shape = Shape(400, 70, 6, 400 * 70, 1)
    >>> slower_booster(shape, 30, 320).name
    'all labels, depth 4, rate 0.1'
    >>> slower_booster(shape, 90, 320) is None
    True
    """
    for rate in _RATES_OF_ONE_FOLD:
        if rate < _RATE_OF_ONE_FOLD and needed / rate <= n_rounds:
            found = booster(shape, 4, 0)
            found.model.set_params(learning_rate=rate, n_estimators=n_rounds)
            return replace(found, name=f"all labels, depth 4, rate {rate:g}")
    return None


def fits_often(shape: Shape, time_budget: float) -> bool:
    """Tell whether a booster that learns slowly takes a small share of a time budget.

    Examples
    --------
    >>> few, many = Shape(400, 70, 6, 28_000, 5), Shape(100_000, 50, 9, 5_000_000, 5)
    >>> fits_often(few, 60), fits_often(many, 60)
    (True, False)
    """
    found = booster(shape, 6, 0)
    seconds = found.seconds * found.model.learning_rate / _SLOW
    return bool(seconds <= SHARE_OF_ONE * time_budget)


def slowness(candidate: Candidate, seconds_per_round: float) -> float:
    """Return how much longer a booster takes than estimated, by the time of a round of all folds.

    Examples
    --------
    >>> booster = first_booster(Shape(400, 70, 6, 400 * 70, 5), 60)
    >>> slowness(booster, booster.seconds / 300 * 3)
    3.0
    """
    n_rounds = ROUNDS_TIMES_RATE / candidate.model.learning_rate
    return float(seconds_per_round * n_rounds / candidate.seconds)


def second_level(shape: Shape, n_members: int, time_budget: float = np.inf) -> Candidate:
    """Describe a booster whose features are the margins of the members of a mixture."""
    n_features = n_members * shape.n_labels
    of_margins = shape._replace(n_features=n_features, n_entries=shape.n_rows * n_features)
    longest = SHARE_OF_ONE * time_budget
    found = booster(of_margins, 3, 0, _SUBSAMPLE, Pace(longest))
    rate = found.model.learning_rate
    if found.seconds * rate / _RATE_WITH_TIME <= longest < np.inf:
        found.model.set_params(learning_rate=_RATE_WITH_TIME, colsample_bytree=_COLUMNS_WITH_TIME)
    elif rate < _RATE_OF_SECOND_LEVEL:
        found.model.set_params(learning_rate=_RATE_OF_SECOND_LEVEL)
    seconds = found.seconds * rate / found.model.learning_rate
    return replace(found, name=SECOND_LEVEL, seconds=seconds)
