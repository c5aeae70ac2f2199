"""Platt scaling: probabilities from margins that are right in the mean.

A margin z becomes the probability sigmoid(a z + b), with a at least 0 and b such that the log-loss
of rows that the model has not seen is least. Two numbers for all labels can hardly overfit; a label
gets two of its own if that is better by more than chance on folds that these were not fitted to.
Targets are smoothed, (N+ + 1) / (N+ + 2) for a label that is there and 1 / (N- + 2) for one that is
not, so that perfect margins stay finite. Source: Platt: "Probabilistic Outputs for Support Vector
Machines" (Advances in Large Margin Classifiers, 1999). The minimum is found by SciPy's
trust-region Newton method, which needs few passes over the rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]

_SMALLEST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that margins are finite."""

_LEAST_OF_BOTH = 10
"""A label needs so many rows with it and without it for two numbers of its own."""


def margins_of(proba: NDArray[np.floating]) -> Floats:
    """Compute log-odds.

    Parameters
    ----------
    proba : float array
        Probabilities.

    Returns
    -------
    float64 array of the same shape
        From -13.8 to 13.8.
    """
    return np.asarray(logit(np.clip(proba, _SMALLEST, 1 - _SMALLEST, dtype=np.float64)))


class PlattScaling(NamedTuple):
    """What margins become probabilities with.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        a and b of each label, the same for those without numbers of their own.
    """

    slope: Floats
    intercept: Floats

    def proba(self, margins: Floats) -> Floats:
        """Compute probabilities.

        Parameters
        ----------
        margins : float64 array of shape (n_samples, n_labels)
            Margins.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
        """
        return np.asarray(expit(self.slope * margins + self.intercept))


class Calibration(NamedTuple):
    """Scaling for new rows, and probabilities of the rows that it was fitted to.

    Attributes
    ----------
    scaling : PlattScaling
        Fitted to all rows.
    proba : float64 array of shape (n_samples, n_labels)
        Each row's by a scaling that was fitted without its fold.
    """

    scaling: PlattScaling
    proba: Floats


def calibrate(
    margins: Floats, Y: NDArray[np.floating], weight: Floats, folds: NDArray[np.intp]
) -> Calibration:
    """Fit Platt scaling to out-of-fold margins.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Of models that have not seen the row.
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float64 array of shape (n_samples,)
        Not negative, not all zero.
    folds : int array of shape (n_samples,)
        Fold of each row.

    Returns
    -------
    Calibration
        A label has numbers of its own if its mean log-loss, out of fold, is lower with them than
        with the common ones by more than the standard error of that difference.
    """
    counts = ~np.isnan(Y) & (weight > 0)[:, np.newaxis]
    parts = [(folds != fold, folds == fold) for fold in np.unique(folds)]
    n_labels = Y.shape[1]
    common = fit_platt(margins, Y, weight, counts)
    commons = [
        fit_platt(margins, Y, weight, counts & use[:, np.newaxis], common) for use, _ in parts
    ]
    every = np.ones(n_labels)
    scaling = PlattScaling(common[0] * every, common[1] * every)
    nested = [PlattScaling(a * every, b * every) for a, b in commons]
    proba = np.empty(margins.shape)
    for (_, out), fitted in zip(parts, nested, strict=True):
        proba[out] = fitted.proba(margins[out])

    for label in range(n_labels):
        column = np.s_[:, label : label + 1]
        z, y, known = margins[column], Y[column], counts[column]
        present = (y == 1) & known
        if min(present.sum(), known.sum() - present.sum()) < _LEAST_OF_BOTH:
            continue
        own = np.empty(len(y))
        own_parts = []
        for use, out in parts:
            a, b = fit_platt(z, y, weight, known & use[:, np.newaxis], common)
            own[out] = expit(a * z[out, 0] + b)
            own_parts.append((a, b))
        rows = known[:, 0]
        if not _is_better(own[rows], proba[rows, label], y[rows, 0], weight[rows]):
            continue
        proba[:, label] = own
        scaling.slope[label], scaling.intercept[label] = fit_platt(z, y, weight, known, common)
    return Calibration(scaling, proba)


def fit_platt(
    margins: Floats,
    Y: NDArray[np.floating],
    weight: Floats,
    counts: Bools,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Find a and b for all the entries that count.

    Parameters
    ----------
    margins, Y, weight
        As in :func:`calibrate`.
    counts : bool array of shape (n_samples, n_labels)
        Which entries count; all of them are known.
    start : tuple of float
        a and b to start from, and to stay with if no entry counts.

    Returns
    -------
    a, b : float
        With the least log-loss; a is at least 0.
    """
    z, present = margins[counts], Y[counts] == 1
    w = np.broadcast_to(weight[:, np.newaxis], Y.shape)[counts]
    n_with, n_without = w[present].sum(), w[~present].sum()
    if not n_with + n_without:
        return start
    target = np.where(present, (n_with + 1) / (n_with + 2), 1 / (n_without + 2))
    w = w / (n_with + n_without)
    sum_z, sum_1 = (w * target * z).sum(), (w * target).sum()

    def loss(ab: Floats) -> tuple[float, Floats]:
        absent = expit(-(ab[0] * z + ab[1]))
        error = w * (1 - absent)
        # log(1 + exp(m)) is -log(sigmoid(-m)), which does not vanish for margins of this size.
        value = -(w @ np.log(absent)) - ab[0] * sum_z - ab[1] * sum_1
        return float(value), np.array([error @ z - sum_z, error.sum() - sum_1])

    def curvature(ab: Floats) -> Floats:
        proba = expit(ab[0] * z + ab[1])
        h = w * proba * (1 - proba)
        mixed = h @ z
        return np.array([[(h * z) @ z, mixed], [mixed, h.sum()]])

    # "trust-exact" does not end where the curvature is singular: equal margins, for example.
    found = minimize(
        loss, start, jac=True, hess=curvature, method="trust-ncg", options={"gtol": 1e-8}
    )
    a, b = found.x
    # The loss is convex: if its minimum has a negative slope, the best one allowed is 0.
    return (float(a), float(b)) if a >= 0 else (0.0, float(logit(sum_1)))


def _is_better(proba: Floats, than: Floats, y: NDArray[np.floating], weight: Floats) -> bool:
    """Whether the mean log-loss is lower by more than its standard error."""

    def loss(p: Floats) -> Floats:
        right = np.where(y == 1, p, 1 - p)
        return -np.log(np.maximum(right, np.finfo(np.float64).tiny))

    gain = loss(than) - loss(proba)
    share = weight / weight.sum()
    mean = share @ gain
    return bool(mean > np.sqrt((share**2) @ (gain - mean) ** 2))
