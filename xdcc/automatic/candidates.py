"""Chooses the candidates from the sizes of X and Y, equally on every machine.

:func:`usual_candidates` are tried in any case, :func:`more_candidates` as long as a time budget
lasts. Three families make different errors, so their mixtures are better than each:

* boosters. Trees that search their splits in one sketch dimension (``sketch_size=1``) are
  inexpensive and, on real data, reach a lower log-loss than exact ones; with groups of labels drawn
  anew in each boosting round they also suit nearly independent labels. Two that differ are tried:
  shallow trees for all labels, each on another part of the rows, and deeper ones for groups of
  labels, on all rows.
* extra trees on sketches, which help most where X is dense;
* logistic regressions, which help most where X is text.

Each has an estimate of its cost, and those that cost too much are left out or trained faster.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from xdcc.base.fit_data import FitData
from xdcc.base.workers import sum_of_all
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels

_MOST_LABELS_OF_A_GROUP = 40
_MAX_BIN = 64
_OF_CATEGORIES = {"cat_penalty": 1.3, "cat_smoothing": 10}
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
"""Learning rates where one fold is enough: with so many rows, boosters that learn fast lose
little, and one that needs more rounds than there is time for loses most."""

_RATE_OF_ONE_FOLD = 0.2
"""Learning rate of the first of them without a budget. With a higher one they would have time for
more of what they need, but small effects are overfitted."""

ROUNDS_OF_ONE_FOLD = 420
"""Boosting rounds of one fold without a budget, for all boosters together. They and the rest take
less than three times as long as 200 rounds of depth 6 on all rows."""

_ROUNDS_TIMES_RATE = 15.0
"""About how many boosting rounds are needed, times the learning rate."""

_FIRST = "first"
"""Prefix of the name of the booster that should be good after a short time."""

SHARE_OF_A_BOOSTER = 0.3
"""Share of a time budget that a booster can take."""

_SLOW = 0.1
"""Learning rate of a booster that learns slowly."""

_LEAST_SHARE = 0.3
"""Share of its time after which a candidate that ends early is worth something."""

_RATE_OF_SECOND_LEVEL = 0.1
"""The lowest rate of a second level, whose features are few and strong."""

_RATE_WITH_TIME, _COLUMNS_WITH_TIME = 0.03, 0.4
"""Rate and share of the features for each tree of a second level, if a time budget allows it."""

_ERRORS_OF_OTHERS = 2.0
"""Standard errors that one of many candidates must gain: by chance the best of twelve gains 1.6."""

_SUBSAMPLE = 0.7
"""Share of the rows that each tree of the first candidate is grown on."""

_ENOUGH_TO_SAMPLE = 300
"""With fewer rows each tree is grown on all of them."""

# Seconds per unit of work, read by hand from the column "seconds" of `summary_` after fits of the
# benchmark data on one core. They decide what is tried and how fast it learns, so they are
# constants: the default model is the same on every machine. With a time budget, what a candidate
# took corrects them for the next ones of its kind (`TimeBudget.learn`), but not for other kinds:
# the ratio of seconds to estimate differs too much between them.

PER_VISIT = 2.5e-9
"""Seconds for an entry of X that a booster visits."""

PER_TREE = 3e-4
"""Seconds for a tree, whatever the number of rows."""

_PER_LABEL = 2.5e-8
"""Seconds for gradient, margin and log-loss of a row and a label."""

_TREES = ((200, 4.0), (100, 12.0), (60, np.inf))
"""Trees of a forest for each fold, and the seconds up to which it has so many."""

_PER_DRAW = 6e-9
"""Seconds for a row and a feature that a node of a forest draws."""

_PER_PRODUCT = 2e-10
"""Seconds for an entry of X and a label in a product of the linear solver."""

_N_PRODUCTS = 150
"""Such products for each fold along the path of penalties."""


_ROWS_PER_FEATURE, _LEAST_ROWS = 1000, 50_000
"""Rows of one fold for each coefficient of a linear model, and at least. By n rows, p coefficients
lose about p / 2 n in log-loss: one in two thousand."""


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
    needed: float = _ROUNDS_TIMES_RATE


ANY_PACE = Pace()
"""That of boosters that time does not limit, before one has been trained."""


class Shape(NamedTuple):
    """The sizes of the training data.

    Attributes
    ----------
    n_rows, n_features, n_labels : int
        The shape of X and Y.
    n_entries : int
        Entries of X that are stored.
    n_folds : int
        Number of folds.
    """

    n_rows: int
    n_features: int
    n_labels: int
    n_entries: int
    n_folds: int

    @classmethod
    def of(cls, data: FitData, n_folds: int) -> "Shape":
        """Measure the data of all workers.

        Examples
        --------
        >>> Shape.of(FitData(np.ones((4, 3), np.float32), np.ones((4, 2), np.float32), None), 2)
        Shape(n_rows=4, n_features=3, n_labels=2, n_entries=12, n_folds=2)
        """
        n_rows, n_features = data.X.shape
        n_entries = data.X.nnz if sparse.issparse(data.X) else n_rows * n_features
        n_rows, n_entries = sum_of_all(np.array([n_rows, n_entries])).tolist()
        return cls(n_rows, n_features, data.Y.shape[1], n_entries, n_folds)


@dataclass(frozen=True)
class Candidate:
    """An estimator that is tried.

    Attributes
    ----------
    name : str
        Its description, for a table.
    kind : type
        Class of the estimator.
    params : mapping
        Its parameters.
    seconds : float
        For training out of fold on one core, estimated.
    n_errors : float, default=1.0
        By how many standard errors it must lower the log-loss to enter the mixture.
    """

    name: str
    kind: type[Any]
    params: Mapping[str, Any] = field(repr=False)
    seconds: float
    n_errors: float = 1.0

    @property
    def least_seconds(self) -> float:
        """Seconds after which it is worth something: others than forests can end early."""
        is_forest = self.kind is SketchedExtraTreesClassifier
        return self.seconds if is_forest else _LEAST_SHARE * self.seconds

    @property
    def is_worth_repeating(self) -> bool:
        """Whether another seed makes another model, and it had the time that it needs."""
        return self.kind is not LogisticLabels and not self.name.startswith(_FIRST)

    def estimator(self, seed: int, n_jobs: int | None) -> BaseEstimator:
        """Make the estimator, not fitted."""
        return self.kind(random_state=seed, n_jobs=n_jobs, **self.params)


def usual_candidates(shape: Shape, pace: Pace = ANY_PACE) -> list[Candidate]:
    """List what is tried in any case, in the order in which it is trained.

    Parameters
    ----------
    shape : Shape
        Shape of the data.
    pace : Pace
        How fast boosters have to learn.

    Returns
    -------
    list of Candidate
        A booster, a second one if both cost little enough, a forest, and regressions. Where one
        fold is enough and time is not limited: a booster and regressions.

    Examples
    --------
    >>> [c.name for c in usual_candidates(Shape(400, 70, 6, 400 * 70, 5))]
    ['all labels, depth 4, rate 0.05', 'groups of 3, depth 6, rate 0.05', 'extra trees', 'linear']
    """
    subsample = _SUBSAMPLE if shape.n_rows >= _ENOUGH_TO_SAMPLE else 1.0
    first = booster(shape, 4, 0, subsample, pace)
    if shape.n_folds == 1 and pace.longest == np.inf:
        return [first, linear(shape)]
    others = [forest(shape), linear(shape)]
    if shape.n_labels == 1:
        return [first, *others]
    group = min(ceil(shape.n_labels / 2), _MOST_LABELS_OF_A_GROUP)
    second = booster(shape, 6, group, pace=pace)
    both = first.seconds + second.seconds
    return [first, second, *others] if both <= _AFFORDABLE else [first, *others]


def more_candidates(
    shape: Shape, seed: int, pace: Callable[[], Pace] = Pace
) -> Iterator[Candidate]:
    """Draw candidates without end: boosters and forests with other parameters and other seeds.

    Parameters
    ----------
    shape : Shape
        Shape of the data.
    seed : int
        Seed for the drawn parameters.
    pace : callable
        Returns how fast the next booster has to learn.

    Yields
    ------
    Candidate
        Each has another name.
    """
    random = np.random.default_rng(seed)
    groups = {0, min(ceil(shape.n_labels / 2), _MOST_LABELS_OF_A_GROUP), min(4, shape.n_labels), 1}
    number = 0
    while True:
        number += 1
        if number % 4 == 0:
            drawn = forest(
                shape,
                max_features=random.choice([0.1, 0.3, 0.6]),
                min_samples_leaf=int(random.choice([1, 2, 3, 5])),
            )
        else:
            drawn = booster(
                shape,
                int(random.choice([3, 4, 6, 8])),
                int(random.choice(sorted(groups))),
                float(random.choice([0.5, 0.7, 0.9])),
                pace(),
                colsample_bytree=float(random.choice([0.3, 0.5, 0.8])),
                min_child_weight=float(random.choice([1, 3, 10])),
            )
        yield replace(drawn, name=f"{drawn.name} ({number})", n_errors=_ERRORS_OF_OTHERS)


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
    n_trees = ceil(shape.n_labels / group) if group else 1
    in_trees = n_trees * (shape.n_entries * depth * PER_VISIT + PER_TREE)
    in_round = in_trees + _PER_LABEL * shape.n_rows * shape.n_labels
    longest, affordable = pace.longest, ceil(_LONGEST_BOOSTER / (shape.n_folds * in_round))
    rates: Sequence[tuple[float, float]] = _RATES
    if shape.n_folds == 1:
        rates = [(rate, np.inf) for rate in _RATES_OF_ONE_FOLD]
        if longest == np.inf:
            rates = [(_RATE_OF_ONE_FOLD, np.inf)]
            affordable = min(affordable, ROUNDS_OF_ONE_FOLD)
    for rate, longest_of_rate in rates:
        seconds = shape.n_folds * _ROUNDS_TIMES_RATE / rate * in_round
        if seconds * pace.needed / _ROUNDS_TIMES_RATE <= min(longest, longest_of_rate):
            break
    return Candidate(
        f"{of_labels}, depth {depth}, rate {rate:g}",
        MultiLabelXGBClassifier,
        {
            "max_depth": depth,
            "learning_rate": rate,
            "n_estimators": min(affordable, _MOST_ROUNDS),
            "sketch_size": 1,
            "labels_per_tree": group,
            "subsample": subsample,
            "max_bin": _MAX_BIN,
            **_OF_CATEGORIES,
            **others,
        },
        seconds,
    )


def first_booster(shape: Shape, longest: float) -> Candidate:
    """Describe a booster that is a good model after so many seconds, if that is possible.

    Examples
    --------
    >>> shape = Shape(400, 70, 6, 400 * 70, 1)
    >>> first_booster(shape, 60).name, first_booster(shape, 1e-3).name
    ('first, depth 6, rate 0.05', 'first, depth 6, rate 0.4')
    """
    found = booster(shape, 6, 0, pace=Pace(longest))
    return replace(found, name=found.name.replace("all labels", _FIRST))


def slower_booster(shape: Shape, needed: float, n_rounds: int) -> Candidate | None:
    """Describe a booster of one fold that learns as slowly as so many rounds allow.

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
            params = {"learning_rate": rate, "n_estimators": n_rounds}
            found = booster(shape, 4, 0)
            name = f"all labels, depth 4, rate {rate:g}"
            return replace(found, name=name, params=dict(found.params) | params)
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
    seconds = found.seconds * found.params["learning_rate"] / _SLOW
    return bool(seconds <= SHARE_OF_A_BOOSTER * time_budget)


