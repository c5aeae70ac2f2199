from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def maximise_f1(
    joint: NDArray[np.float64],
    sizes: NDArray[np.int64],
    empty: NDArray[np.float64],
    beta: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the labelset of the highest expected F-beta for each row.

    Parameters and results are those of `SizedMarginals.maximise`.
    """

class LabelsetRules:
    """Known labelsets, and the rules that decide by the posterior over them.

    Parameters
    ----------
    start : int64 array of shape (n_sets + 1,)
        Where the labels of each labelset begin.
    label : int32 array
        The labels of all labelsets, ascending in each.
    log_count : float64 array of shape (n_sets,)
        Logarithms of how often the labelsets occur. Of equally probable ones the first is taken.
    n_labels : int
        Number of labels.
    """

    def __init__(
        self,
        start: NDArray[np.int64],
        label: NDArray[np.int32],
        log_count: NDArray[np.float64],
        n_labels: int,
    ) -> None: ...
    def decide(
        self,
        margins: NDArray[np.float64],
        rules: Sequence[tuple[bool, float, float, float]],
    ) -> NDArray[np.int8]:
        """Predict the labels of all rows by each of some rules.

        Parameters
        ----------
        margins : float64 array of shape (n_samples, n_labels)
            Log-odds, C-contiguous.
        rules : sequence of (bool, float, float, float)
            Whether the expected F-beta is maximised, or the posterior; temperature, prior, beta.

        Returns
        -------
        int8 array of shape (n_rules, n_samples, n_labels)
            Zeros and ones.
        """
