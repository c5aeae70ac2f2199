"""Warns if random folds flatter the score, because rows of a day, a place or a person are alike.

Residuals that are alike do not tell this: a model may just not have learned all that a category
does. So groups of rows are divided into two halves, and a small booster learns from a part of each.
Both predict the same other rows, once with rows of their group in training and once without. Which
half a group is in is drawn, so without structure both log-losses have the same mean; the difference
of one pair of boosters has a standard error by groups and costs about .1 s. One trial chooses a
column, more trials of it decide. They take 2 % of the seconds that are estimated for training.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from xgboost import collective

from xdcc.automatic.boosters import (
    OF_CATEGORIES,
    PER_LABEL,
    PER_TREE,
    PER_VISIT,
    ROUNDS_TIMES_RATE,
    booster,
)
from xdcc.automatic.search_result import SearchResult
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.package import PACKAGE
from xdcc.boosting import MultiLabelXGBClassifier

SHARE_OF_TIME = 0.02
"""Of the estimated seconds for training, or of the time budget."""

_OF_ESTIMATE = 0.4
"""Share of the estimated seconds that a round of one fold took on four tables of 60,000 to 120,000
rows."""

LEAST_ROWS = 2_000
"""With fewer rows nothing is tested."""

_MOST_ROWS, _FEWEST_ROWS = 20_000, 6_000
"""Rows of a trial; as few as the second number, or all rows, if time does not suffice for more."""

_MOST_COLUMNS, _MOST_TRIALS = 5, 4
"""Columns with a trial, the order of the rows among them; and trials of the one that stands out."""

_LEAST_VALUES, _LEAST_GROUPS = 30, 60
"""Values of a column; and groups that the rows of a trial are from, if the column has as many."""

_N_BLOCKS = 100
"""Blocks of rows that follow each other, in a trial."""

_MOST_VALUES = 1 / 3
"""Share of the number of rows, above which values are too many to be groups."""

_GROWS = 0.6
"""Share of the changes to a next row that are upwards, from which on a column grows."""

_MANY_VALUES, _IS_EVEN = 200, 0.5
"""Values in 1,000 rows, and the effective number of values (as many equally frequent ones) as a
share of all, from which on whole numbers may be identifiers. A smooth effect, as of an age, is not
learned at values that are left out if these are few."""

_PROMISING, _CERTAIN = 1.5, 3.5
"""Standard errors with which a first trial is followed by others, and by which to warn."""

_LEAST_FLATTERY = 0.02
"""By which share the log-loss has to differ."""

_ROUNDS, _DEPTH = 25, 6
_PER_FEATURE = 1e-6
"""Seconds for a feature in a round, which matter for text."""

_TESTED = 4
"""One row of so many is tested."""


class Suspect(NamedTuple):
    """What rows may be alike in: a column of X, or their order.

    Attributes
    ----------
    column : int or None
        None for the order of the rows.
    grows : bool
        Whether the values grow with the rows.
    codes : int array of shape (n_samples,) or None
        Number of each row's value.
    order : int array of shape (n_samples,) or None
        The rows in the order whose blocks are groups, where there are no codes.
    """

    column: int | None
    grows: bool
    codes: NDArray[np.intp] | None
    order: NDArray[np.intp] | None


class Flattery(NamedTuple):
    """How much lower the log-loss is with rows of the same groups in training, as a share."""

    share: float
    error: float

    @property
    def errors(self) -> float:
        """In standard errors."""
        return self.share / self.error if self.error > 0 else 0.0


def warn_of_random_folds(data: FitData, shape: Shape, seconds: float, seed: int) -> None:
    """Warn if random folds flatter the score, but not workers that train together.

    `seconds` are those of the trainings, estimated, or the time budget.
    """
    if collective.is_distributed():
        return
    found = find_flattery(data, shape, SHARE_OF_TIME * seconds, seed)
    if found is not None:
        warnings.warn(_message(data, *found), UserWarning, skip_file_prefixes=(PACKAGE,))


def seconds_of_search(found: SearchResult) -> float:
    """Estimate the seconds that a search has trained, equally on every machine.

    Where one fold is enough, boosters often need more rounds than the estimates assume.
    """
    shape = found.shape
    n_rounds = max([each for each in found.summary["rounds"] if each is not None], default=0)
    expected = booster(shape, 4, 0)
    n_expected = ROUNDS_TIMES_RATE / expected.model.learning_rate
    of_rounds = _OF_ESTIMATE * expected.seconds * n_rounds / n_expected
    return max(found.usual_seconds, of_rounds) if shape.n_folds == 1 else found.usual_seconds


def find_flattery(
    data: FitData, shape: Shape, seconds: float, seed: int
) -> tuple[Suspect, Flattery] | None:
    """Find what makes rows alike, and by how much that flatters the log-loss; None if nothing."""
    n_rows = len(data.Y)
    is_table = isinstance(data.X, np.ndarray) or sparse.issparse(data.X)
    if n_rows < LEAST_ROWS or not is_table:
        return None
    n_sampled, n_trials = n_rows, 0
    for most in (_MOST_ROWS, _FEWEST_ROWS):
        n_sampled = min(n_rows, most)
        n_trials = int(seconds / _seconds_of_trial(shape, n_sampled))
        if n_trials >= _MOST_COLUMNS:
            break
    random = np.random.default_rng([seed, 2])
    best: tuple[Suspect, Flattery] | None = None
    tried = suspects(data, min(_MOST_COLUMNS, n_trials))
    for suspect in tried:
        flattery = _trial(data, suspect, n_sampled, random)
        if flattery.errors >= _PROMISING and (best is None or flattery.share > best[1].share):
            best = suspect, flattery
    if best is None:
        return None
    suspect, flattery = best
    trials = [flattery]
    while flattery.errors < _CERTAIN and len(trials) < min(_MOST_TRIALS, n_trials - len(tried) + 1):
        trials.append(_trial(data, suspect, n_sampled, random))
        flattery = _mean_of(trials)
    is_certain = flattery.errors >= _CERTAIN and flattery.share >= _LEAST_FLATTERY
    return (suspect, flattery) if is_certain else None


def _mean_of(trials: Sequence[Flattery]) -> Flattery:
    """Average trials."""
    shares, errors = zip(*trials, strict=True)
    return Flattery(float(np.mean(shares)), float(np.linalg.norm(errors)) / len(trials))


def _seconds_of_trial(shape: Shape, n_rows: int) -> float:
    """Estimate the seconds of two boosters on one core."""
    n_learned = n_rows * (1 - 1 / _TESTED) / 2
    visits = n_learned * shape.n_entries / shape.n_rows * _DEPTH * PER_VISIT
    per_round = PER_TREE + PER_LABEL * n_learned * shape.n_labels + _PER_FEATURE * shape.n_features
    return 2 * _ROUNDS * (visits + per_round)


def suspects(data: FitData, most: int) -> list[Suspect]:
    """List what rows may be alike in, at most so many.

    Columns that grow with the rows come first, or the order of the rows if there is none, then
    categories, and whole numbers that may be identifiers.
    """
    n_rows = len(data.Y)
    if most < 1:
        return []
    if sparse.issparse(data.X):
        return [Suspect(None, True, None, np.arange(n_rows))]
    few = data.X[np.linspace(0, n_rows - 1, 1000).astype(np.intp)]
    ordered = np.sort(few, axis=0)
    n_seen = 1 + (ordered[1:] > ordered[:-1]).sum(axis=0)
    several = np.flatnonzero(n_seen >= 2 / 3 * _LEAST_VALUES).tolist()
    categories = (data.input_form.categories if data.input_form else None) or {}
    numbers = [
        each for each in several if each not in categories and np.isfinite(few[:, each]).all()
    ]
    growing = [each for each in numbers if _share_of_rises(data.X[:, each]) >= _GROWS]
    identifiers = [
        each
        for each in numbers
        if n_seen[each] >= _MANY_VALUES and (few[:, each] == np.rint(few[:, each])).all()
    ]
    found = [Suspect(None, True, None, np.arange(n_rows))]
    for kind in (growing, [each for each in several if each in categories], identifiers):
        for column in kind:
            suspect = _suspect(data.X[:, column], column, kind is growing, kind is identifiers)
            if suspect is not None and column not in [each.column for each in found]:
                found.append(suspect)
            if len(found) > most:
                break
        if len(found) > 1 and found[1].grows:
            found = [each for each in found if each.column is not None]
    return found[:most]


def _suspect(
    values: NDArray[np.float32], column: int, grows: bool, is_number: bool
) -> Suspect | None:
    """Make groups of the values of a column; None if they are too few or too many for that."""
    if is_number and not np.isfinite(values).all():
        return None
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    effective = len(values) ** 2 / float(np.square(counts, dtype=np.float64).sum())
    if len(counts) < _LEAST_VALUES or (is_number and effective < _IS_EVEN * len(counts)):
        return None
    if len(counts) <= _MOST_VALUES * len(values):
        return Suspect(column, grows, codes, None)
    return Suspect(column, True, None, np.argsort(values, kind="stable")) if grows else None


def _share_of_rises(values: NDArray[np.floating]) -> float:
    """Return which share of the changes from a row to the next are upwards."""
    n_up = int(np.count_nonzero(values[1:] > values[:-1]))
    n_down = int(np.count_nonzero(values[1:] < values[:-1]))
    return n_up / max(n_up + n_down, 1)


def _trial(data: FitData, suspect: Suspect, n_rows: int, random: np.random.Generator) -> Flattery:
    """Train two boosters on different groups, and compare them on other rows of these."""
    if suspect.codes is not None:
        rows, groups = _rows_of_groups(suspect.codes, n_rows, random)
    else:
        assert suspect.order is not None
        rows, groups = _rows_of_blocks(suspect.order, n_rows, random)
    counts = data.counts[rows]
    rows, groups = rows[counts], np.unique(groups[counts], return_inverse=True)[1]
    sizes = np.bincount(groups)
    half = _halves(len(sizes), random)[groups]
    is_tested = _rank_in_group(groups, sizes, random) < np.maximum(1, sizes[groups] // _TESTED)
    learned = [np.sort(rows[~is_tested & (half == number)]) for number in range(2)]
    if not all(data.known[each].any() for each in learned):
        return Flattery(0.0, np.inf)
    tested = data.take(rows[is_tested])
    losses = [_losses(data.part(each), tested, half[is_tested], random) for each in learned]
    groups, half = groups[is_tested], half[is_tested]
    with_group = np.where(half == 0, losses[0], losses[1])
    difference = np.where(half == 0, losses[1], losses[0]) - with_group
    # One booster is better by chance: the mean of both halves is not affected.
    means, variances = zip(
        *(_mean_by_group(difference[half == i], groups[half == i]) for i in range(2)), strict=True
    )
    scale = max(float(with_group.mean()), 1e-12)
    return Flattery(float(np.mean(means)) / scale, float(np.sqrt(np.sum(variances))) / 2 / scale)


def _rows_of_blocks(
    order: NDArray[np.intp], n_rows: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw blocks of rows that follow each other; return the rows and their blocks."""
    size = max(2, n_rows // _N_BLOCKS)
    drawn = random.permutation(len(order) // size)[:_N_BLOCKS]
    at = drawn[:, np.newaxis] * size + np.arange(size)
    return order[at.ravel()], np.repeat(np.arange(len(drawn)), size)


def _rows_of_groups(
    codes: NDArray[np.intp], n_rows: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw groups of at least two rows, whole ones unless they are too large."""
    sizes = np.bincount(codes)
    taken = np.minimum(sizes, max(2, n_rows // _LEAST_GROUPS))
    drawn = random.permutation(np.flatnonzero(sizes >= 2))
    drawn = drawn[: int(np.searchsorted(np.cumsum(taken[drawn]), n_rows)) + 1]
    is_drawn = np.zeros(len(sizes), dtype=bool)
    is_drawn[drawn] = True
    rows = np.flatnonzero(is_drawn[codes])
    rows = rows[_rank_in_group(codes[rows], sizes, random) < taken[codes[rows]]]
    return rows, codes[rows]


def _rank_in_group(
    groups: NDArray[np.intp], sizes: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.intp]:
    """Draw an order of the rows of each group; return their places in it, from 0."""
    drawn = random.permutation(len(groups))
    drawn = drawn[np.argsort(groups[drawn], kind="stable")]
    sizes = np.bincount(groups, minlength=len(sizes))
    ranks = np.empty(len(groups), dtype=np.intp)
    ranks[drawn] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks


def _halves(n_groups: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Divide groups into halves, of two groups with adjacent values one into each.

    What is smooth in the values is then learned in both halves.
    """
    first = random.integers(0, 2, (n_groups + 1) // 2)
    return np.column_stack((first, 1 - first)).ravel()[:n_groups]


def _losses(
    learned: FitData, tested: FitData, half: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.float64]:
    """Train a booster on some rows, and return its log-loss for each of others, `(n_tested,)`.

    Each half of these has the right mean: how frequent labels are differs by chance, and a value
    that was not learned has one place in a tree, which may be a wrong one for all such rows.
    """
    model = MultiLabelXGBClassifier(
        n_estimators=_ROUNDS,
        max_depth=_DEPTH,
        learning_rate=0.3,
        sketch_size=1,
        max_bin=64,
        **OF_CATEGORIES,
    )
    (model,) = model._fit_with_seeds(learned, [int(random.integers(2**31))])
    margins = np.asarray(model._margins(tested.X), dtype=np.float64)
    weight, Y = tested.entry_weight, tested.truth
    for rows in (half == 0, half == 1):
        for _ in range(3):
            proba = expit(margins[rows])
            slope = (weight[rows] * proba * (1 - proba)).sum(axis=0)
            step = (weight[rows] * (Y[rows] - proba)).sum(axis=0) / np.maximum(slope, 1e-9)
            margins[rows] += np.clip(step, -1, 1)
    losses: NDArray[np.float64] = weight * (np.logaddexp(0, margins) - Y * margins)
    return losses.sum(axis=1)


def _mean_by_group(values: NDArray[np.float64], groups: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean of values and its variance, if those of a group are alike."""
    _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return 0.0, np.inf
    mean = float(values.mean())
    above = np.bincount(groups, values) - mean * sizes
    return mean, float(above @ above) / len(values) ** 2 * len(sizes) / (len(sizes) - 1)


def _message(data: FitData, suspect: Suspect, flattery: Flattery) -> str:
    """Say what is flattered, by what, and what to pass."""
    percent = f"{100 * flattery.share:.0f} %"
    if suspect.column is None:
        return (
            "Random folds flatter the score: rows that follow each other in X are alike. In a "
            f"trial the log-loss was {percent} higher where the rows around were not in training. "
            "If new rows are later ones, pass cv=TimeSeriesSplit(); if rows belong together, pass "
            "a value for each row as groups."
        )
    names = data.input_form.names if data.input_form else None
    name = f"column {suspect.column}" if names is None else repr(names[suspect.column])
    group = f"X[:, {suspect.column}]" if names is None else name
    later = f" or, with rows in the order of {name}, cv=TimeSeriesSplit()" if suspect.grows else ""
    return (
        f"Random folds flatter the score: rows that share a value of {name} are alike. In a trial "
        f"the log-loss was {percent} higher where no such rows were in training. If new rows have "
        f"other values of {name}, pass groups={group}{later}."
    )
