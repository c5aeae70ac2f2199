"""Propagation: which label of every row a round of the chain decides, and its value.

A row starts with every label unknown (NaN in `P`). In a round the booster predicts a
probability for each label; :func:`propagate` picks one label per row and writes its
probability into `P`, where later rounds find it as a feature. Training and prediction both
use this function. Section 3.2 and equation 8 of the XDCC paper.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Candidates = Literal["open", "all"]

CANDIDATES: tuple[str, ...] = get_args(Candidates)
"""The rules for which labels compete in a round; see :func:`propagate`."""

NO_LABEL = -1
"""Stands for the label of a row in which nothing was propagated."""


def propagate(
    P: NDArray[np.floating], Y_proba: NDArray[np.floating], candidates: Candidates
) -> NDArray[np.intp]:
    """Propagate at most one label in every row.

    If the largest probability among the candidates is at least 0.5, the label that has it is
    propagated, else the label with the smallest probability.

    * ``"open"``: the candidates are the labels not propagated before (the text of section
      3.2). Each call propagates one label in every row that has one left. Ties go to the
      lowest label.
    * ``"all"``: the candidates are all labels (equation 8 as printed, and the authors' code).
      If the choice falls on a label that was propagated before, nothing new is propagated; as
      in the authors' code, a stored positive is then raised to the chosen probability, or a
      stored negative lowered to it, but neither ever crosses 0.5. Ties for the largest
      probability go to the last label, for the smallest to the first.

    Parameters
    ----------
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities so far, NaN where there is none. Changed in place.
    Y_proba : float array of shape (n_samples, n_labels)
        The round's predictions.
    candidates : {"open", "all"}
        Which labels compete.

    Returns
    -------
    int array of shape (n_samples,)
        The label that was newly propagated, :data:`NO_LABEL` where none was.
    """
    return _propagate_open(P, Y_proba) if candidates == "open" else _propagate_all(P, Y_proba)


def _propagate_open(P: NDArray[np.floating], Y_proba: NDArray[np.floating]) -> NDArray[np.intp]:
    is_open = np.isnan(P)
    rows = np.arange(len(P))
    label = np.where(is_open, Y_proba, -np.inf).argmax(axis=1)
    negative = np.flatnonzero(Y_proba[rows, label] < 0.5)
    label[negative] = np.where(is_open[negative], Y_proba[negative], np.inf).argmin(axis=1)

    some_open = is_open.any(axis=1)
    rows, chosen = rows[some_open], label[some_open]
    P[rows, chosen] = Y_proba[rows, chosen]
    return np.where(some_open, label, NO_LABEL)


def _propagate_all(P: NDArray[np.floating], Y_proba: NDArray[np.floating]) -> NDArray[np.intp]:
    n_labels = P.shape[1]
    largest = n_labels - 1 - Y_proba[:, ::-1].argmax(axis=1)
    smallest = Y_proba.argmin(axis=1)
    rows = np.arange(len(P))
    positive = Y_proba[rows, largest] >= 0.5
    label = np.where(positive, largest, smallest)
    value, stored = Y_proba[rows, label], P[rows, label]

    is_new = np.isnan(stored)
    raised = positive & (stored >= 0.5) & (value > stored)
    lowered = ~positive & (stored < 0.5) & (value < stored)
    changed = is_new | raised | lowered
    P[rows[changed], label[changed]] = value[changed]
    return np.where(is_new, label, NO_LABEL)
