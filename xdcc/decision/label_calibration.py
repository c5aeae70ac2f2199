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
from xdcc.decision.constant_labels import ConstantLabels
from xdcc.decision.cuts import Floats


@dataclass(frozen=True, eq=False)
class LabelCalibration:
    """What makes probabilities of margins, for each label.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        Of Platt scaling; 1 and 0 for a label that is not calibrated.
    constant : ConstantLabels
        Labels that have one value only.
    """

    slope: Floats
    intercept: Floats
    constant: ConstantLabels

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
        n_labels = Y.shape[1]
        return cls(np.ones(n_labels), np.zeros(n_labels), ConstantLabels.of(Y, weight))

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which labels are not constant, (n_labels,)."""
        return self.constant.varied

    def margins(self, margins: Floats) -> Floats:
        """Compute calibrated log-odds from margins, both `(n_samples, n_labels)`."""
        return self.slope * margins + self.intercept

    def proba(self, margins: Floats) -> Floats:
        """Compute probabilities from margins, both `(n_samples, n_labels)`."""
        return self.keep_constant(expit(self.margins(margins)))

    def keep_constant(self, proba: Floats) -> Floats:
        """Replace the probabilities of constant labels."""
        return self.constant.in_proba(proba)

    def settle(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Set constant labels in predictions, `(n_samples, n_labels)`, to their value."""
        labels[:, ~self.varies] = self.constant.value[~self.varies].astype(np.int64)
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
