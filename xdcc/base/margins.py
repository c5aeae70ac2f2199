"""Margins: log-odds of probabilities.

Models hand margins to each other, as boosters compute them. :func:`margins_of` is for classifiers
that have only probabilities.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

type Margins = NDArray[np.float64]

_SMALLEST = 1e-6
"""Probabilities are clipped this far from 0 and 1, so that margins are finite."""


def margins_of(proba: NDArray[np.floating]) -> Margins:
    """Compute log-odds.

    Parameters
    ----------
    proba : float array
        Probabilities.

    Returns
    -------
    float64 array of the same shape
        From -13.8 to 13.8.

    Examples
    --------
    >>> margins_of(np.array([0.5, 0.0])).round(1)
    array([  0. , -13.8])
    """
    return np.asarray(logit(np.clip(proba, _SMALLEST, 1 - _SMALLEST, dtype=np.float64)))
