from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.prediction.layout import Layout

INFINITE_MARGINS: str
"""Error message for margins of the model itself that are infinite."""

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

class LabelsetSearch:
    """The search of ``xdcc/chain/order_free_inference.py``, for all rows together.

    Parameters
    ----------
    kernel : Kernel
        The booster of an order-free chain, for [margins | revealed labels].
    labelsets : int8 array of shape (n_sets, n_labels)
        Known labelsets, in lexicographic order.
    counts : float64 array of shape (n_sets,)
        How often they occur.
    n_beams : int
        As in `probable_labelsets`.
    slack : float
        As in `probable_labelsets`.
    joint, prior : float
        Weights, as in `LabelsetScore`.
    n_known : int
        Known labelsets that are candidates for a row; 0 for none.
    known_prior : float
        Weight of the logarithm of their counts when they are chosen.
    """

    def __init__(
        self,
        kernel: Kernel,
        labelsets: NDArray[np.int8],
        counts: NDArray[np.float64],
        *,
        n_beams: int,
        slack: float,
        joint: float,
        prior: float,
        n_known: int,
        known_prior: float,
    ) -> None: ...
    def decide(self, margins: NDArray[np.floating]) -> NDArray[np.int8]:
        """Predict the labelset of the highest score for each row.

        Parameters
        ----------
        margins : float array of shape (n_samples, n_labels)
            Margins of the first classifier.

        Returns
        -------
        int8 array of shape (n_samples, n_labels)
            Zeros and ones.

        Raises
        ------
        ValueError
            If a margin is infinite.
        """

def logistic(margins: NDArray[np.float32]) -> None:
    """Turn margins into probabilities, in place, with the rounding of ``multilabel:logistic``.

    Parameters
    ----------
    margins : float32 array of shape (n_samples, n_labels)
        Margins, which become probabilities.
    """

def logistic_labels(margins: NDArray[np.float32]) -> NDArray[np.int64]:
    """Find the labels whose probabilities, those of `logistic`, are at least 0.5.

    Parameters
    ----------
    margins : float32 array of shape (n_samples, n_labels)
        Margins.

    Returns
    -------
    int64 array of shape (n_samples, n_labels)
        Zeros and ones.
    """
