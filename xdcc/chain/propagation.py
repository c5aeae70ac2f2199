"""Propagation: which labels of every row a round of the chain decides, and where its chain ends.

A row starts with every label unknown (NaN in `P`). In a round the booster predicts a
probability for each label; :func:`propagate` picks a label per row (or several, as its
:class:`PropagationRule` says) and writes its probability into `P`, where later rounds find it as
a feature. Training and prediction both use this function. Section 3.2 and equation 8 of the XDCC
paper. :class:`ChainOrder` is the record of which label was propagated when.

The end label is a virtual label that says "nothing positive is left", and ends a row's chain. The
XDCC paper's outlook (section 5) asks for a label that marks the end of the chain. Here it is one
more output of every booster, behind the labels, and is learned like them. It is true for a row as
soon as all its positive labels have been propagated, so its truth changes from round to round
(:func:`end_truth`). In a round it competes with the open labels, like the calibrating label of
calibrated label ranking: where it has at least 0.5 and no open label has more, the row is at its
end (:func:`at_end`). Nothing is propagated there any more, and what is open stays negative. It
never becomes a feature: its column among the label features is always missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xdcc.prediction.propagation_rule import Order, PropagationRule

NO_LABEL = -1
"""Stands for the label of a row in which nothing was propagated."""


def propagate(
    P: NDArray[np.floating],
    Y_proba: NDArray[np.floating],
    rule: PropagationRule,
    where: NDArray[np.bool_] | None = None,
) -> NDArray[np.intp]:
    """Propagate the labels of a round in every row.

    Parameters
    ----------
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities so far, NaN where there is none. Changed in place.
    Y_proba : float array of shape (n_samples, n_labels)
        The round's predictions.
    rule : PropagationRule
        Which labels compete, and which of them comes first.
    where : bool array of shape (n_samples,), optional
        Rows to propagate in; all if None.

    Returns
    -------
    int array of shape (n_samples, rule.labels_per_round)
        The labels that were newly propagated, in their order, :data:`NO_LABEL` where none was.

    Examples
    --------
    >>> P = np.full((2, 3), np.nan)
    >>> Y_proba = np.array([[0.1, 0.8, 0.6], [0.4, 0.2, 0.3]])
    >>> propagate(P, Y_proba, PropagationRule())
    array([[1],
           [1]])
    >>> P
    array([[nan, 0.8, nan],
           [nan, 0.2, nan]])
    """
    rows = np.arange(len(P)) if where is None else np.flatnonzero(where)
    labels = np.full((len(P), rule.labels_per_round), NO_LABEL)
    if rule.candidates == "all":
        labels[rows, 0] = _propagate_all(P, Y_proba, rows)
        return labels
    for position in range(rule.labels_per_round):
        labels[rows, position] = _propagate_open(P, Y_proba, rows, rule.order)
    return labels


def _propagate_open(
    P: NDArray[np.floating], Y_proba: NDArray[np.floating], rows: NDArray[np.intp], order: Order
) -> NDArray[np.intp]:
    is_open = np.isnan(P[rows])
    proba = Y_proba[rows]
    every = np.arange(len(rows))
    if order == "certainty":
        label = np.where(is_open, np.abs(proba - 0.5), -np.inf).argmax(axis=1)
    else:
        label = np.where(is_open, proba, -np.inf).argmax(axis=1)
        negative = np.flatnonzero(proba[every, label] < 0.5)
        label[negative] = np.where(is_open[negative], proba[negative], np.inf).argmin(axis=1)

    some_open = is_open.any(axis=1)
    chosen = label[some_open]
    P[rows[some_open], chosen] = proba[some_open, chosen]
    return np.where(some_open, label, NO_LABEL)


def _propagate_all(
    P: NDArray[np.floating], Y_proba: NDArray[np.floating], rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    n_labels = P.shape[1]
    proba = Y_proba[rows]
    largest = n_labels - 1 - proba[:, ::-1].argmax(axis=1)
    smallest = proba.argmin(axis=1)
    every = np.arange(len(rows))
    positive = proba[every, largest] >= 0.5
    label = np.where(positive, largest, smallest)
    value, stored = proba[every, label], P[rows, label]

    is_new = np.isnan(stored)
    raised = positive & (stored >= 0.5) & (value > stored)
    lowered = ~positive & (stored < 0.5) & (value < stored)
    changed = is_new | raised | lowered
    P[rows[changed], label[changed]] = value[changed]
    return np.where(is_new, label, NO_LABEL)


def end_truth(Y: NDArray[np.float32], P: NDArray[np.floating]) -> NDArray[np.float32]:
    """Find the rows in which nothing positive is left.

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


@dataclass(frozen=True)
class ChainOrder:
    """The order in which a chain decided the labels of every row.

    Attributes
    ----------
    labels : int array of shape (n_samples, n_rounds * labels_per_round)
        Index of the label that was propagated, round by round, -1 where there was none.
    values : float32 array of shape (n_samples, n_rounds * labels_per_round)
        Its probability in that round, NaN where none was propagated.
    labels_per_round : int
        Number of columns that belong to a round.

    Examples
    --------
    >>> order = ChainOrder(labels=np.array([[2, 0, -1]]), values=np.array([[0.9, 0.1, np.nan]]))
    >>> order.rounds(n_labels=3)
    array([[2, 4, 1]])
    """

    labels: NDArray[np.intp]
    values: NDArray[np.float32]
    labels_per_round: int = 1

    def rounds(self, n_labels: int) -> NDArray[np.intp]:
        """Invert the order: return the round of each label.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Round in which the label was propagated, counted from 1; one more than the number
            of rounds where it was not.
        """
        n_samples, n_columns = self.labels.shape
        rounds = np.full((n_samples, n_labels), n_columns // self.labels_per_round + 1)
        row, column = np.nonzero(self.labels >= 0)
        rounds[row, self.labels[row, column]] = column // self.labels_per_round + 1
        return rounds
