import numpy as np
from numpy.typing import NDArray

def log_loss_sums(
    z: NDArray[np.float64], weight: NDArray[np.float64], a: float, b: float
) -> tuple[float, tuple[float, float], tuple[float, float, float]]:
    """Add up weight log(1 + exp(a z + b)), the loss of margins whose labels are absent.

    Parameters
    ----------
    z, weight : float64 arrays of shape (n_entries,)
        Margins and their weights.
    a, b : float
        Slope and intercept.

    Returns
    -------
    loss : float
        The sum.
    gradient : tuple of float
        Its derivatives by a and b.
    curvature : tuple of float
        Its second derivatives by a a, a b and b b.
    """
