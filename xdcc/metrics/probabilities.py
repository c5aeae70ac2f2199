"""Metrics of probabilities: log-loss, Brier score."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from xdcc.base.label_rows import Floats, KnownRows, Labels, Weights, known_proba_blocks
from xdcc.metrics.record import OfRows, metric


def log_losses(entries: KnownRows[Floats]) -> Floats:
    """Sum the log-losses of the known entries of each sample by shares, `(n_counted,)`."""
    smallest = np.finfo(np.float64).eps
    right = np.where(entries.truth, entries.predicted, 1 - entries.predicted)
    losses = -np.log(np.clip(right, smallest, 1 - smallest))
    return entries.row_sums(losses)


def brier_scores(entries: KnownRows[Floats]) -> Floats:
    """Sum the squared differences of the known entries of each sample by shares, `(n_counted,)`."""
    return entries.row_sums(np.square(entries.predicted - entries.truth))


@metric(
    "log-loss",
    "probabilities",
    "Good 1952",
    higher_is_better=False,
    drawn=OfRows(log_losses, by_entry=True),
    in_xgboost="logloss",
)
def log_loss(Y_true: Labels, Y_proba: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the mean of ``-log(probability of the true value)`` over the known entries.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN if the label is unknown.
    Y_proba : array-like or sparse matrix, shape (n_samples, n_labels)
        Probabilities that labels are 1.
    sample_weight : array-like, shape (n_samples,) or (n_samples, n_labels), optional
        Weights of the samples or entries.

    Returns
    -------
    float
        At least 0; log(2) if all probabilities are 0.5.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or if a probability is not from 0 to 1.

    Notes
    -----
    As :func:`sklearn.metrics.log_loss` of all entries as one binary target, probabilities of 0 and
    1 included: they are replaced by 2.2e-16 and its complement.

    Examples
    --------
    >>> log_loss([[1, 0], [0, 1]], [[0.5, 0.5], [0.25, 0.75]]).__round__(4)
    0.4904
    """
    return _mean_over_entries(log_losses, Y_true, Y_proba, sample_weight)


@metric(
    "Brier score",
    "probabilities",
    "Brier 1950",
    higher_is_better=False,
    drawn=OfRows(brier_scores, by_entry=True),
)
def brier_score(Y_true: Labels, Y_proba: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the mean squared difference of probabilities and labels over the known entries.

    Parameters and errors are as in `log_loss`.

    Returns
    -------
    float
        From 0 to 1; 0.25 if all probabilities are 0.5.

    Notes
    -----
    As :func:`sklearn.metrics.brier_score_loss` of all entries as one binary target. Source: Brier:
    "Verification of Forecasts Expressed in Terms of Probability" (Monthly Weather Review 78, 1950).

    Examples
    --------
    >>> brier_score([[1, 0], [0, 1]], [[0.5, 0.5], [0.25, 0.75]])
    0.15625
    """
    return _mean_over_entries(brier_scores, Y_true, Y_proba, sample_weight)


def _mean_over_entries(
    of_rows: Callable[[KnownRows[Floats]], Floats],
    Y_true: Labels,
    Y_proba: Labels,
    weights: Weights,
) -> float:
    sums = (
        np.array([block.weight @ of_rows(block), block.weight @ block.row_sums(block.known)])
        for block in known_proba_blocks(Y_true, Y_proba, weights)
    )
    total, n_known = reduce(np.add, sums)
    return float(total / n_known)
