import numpy as np
from numpy.typing import ArrayLike, NDArray

def expit(margins: ArrayLike) -> NDArray[np.float64]:
    """Compute probabilities from log-odds: as ``scipy.special.expit`` in double precision.

    They are equal bit for bit. What predicts uses this function, since importing SciPy takes longer
    than many predictions.

    Parameters
    ----------
    margins : float array
        Log-odds.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> expit([0.0, 2.0])
    array([0.5       , 0.88079708])
    """
