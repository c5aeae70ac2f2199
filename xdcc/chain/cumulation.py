"""Cumulation: one prediction out of all rounds of a chain.

The *standard* prediction of a chain knows only what was propagated and finds few positive
labels in a short chain. The *cumulated* one (section 3.3 and equation 9 of the XDCC paper)
also keeps what rounds predicted but could not propagate: for a label that is still open it
takes the largest probability over the rounds so far. :func:`accumulate` keeps that maximum,
round by round; the other functions read predictions from it.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.documentation import documented

Prediction = Literal["cumulated", "standard"]
Cumulation = Literal["equation9", "authors"]

PREDICTIONS: tuple[str, ...] = get_args(Prediction)
"""The predictions of a chain."""

CUMULATIONS: tuple[str, ...] = get_args(Cumulation)
"""The readings of the cumulated prediction; see :func:`cumulated_proba`."""


def accumulate(
    running: NDArray[np.floating],
    Y_proba: NDArray[np.floating],
    was_open: NDArray[np.bool_],
) -> None:
    """Take a round's predictions into the running maximum of the labels that were open.

    Parameters
    ----------
    running : float array of shape (n_samples, n_labels)
        Largest probability so far; zeros before the first round. Changed in place.
    Y_proba : float array of shape (n_samples, n_labels)
        The round's predictions.
    was_open : bool array of shape (n_samples, n_labels)
        Whether the label had not been propagated when the round began.

    Examples
    --------
    >>> running = np.array([[0.6, 0.3]])
    >>> accumulate(running, np.array([[0.2, 0.8]]), was_open=np.array([[True, True]]))
    >>> running
    array([[0.6, 0.8]])
    """
    np.maximum(running, Y_proba, out=running, where=was_open)


def standard_proba(P: NDArray[np.floating]) -> NDArray[np.floating]:
    """Read the standard prediction.

    Parameters
    ----------
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.

    Returns
    -------
    float array of shape (n_samples, n_labels)
        The propagated probability, 0 where there is none.

    Examples
    --------
    >>> standard_proba(np.array([[0.9, np.nan]]))
    array([[0.9, 0. ]])
    """
    return np.where(np.isnan(P), 0, P)


def cumulated_proba(
    running: NDArray[np.floating], P: NDArray[np.floating], cumulation: Cumulation
) -> NDArray[np.floating]:
    """Read the cumulated prediction.

    Parameters
    ----------
    running : float array of shape (n_samples, n_labels)
        What :func:`accumulate` kept.
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    cumulation : {"equation9", "authors"}
        ``"equation9"``: the propagated probability; for a label that is open, the maximum over
        the rounds. ``"authors"``: as the authors' code does, the maximum over the rounds up to
        and including the one that propagated the label, whatever was propagated; so a label
        propagated as negative is positive if an earlier round had more than 0.5.

    Returns
    -------
    float array of shape (n_samples, n_labels)
        Probabilities; a new array.

    Examples
    --------
    >>> running, P = np.array([[0.6, 0.3]]), np.array([[0.1, np.nan]])
    >>> cumulated_proba(running, P, "equation9")
    array([[0.1, 0.3]])
    >>> cumulated_proba(running, P, "authors")
    array([[0.6, 0.3]])
    """
    if cumulation == "authors":
        return running.copy()
    return np.where(np.isnan(P), running, P)


@documented
def labels_from_proba(
    Y_proba: NDArray[np.floating], prediction: Prediction, cumulation: Cumulation
) -> NDArray[np.int64]:
    """Decide which labels are positive.

    Parameters
    ----------
    Y_proba : float array of shape (n_samples, n_labels)
        A chain's prediction.
    prediction : {"cumulated", "standard"}
        Which one it is.
    cumulation : {"equation9", "authors"}
        How it was cumulated, if it was. The authors' code rounds, so that exactly 0.5 is
        negative; everywhere else it is positive.

    {returns_labels}

    Examples
    --------
    >>> labels_from_proba(np.array([[0.5, 0.3]]), "cumulated", "equation9")
    array([[1, 0]])
    >>> labels_from_proba(np.array([[0.5, 0.3]]), "cumulated", "authors")
    array([[0, 0]])
    """
    if prediction == "cumulated" and cumulation == "authors":
        return (Y_proba > 0.5).astype(np.int64)
    return (Y_proba >= 0.5).astype(np.int64)
