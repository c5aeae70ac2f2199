"""Calibrated probabilities of labels, of which some may be the same in all rows.

:mod:`~xdcc.decision.calibration` is for labels of which something can be learned. One that is the
same in all rows stays so, whatever a model says.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.decision.calibration import calibrate
from xdcc.decision.cuts import Floats


@dataclass(frozen=True, eq=False)
class LabelCalibration:
    """What makes probabilities of margins, for each label.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        Of Platt scaling; 1 and 0 for a label that is not calibrated.
    constant : float64 array of shape (n_labels,)
        The value of a label that has one only, else NaN.
    constant_proba : float64 array of shape (n_labels,)
        Its probability, that of Laplace's rule of succession, as no number of rows makes it
        certain that the next one is no different; else NaN.
    """

    slope: Floats
    intercept: Floats
    constant: Floats
    constant_proba: Floats

    @classmethod
    def without_scaling(cls, Y: NDArray[np.floating], weight: NDArray[np.floating] | None) -> Self:
        """Find the constant labels, and leave margins as they are.

        Parameters
        ----------
        Y : float array of shape (n_samples, n_labels)
            0, 1, or NaN where a label is unknown.
        weight : float array of shape (n_samples,) or None
            Weights of the rows.

        Returns
        -------
        LabelCalibration
        """
        known = ~np.isnan(Y)
        if weight is not None:
            known &= weight[:, np.newaxis] > 0
        n_known, n_present = known.sum(axis=0), ((Y == 1) & known).sum(axis=0)
        is_constant = (n_present == 0) | (n_present == n_known)
        return cls(
            np.ones(Y.shape[1]),
            np.zeros(Y.shape[1]),
            np.where(is_constant, (n_present > 0).astype(np.float64), np.nan),
            np.where(is_constant, (n_present + 1) / (n_known + 2), np.nan),
        )

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which labels are not constant, (n_labels,)."""
        return np.isnan(self.constant)

    def margins(self, margins: Floats) -> Floats:
        """Compute calibrated log-odds from margins, both `(n_samples, n_labels)`."""
        return self.slope * margins + self.intercept

    def proba(self, margins: Floats) -> Floats:
        """Compute probabilities from margins, both `(n_samples, n_labels)`."""
        return self.keep_constant(expit(self.margins(margins)))

    def keep_constant(self, proba: Floats) -> Floats:
        """Replace the probabilities of constant labels."""
        return np.where(self.varies, proba, self.constant_proba)

    def settle(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Set constant labels in predictions, `(n_samples, n_labels)`, to their value."""
        labels[:, ~self.varies] = self.constant[~self.varies].astype(np.int64)
        return labels


class CalibratedLabels(NamedTuple):
    """A calibration for new rows, and probabilities of the rows that it was fitted to.

    Attributes
    ----------
    calibration : LabelCalibration
        Fitted to all rows.
    proba : float64 array of shape (n_samples, n_labels)
        Each row's by a calibration that was fitted without its fold.
    """

    calibration: LabelCalibration
    proba: Floats


def calibrate_labels(
    margins: Floats,
    Y: NDArray[np.floating],
    weight: NDArray[np.floating] | None,
    folds: NDArray[np.intp],
) -> CalibratedLabels:
    """Calibrate out-of-fold margins of the labels that are not constant.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Of models that have not seen the row.
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float array of shape (n_samples,) or None
        Weights of the rows.
    folds : int array of shape (n_samples,)
        Fold of each row.

    Returns
    -------
    CalibratedLabels
    """
    found = LabelCalibration.without_scaling(Y, weight)
    varies = found.varies
    proba = np.empty(margins.shape)
    if varies.any():
        row_weight = np.ones(len(Y)) if weight is None else weight.astype(np.float64)
        fitted = calibrate(margins[:, varies], Y[:, varies], row_weight, folds)
        proba[:, varies] = fitted.proba
        found.slope[varies], found.intercept[varies] = fitted.scaling
    return CalibratedLabels(found, found.keep_constant(proba))
