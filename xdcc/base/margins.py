"""Margins: log-odds of probabilities.

Models hand margins to each other, as boosters compute them. :func:`margins_of` is for classifiers
that have only probabilities.
"""

import numpy as np
from numpy.typing import NDArray

from xdcc.base.libraries import special

type Margins = NDArray[np.float64]

LIMITS = (1e-6, 1 - 1e-6)
"""Probabilities are clipped to this range, so that margins are finite."""


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
    return np.asarray(special.logit(np.clip(proba, *LIMITS, dtype=np.float64)))
