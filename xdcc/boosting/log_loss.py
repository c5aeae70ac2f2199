"""The log-loss of margins over known labels, as trainings that watch other rows need it."""

import numpy as np
from numpy.typing import NDArray


class LogLoss:
    """Sum of the log-loss over known labels, by margins.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    weight : float32 array of shape (n_samples,) or None
        Weights of the rows.

    Examples
    --------
    >>> loss = LogLoss(np.array([[1, np.nan]], dtype=np.float32), None)
    >>> round(loss(np.zeros((1, 2), dtype=np.float32)), 4)
    0.6931
    """

    def __init__(self, Y: NDArray[np.float32], weight: NDArray[np.float32] | None) -> None:
        # log(1 + exp(-z)) for a label, log(1 + exp(z)) without it; unknown ones weigh nothing.
        of_rows = np.ones(len(Y), np.float32) if weight is None else weight
        self._sign = np.where(Y == 1, np.float32(-1), np.float32(1))
        self._weight = np.where(np.isnan(Y), np.float32(0), of_rows[:, np.newaxis])

    def __call__(self, margins: NDArray[np.floating]) -> float:
        """Add up the loss of margins of shape (n_samples, n_labels)."""
        z = margins * self._sign
        # log(1 + exp(z)) as max(z, 0) + log(1 + exp(-|z|)): NumPy has vectorised exp and log, and
        # 1 + exp(-|z|) is right to a digit in which no sum of losses is meant.
        loss = np.abs(z)
        np.log(np.exp(np.negative(loss, out=loss), out=loss) + np.float32(1), out=loss)
        loss += np.maximum(z, 0, out=z)
        return float(np.multiply(loss, self._weight, out=loss).sum(dtype=np.float64))
