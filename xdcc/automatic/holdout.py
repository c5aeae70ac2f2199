"""When one fold is enough to compare candidates: with many rows it is as exact as needed.

Five folds cost five trainings of each candidate. What they are for, the log-loss out of fold, has a
standard error that falls with the number of rows. :func:`hold_out` estimates that of one fold by
the losses of a model that predicts each label's frequency, and takes a single fold where it is a
small share of the loss: random rows, whole random groups, or the last rows in time. Rows with rare
labels, whose losses differ most, need more rows; rows of a group, whose losses are alike, need more
groups.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import TimeSeriesSplit
from xgboost import collective

from xdcc.automatic.boosters import fits_often
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, require_known
from xdcc.base.groups import grouped_folds, number_groups
from xdcc.base.label_rows import sample_rows

MOST_ERROR, MOST_ERROR_IN_HASTE = 0.01, 0.02
"""Standard error of a fold's log-loss, as a share of the loss, with which one fold is enough; and
where a time budget is too short for boosters of several folds."""

_SHARED = 0.4
"""How much of what the losses of a group's rows share remains in differences of candidates, which
decide, in proportion to the rest: candidates err on the same days. For pairs of boosters it was
.38 and .21 on 365 days of flights, .19 and .10 on 350 days of a generated table."""

_LEAST_GROUPS = 25
"""From fewer held-out groups, of equal size, their standard error is not known well enough."""

_TIME_BLOCKS = 250
"""Rows that follow each other in time are alike: so many blocks of them are groups."""

_N_PARTS = 5


class OneFold(NamedTuple):
    """The only fold, and its parts: calibration and rules are judged on rows of other parts.

    Attributes
    ----------
    folds : Folds
        One fold.
    parts : int array of shape (n_samples,)
        Part of each row, from 0; -1 for a row that is not in the fold.
    """

    folds: Folds
    parts: NDArray[np.intp]


def relative_error(data: FitData, n_rows: int, groups: NDArray[np.intp] | None = None) -> float:
    """Estimate the standard error of the log-loss of some rows, as a share of that loss.

    Parameters
    ----------
    data : FitData
        Labels and weights.
    n_rows : int
        Number of rows that the log-loss is of, drawn from these.
    groups : int array of shape (n_samples,), optional
        Group of each row, from 0, if whole groups are drawn. The error is then cluster-robust, but
        what the rows of a group share, and candidates with them, counts 40 %.

    Returns
    -------
    float
        Error for a model that predicts the frequency of each label, if the standard deviation of
        its losses is at least their mean, as that of better models is. Infinity if no label is
        known.

    Examples
    --------
    >>> Y = np.tile(np.array([[1], [0]], np.float32), (50, 1))
    >>> relative_error(FitData(np.zeros((100, 1)), Y, None), 25)
    0.2
    >>> Y[:98] = 0
    >>> round(relative_error(FitData(np.zeros((100, 1)), Y, None), 25), 2)
    1.63
    >>> pairs = np.arange(100) // 2
    >>> Y[98:] = 1
    >>> round(relative_error(FitData(np.zeros((100, 1)), Y, None), 25, pairs), 2)
    1.2
    """
    rows = sample_rows(data.Y.shape)
    part = data._replace(X=None).take(rows)
    Y, weight = part.truth, part.entry_weight
    n_known = weight.sum(axis=0)
    rate = np.clip((weight * Y).sum(axis=0) / np.maximum(n_known, 1e-300), 1e-6, 1 - 1e-6)
    losses = np.where(Y == 1, -np.log(rate), -np.log1p(-rate)) * weight
    of_rows = losses.sum(axis=1)
    mean = of_rows.mean()
    if not mean > 0:
        return np.inf
    shared = 0.0
    if groups is not None:
        above = of_rows - mean
        of_groups = np.bincount(groups[rows], above)
        # Products of different rows of a group, of which a sample has fewer.
        alike = (of_groups @ of_groups - above @ above) / len(rows) * len(data.Y) / len(rows)
        shared = _SHARED * np.sqrt(max(float(alike), 0.0))
    return float(np.hypot(max(of_rows.std() / mean, 1.0), shared / mean) / np.sqrt(n_rows))


def n_folds_of(cv: Any) -> int | None:
    """Return the number of folds of the parameter `cv`, if one of them can be held out alone."""
    if isinstance(cv, TimeSeriesSplit):
        return int(cv.get_n_splits())
    return int(cv) if isinstance(cv, Integral) else None


def hold_out(
    cv: Any,
    groups: NDArray[Any] | None,
    *,
    data: FitData,
    seed: int,
    time_budget: float | None = None,
    is_short: bool = False,
) -> OneFold | None:
    """Hold out one fold of those of the parameter `cv`, if its log-loss is exact enough.

    Parameters
    ----------
    cv : int, TimeSeriesSplit or other
        With a number n, the fold has 1 / n of the rows, drawn at random, or random groups that
        have about as many. With ``TimeSeriesSplit`` it is the last one.
    groups : array of shape (n_samples,) or None
        Groups of the rows.
    data : FitData
        Labels and weights of all rows.
    seed : int
        Seed for the rows that are drawn.
    time_budget : float, optional
        Seconds. If they are few for the number of rows, a less exact log-loss is enough: several
        folds of few boosting rounds would be less exact still.
    is_short : bool, default=False
        Whether they are so few that any log-loss is enough.

    Returns
    -------
    OneFold or None
        None if more folds are needed, for another `cv`, and for workers that train together.

    Examples
    --------
    >>> Y = np.tile(np.array([[1], [0], [0]], np.float32), (300, 1))
    >>> hold_out(5, None, data=FitData(np.zeros((900, 1)), Y, None), seed=0) is None
    True
    """
    n_rows = len(data.Y)
    if collective.is_distributed():
        return None
    numbers = None if groups is None else number_groups(groups)
    n_folds = n_folds_of(cv)
    if n_folds is None:
        return None
    if isinstance(cv, TimeSeriesSplit):
        folds = _last_fold(cv, n_rows)
        if numbers is None:
            numbers = np.arange(n_rows) * _TIME_BLOCKS // n_rows
    else:
        folds = _random_fold(n_rows, n_folds, numbers, seed)
    n_tested = int(folds.tested.sum())
    if n_tested == 0 or (numbers is not None and _n_groups(numbers[folds.tested]) < _LEAST_GROUPS):
        return None
    is_in_haste = time_budget is not None and not fits_often(Shape.of(data, n_folds), time_budget)
    most = MOST_ERROR_IN_HASTE if is_in_haste else MOST_ERROR
    if not is_short and relative_error(data, n_tested, numbers) > most:
        return None
    require_known(folds, data)
    return OneFold(folds, _parts_of_fold(folds, numbers, seed))


def _random_fold(n_rows: int, n_folds: int, groups: NDArray[np.intp] | None, seed: int) -> Folds:
    """Draw 1 / `n_folds` of the rows, or groups that have about as many."""
    random, n_tested = np.random.default_rng(seed), n_rows // n_folds
    test = np.full(n_rows, -1, dtype=np.intp)
    if groups is None:
        test[random.permutation(n_rows)[:n_tested]] = 0
        return Folds(test)
    sizes = np.bincount(groups)
    drawn = random.permutation(len(sizes))
    n_drawn = int(np.abs(np.cumsum(sizes[drawn]) - n_tested).argmin()) + 1
    test[np.isin(groups, drawn[:n_drawn])] = 0
    return Folds(test)


def _last_fold(cv: TimeSeriesSplit, n_rows: int) -> Folds:
    """Take the last fold of a splitter."""
    *_, (train, tested) = cv.split(np.zeros(n_rows))
    test = np.full(n_rows, -1, dtype=np.intp)
    test[tested] = 0
    trains = np.isin(np.arange(n_rows), train)
    return Folds(test, None if np.array_equal(trains, test < 0) else [trains])


def _n_groups(groups: NDArray[np.intp]) -> float:
    """Count the groups of rows; of different sizes, how many equal ones tell as much."""
    sizes = np.bincount(groups).astype(float)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def _parts_of_fold(folds: Folds, groups: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    """Divide the rows of the only fold at random, or in whole groups."""
    parts = np.full(len(folds.test), -1, dtype=np.intp)
    if groups is None:
        n_tested = int(folds.tested.sum())
        parts[folds.tested] = np.random.default_rng(seed).permutation(n_tested) % _N_PARTS
    else:
        parts[folds.tested] = grouped_folds(groups[folds.tested], _N_PARTS)
    return parts