def slowness(candidate: Candidate, seconds_per_round: float) -> float:
    """Return how much longer a booster takes than estimated, by the time of a round of all folds.

    Examples
    --------
    >>> booster = first_booster(Shape(400, 70, 6, 400 * 70, 5), 60)
    >>> slowness(booster, booster.seconds / 300 * 3)
    3.0
    """
    n_rounds = _ROUNDS_TIMES_RATE / candidate.params["learning_rate"]
    return float(seconds_per_round * n_rounds / candidate.seconds)


def second_level(shape: Shape, n_members: int, time_budget: float = np.inf) -> Candidate:
    """Describe a booster whose features are the margins of the members of a mixture."""
    n_features = n_members * shape.n_labels
    of_margins = shape._replace(n_features=n_features, n_entries=shape.n_rows * n_features)
    longest = SHARE_OF_A_BOOSTER * time_budget
    found = booster(of_margins, 3, 0, _SUBSAMPLE, Pace(longest))
    rate, params = found.params["learning_rate"], dict(found.params)
    if found.seconds * rate / _RATE_WITH_TIME <= longest < np.inf:
        params |= {"learning_rate": _RATE_WITH_TIME, "colsample_bytree": _COLUMNS_WITH_TIME}
    elif rate < _RATE_OF_SECOND_LEVEL:
        params["learning_rate"] = _RATE_OF_SECOND_LEVEL
    seconds = found.seconds * rate / params["learning_rate"]
    return replace(found, name="second level", params=params, seconds=seconds)


