"""Candidates that were trained, and mixtures of them.

A mixture's log-odds are a weighted mean of its members' calibrated log-odds. The weights come from
six greedy steps: each adds the candidate, maybe once more, with which the log-loss out of fold is
least, and the mixture after the best step is kept. So few weights can hardly overfit, and a
candidate that adds nothing stays out. Source: Caruana, Niculescu-Mizil, Crew, Ksikes: "Ensemble
Selection from Libraries of Models" (ICML 2004).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.labels import Labels
from xdcc.boosting.log_loss import LogLoss
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.out_of_fold import mean_margins

_STEPS = 6
_LEAST_GAIN = 1e-4
"""A mixture has to lower the log-loss by so large a share to be preferred to one of fewer steps."""


@dataclass(frozen=True, eq=False)
class Member:
    """One candidate in the chosen model.

    Attributes
    ----------
    name : str
        Of the candidate.
    share : float
        What its log-odds count; shares of a mixture sum to 1.
    estimators : list of estimators
        Boosters, one for each fold.
    calibration : LabelCalibration
        Of their mean log-odds.
    """

    name: str
    share: float
    estimators: list[Any]
    calibration: LabelCalibration

    def margins(self, X: Any, n_labels: int) -> Floats:
        """Predict calibrated log-odds, `(n_samples, n_labels)`."""
        return self.calibration.margins(mean_margins(self.estimators, X, n_labels))


def mixed_margins(members: Sequence[Member], X: Any, n_labels: int) -> Floats:
    """Predict the log-odds of a mixture.

    Parameters
    ----------
    members : sequence of Member
        At least one.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What their boosters take.
    n_labels : int
        Number of labels.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
    """
    total = members[0].share * members[0].margins(X, n_labels)
    for member in members[1:]:
        total += member.share * member.margins(X, n_labels)
    return total


def log_loss(margins: Floats, Y: Labels, weight: NDArray[np.float32] | None) -> float:
    """Average the log-loss over known labels.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Log-odds.
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown; some is known.
    weight : float32 array of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    float
    """
    n_known = (~np.isnan(Y)).sum(axis=1)
    counted = n_known.sum() if weight is None else weight @ n_known
    return LogLoss(Y, weight)(margins) / float(counted)


def mixture_shares(
    margins: Sequence[Floats], Y: Labels, weight: NDArray[np.float32] | None
) -> Floats:
    """Find what each candidate counts in the mixture of the least log-loss.

    Parameters
    ----------
    margins : sequence of float64 arrays of shape (n_samples, n_labels)
        Calibrated log-odds of each candidate, out of fold.
    Y, weight
        As in :func:`log_loss`.

    Returns
    -------
    float64 array of shape (n_candidates,)
        Sums to 1; a single 1 if no mixture is better than the best candidate.
    """
    times = np.zeros(len(margins))
    total = np.zeros(margins[0].shape)
    least, shares = np.inf, times
    for step in range(1, _STEPS + 1):
        losses = [log_loss((total + each) / step, Y, weight) for each in margins]
        chosen = int(np.argmin(losses))
        total += margins[chosen]
        times[chosen] += 1
        if losses[chosen] < least * (1 - _LEAST_GAIN):
            least, shares = losses[chosen], times / step
    return shares
