from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.serving.compiled_layout import Layout

class Kernel:
    """The arrays of a compiled model, and the loops over them.

    Parameters
    ----------
    layout : Layout
        The arrays.
    """

    def __init__(self, layout: Layout) -> None: ...
    def predict(self, X: Any, n_threads: int) -> NDArray[np.floating] | None:
        """Predict margins, or the probabilities of a chain.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            An array may have any strides; a matrix has float32 data.
        n_threads : int
            Most threads to use; few rows are predicted by one.

        Returns
        -------
        array of shape (n_samples, n_labels) or None
            In single precision for one booster and for a chain. None if X has another shape, no
            rows, another type than float32 and float64, an infinite entry, or if it is sparse and
            not canonical.
        """

def logistic(margins: NDArray[np.float32]) -> None:
    """Turn margins into probabilities, in place, with the rounding of ``multilabel:logistic``.

    Parameters
    ----------
    margins : float32 array of shape (n_samples, n_labels)
        Margins, which become probabilities.
    """