def forest(shape: Shape, **params: Any) -> Candidate:
    """Describe a forest of extra trees."""
    share = shape.n_entries / (shape.n_rows * shape.n_features)
    drawn = min(2 * shape.n_features**0.5, shape.n_features * max(share, 0.01))
    depth = log2(max(shape.n_rows, 2))
    for n_trees, longest in _TREES:
        seconds = _PER_DRAW * shape.n_folds * n_trees * shape.n_rows * depth * drawn
        if seconds <= longest:
            break
    params = {"n_estimators": n_trees, **params}
    return Candidate("extra trees", SketchedExtraTreesClassifier, params, seconds)


def linear(shape: Shape) -> Candidate:
    """Describe logistic regressions."""
    n_entries = shape.n_entries * rows_of_linear(shape) / shape.n_rows
    products = _N_PRODUCTS * shape.n_folds * n_entries * shape.n_labels
    return Candidate("linear", LogisticLabels, {}, _PER_PRODUCT * products)


def rows_of_linear(shape: Shape) -> int:
    """Return how many rows logistic regressions need: all, or a sample where one fold is enough.

    Examples
    --------
    >>> rows_of_linear(Shape(10**6, 150, 9, 15 * 10**7, 1))
    150000
    >>> rows_of_linear(Shape(10**6, 150, 9, 15 * 10**7, 5))
    1000000
    """
    if shape.n_folds > 1:
        return shape.n_rows
    return min(shape.n_rows, max(_LEAST_ROWS, _ROWS_PER_FEATURE * shape.n_features))
