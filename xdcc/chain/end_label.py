"""The end label: a virtual label that says "nothing positive is left", and ends a row's chain.

The XDCC paper's outlook (section 5) asks for a label that marks the end of the chain. Here it is
one more output of every booster, behind the labels, and is learned like them. It is true for a
row as soon as all its positive labels have been propagated, so its truth changes from round to
round. In a round it competes with the open labels, like the calibrating label of calibrated label
ranking: where it has at least 0.5 and no open label has more, the row is at its end. Nothing is
propagated there any more, and what is open stays negative.

It never becomes a feature: its column among the label features is always missing.
"""

import numpy as np
from numpy.typing import NDArray


def end_truth(Y: NDArray[np.float32], P: NDArray[np.floating]) -> NDArray[np.float32]:
    """Tell in which rows nothing positive is left.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown, which is not positive.
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.

    Returns
    -------
    float32 array of shape (n_samples,)
        1 where every positive label has been propagated, with whatever value, else 0.

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 0]], dtype=np.float32)
    >>> end_truth(Y, P=np.array([[0.9, np.nan], [np.nan, 0.1]]))
    array([1., 0.], dtype=float32)
    """
    return (~((Y == 1) & np.isnan(P)).any(axis=1)).astype(np.float32)


def at_end(P: NDArray[np.floating], Y_proba: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Tell which rows are at their end.

    Parameters
    ----------
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    Y_proba : float array of shape (n_samples, n_labels + 1)
        A round's predictions, the end label last.

    Returns
    -------
    bool array of shape (n_samples,)
        Whether the end label has at least 0.5 and no open label has more.

    Examples
    --------
    >>> P = np.array([[0.9, np.nan], [np.nan, np.nan]])
    >>> at_end(P, Y_proba=np.array([[0.9, 0.2, 0.7], [0.8, 0.2, 0.7]]))
    array([ True, False])
    """
    end = Y_proba[:, -1]
    largest = np.where(np.isnan(P), Y_proba[:, :-1], 0).max(axis=1)
    return (end >= 0.5) & (end >= largest)
