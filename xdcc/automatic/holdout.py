"""When one fold is enough to compare candidates: with many rows it is as exact as needed.

Five folds cost five trainings of each candidate. What they are for, the log-loss out of fold, has a
standard error that falls with the number of rows. :func:`one_fold` estimates that of one fold by
the losses of a model that predicts each label's frequency, and takes a single random fold where it
is a small share of the loss. Rows with rare labels, whose losses differ most, need more rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.automatic.boosters import fits_often
from xdcc.automatic.families import usual_candidates
from xdcc.automatic.family import MemberFamily
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds
from xdcc.base.label_rows import sample_rows

MOST_ERROR = 0.01
"""Standard error of a fold's log-loss, as a share of the loss, with which one fold is enough."""


_HASTE = 2.0
"""Times that error if a time budget is too short for slow boosters of several folds."""

_SHARE_OF_USUAL = 0.6
"""Share of a time budget that is there for the usual candidates; what follows takes the rest."""

_N_PARTS = 5


def relative_error(data: FitData, n_rows: int) -> float:
    """Estimate the standard error of the log-loss of some rows, as a share of that loss.

    Parameters
    ----------
    data : FitData
        Labels and weights.
    n_rows : int
        Number of rows that the log-loss is of, drawn from these.

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
    """
    rows = sample_rows(data.Y.shape)
    part = data._replace(X=None).take(rows)
    Y, weight = part.truth, part.entry_weight
    n_known = weight.sum(axis=0)
    rate = np.clip((weight * Y).sum(axis=0) / np.maximum(n_known, 1e-300), 1e-6, 1 - 1e-6)
    losses = np.where(Y == 1, -np.log(rate), -np.log1p(-rate)) * weight
    of_rows = losses.sum(axis=1)
    mean = of_rows.mean()
    return float(max(of_rows.std() / mean, 1.0) / np.sqrt(n_rows)) if mean > 0 else np.inf


def haste_of(
    families: Sequence[MemberFamily], shape: Shape, budget: TimeBudget, *, has_rules: bool
) -> float:
    """Return how many times as large an error of one fold is allowed; infinity: any.

    Several folds of few boosting rounds are less exact than one. If the usual candidates do not fit
    into all folds, one of them has to do. Decision rules are learned from the rows that are tested,
    so with these one fold has to do only if candidates would end too early to be worth something.
    """
    if not budget.is_limited:
        return 1.0
    usual = usual_candidates(families, shape, budget.longest())
    needed = sum(
        budget.estimate(each) if has_rules else budget.slowness(each) * each.seconds
        for each in usual
    )
    if needed > _SHARE_OF_USUAL * budget.seconds:
        return np.inf
    return 1.0 if fits_often(shape, budget) else _HASTE


def one_fold(data: FitData, n_folds: int, seed: int, haste: float = 1.0) -> Folds | None:
    """Draw one fold of `n_folds`, if its log-loss is exact enough.

    Parameters
    ----------
    data : FitData
        Labels and weights of all rows.
    n_folds : int
        The fold has 1 / `n_folds` of the rows.
    seed : int
        Seed for the rows that are drawn.
    haste : float, default=1.0
        How many times as large an error is allowed, as in :func:`haste_of`.

    Returns
    -------
    Folds or None
        One fold; its rows are tested, the others are not. None if more folds are needed, and for
        workers that train together.

    Examples
    --------
    >>> Y = np.tile(np.array([[1], [0], [0]], np.float32), (300, 1))
    >>> one_fold(FitData(np.zeros((900, 1)), Y, None), 5, seed=0) is None
    True
    """
    n_tested = len(data.Y) // n_folds
    if collective.is_distributed() or n_tested == 0:
        return None
    if haste < np.inf and relative_error(data, n_tested) > haste * MOST_ERROR:
        return None
    test = np.full(len(data.Y), -1, dtype=np.intp)
    test[np.random.default_rng(seed).permutation(len(test))[:n_tested]] = 0
    return Folds(test)


def parts_of_fold(folds: Folds, seed: int) -> NDArray[np.intp]:
    """Divide the rows of the only fold: calibration and rules are judged on rows of other parts.

    Parameters
    ----------
    folds : Folds
        One fold.
    seed : int
        Seed for the parts.

    Returns
    -------
    int array of shape (n_samples,)
        Part of each row, from 0; -1 for a row that is not in the fold.

    Examples
    --------
    >>> parts_of_fold(Folds(np.array([-1, 0, 0, -1, 0, 0, 0])), seed=0)
    array([-1,  2,  4, -1,  3,  0,  1])
    """
    parts = np.full(len(folds.test), -1, dtype=np.intp)
    n_tested = int(folds.tested.sum())
    parts[folds.tested] = np.random.default_rng(seed).permutation(n_tested) % _N_PARTS
    return parts
