"""Bootstrap bias corrected cross-validation (BBC-CV): choose a configuration, judge the choice.

Cross-validation that compares many configurations and reports the loss of the best one is too
optimistic: the best one was partly lucky. BBC-CV repeats the choice instead of the training. The
out-of-sample losses of all configurations, one row for each sample, are put together over the
folds; then, many times, rows are drawn with replacement, the best configuration is chosen on the
drawn rows, and its loss is measured on the rows that were not drawn. The mean of these losses is
the estimate for the configuration that is best on all rows. Source: Tsamardinos, Greasidou,
Borboudakis: "Bootstrapping the out-of-sample predictions for efficient and accurate
cross-validation" (Machine Learning 107, 2018). The loss must be a mean over samples,
as subset 0/1 loss, Hamming loss or 1 - example-based F1 are; :func:`draw_choices` is the same for
any metric of rows that are drawn, or left out.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.domains import Number, check_domain

type Floats = NDArray[np.float64]


_DRAWN_AT_ONCE = 2**21
"""Number of draws times rows in memory at once: 16 MiB."""


class Choice(NamedTuple):
    """A chosen configuration and how good it is.

    Attributes
    ----------
    best : int
        The configuration with the smallest mean loss on all rows, the first of equal ones.
    naive : float
        Its mean on all rows, which the choice makes too small.
    estimate : float
        Mean over the bootstrap samples of the chosen configuration's loss on the left-out rows.
    interval : tuple of two floats
        Percentile interval of these losses.
    """

    best: int
    naive: float
    estimate: float
    interval: tuple[float, float]


def bbc_cv(
    losses: ArrayLike,
    *,
    judged_by: ArrayLike | None = None,
    n_bootstraps: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Choice:
    """Choose the best of some configurations and estimate its loss without the bias of choosing.

    Parameters
    ----------
    losses : array-like of shape (n_samples, n_configurations)
        Out-of-sample loss of each configuration on each sample, small is good.
    judged_by : array-like of shape (n_samples, n_configurations), optional
        Another loss, which does not take part in the choice: `naive`, `estimate` and `interval`
        are then of this one.
    n_bootstraps : int, default=1000
        How many times rows are drawn.
    confidence : float, default=0.95
        Confidence of the interval, between 0 and 1.
    random_state : int, numpy.random.Generator or None
        Seed of the draws.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If the losses are not a finite matrix of at least two rows, the two matrices have different
        shapes, or a number is out of its range.

    Examples
    --------
    >>> losses = np.random.default_rng(0).integers(2, size=(50, 20))
    >>> choice = bbc_cv(losses, random_state=0)
    >>> choice.naive, round(choice.estimate, 2)
    (0.36, 0.46)
    """
    check_domain("n_bootstraps", n_bootstraps, Number(low=1, whole=True))
    check_domain("confidence", confidence, Number(0, 1, low_open=True, high_open=True))
    choosing = _check_losses(losses, "losses")
    judging = choosing if judged_by is None else _check_losses(judged_by, "judged_by")
    if judging.shape != choosing.shape:
        raise ValueError(f"judged_by has the shape {judging.shape}, losses {choosing.shape}.")
    counts = _draw_rows(len(choosing), n_bootstraps, np.random.default_rng(random_state))
    chosen = (counts @ choosing).argmin(axis=1)
    left_out = (counts == 0).astype(np.float64)
    estimates = (left_out * judging[:, chosen].T).sum(axis=1) / left_out.sum(axis=1)
    best = int(choosing.mean(axis=0).argmin())
    tail = (1 - confidence) / 2
    low, high = np.quantile(estimates, (tail, 1 - tail))
    return Choice(
        best, float(judging[:, best].mean()), float(estimates.mean()), (float(low), float(high))
    )


class DrawnChoices(NamedTuple):
    """Scores of configurations on draws of rows, and on the rows that each draw left out.

    Attributes
    ----------
    drawn, left_out : float arrays of shape (n_draws, n_configurations)
        High is good. Draws on which a metric has no value are not among them.
    """

    drawn: Floats
    left_out: Floats

    def estimate(self, among: NDArray[np.intp], handicap: Floats | float = 0.0) -> Floats:
        """Choose on the drawn rows, and judge on the others: the chosen one's score, `(n_draws,)`.

        Their mean is the estimate for the best on all rows. `among` are the configurations that can
        be chosen, the first of equal ones; `handicap`, for each of them or for all, is taken off
        the scores that decide: a preference for others.
        """
        chosen = among[(self.drawn - handicap)[:, among].argmax(axis=1)]
        return np.asarray(self.left_out[np.arange(len(chosen)), chosen])


def draw_choices(
    scores: Callable[[Floats], Floats],
    n_samples: int,
    *,
    n_bootstraps: int,
    random_state: int | np.random.Generator | None = None,
) -> DrawnChoices:
    """Draw rows for metrics that are not means over samples, such as macro F1.

    Parameters
    ----------
    scores : callable
        From how often each row counts, `(n_draws, n_samples)`, to the configurations' scores,
        `(n_draws, n_configurations)`; NaN where there is none.
    n_samples : int
        Number of rows, at least two.
    n_bootstraps : int
        How many times rows are drawn.
    random_state : int, numpy.random.Generator or None
        Seed of the draws.

    Returns
    -------
    DrawnChoices
    """
    drawn, left_out = [], []
    for counts in _draws(n_samples, n_bootstraps, random_state):
        drawn.append(scores(counts))
        left_out.append(scores((counts == 0).astype(np.float64)))
    together = DrawnChoices(np.concatenate(drawn), np.concatenate(left_out))
    valid = ~np.isnan(np.hstack(together)).any(axis=1)
    return DrawnChoices(together.drawn[valid], together.left_out[valid])


def standard_errors(
    scores: Callable[[Floats], Floats],
    n_samples: int,
    *,
    n_bootstraps: int,
    random_state: int | np.random.Generator | None = None,
) -> Floats:
    """Estimate the standard errors of scores between which nothing is chosen.

    Parameters
    ----------
    scores, n_samples, n_bootstraps, random_state
        As in :func:`draw_choices`.

    Returns
    -------
    float array of shape (n_configurations,)
        Standard deviations over the draws that have a score; NaN if there are none.
    """
    return _spread(
        np.concatenate([scores(c) for c in _draws(n_samples, n_bootstraps, random_state)])
    )


def spread_over_folds(scores: Callable[[Floats], Floats], folds: NDArray[np.intp]) -> Floats:
    """Return the standard deviations of scores over the folds, `(n_configurations,)`.

    `scores` is as in :func:`draw_choices`. Folds on which a metric has no value do not count.

    Examples
    --------
    >>> spread_over_folds(lambda counts: counts @ [[1.0], [2.0], [3.0]], np.array([0, 0, 1]))
    array([0.])
    """
    return _spread(scores((folds == np.unique(folds)[:, np.newaxis]).astype(np.float64)))


def _spread(scores: Floats) -> Floats:
    """Return the standard deviations of the rows that have scores; NaN without any."""
    valid = scores[~np.isnan(scores).any(axis=1)]
    return valid.std(axis=0) if len(valid) else np.full(scores.shape[1], np.nan)


def _draws(
    n_rows: int, n_draws: int, random_state: int | np.random.Generator | None
) -> Iterator[Floats]:
    """Yield how often each row is drawn, for as many draws as fit in memory at once."""
    random = np.random.default_rng(random_state)
    at_once = max(1, _DRAWN_AT_ONCE // n_rows)
    for begin in range(0, n_draws, at_once):
        yield _draw_rows(n_rows, min(at_once, n_draws - begin), random)


def _draw_rows(n_rows: int, n_draws: int, random: np.random.Generator) -> Floats:
    """Return how often each row is drawn, (n_draws, n_rows); each draw leaves out a row."""
    share = np.full(n_rows, 1 / n_rows)
    counts = random.multinomial(n_rows, share, size=n_draws)
    while (full := (counts > 0).all(axis=1)).any():
        counts[full] = random.multinomial(n_rows, share, size=full.sum())
    return counts.astype(np.float64)


def _check_losses(losses: ArrayLike, name: str) -> Floats:
    array = np.asarray(losses, dtype=np.float64)
    if array.ndim != 2 or len(array) < 2 or array.shape[1] < 1:
        raise ValueError(
            f"{name} has the shape {array.shape}; it must be (n_samples, n_configurations) with "
            "at least two samples and a configuration."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{row}, {column}] is {array[row, column]}; losses must be finite.")
    return array
