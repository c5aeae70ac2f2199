"""The twin of ``order_free_inference.py``: one row at a time, no pruning, no shared states."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type LogOdds = Callable[[Floats], Floats]
"""From labels, NaN where one is open, to the log-odds of all, (n_labels,); for one row."""


def next_label(log_odds: Floats, revealed: Floats) -> int:
    """Find the open label that is surest, the first of equally sure ones; -1 if none is open."""
    surest = -1
    for label, z in enumerate(log_odds):
        if np.isnan(revealed[label]) and (surest < 0 or abs(z) > abs(log_odds[surest])):
            surest = label
    return surest


def log_prob(predict: LogOdds, y: Floats, order: list[int] | None = None) -> float:
    """Compute the logarithm of the probability of a labelset by the chain rule.

    Parameters
    ----------
    predict : callable
        Of the row.
    y : float array of shape (n_labels,)
        Zeros and ones.
    order : list, optional
        The labels are appended to it in the order in which they were revealed.

    Returns
    -------
    float
    """
    revealed, total = np.full(len(y), np.nan), 0.0
    for _ in y:
        z = predict(revealed)
        label = next_label(z, revealed)
        proba = 1 / (1 + np.exp(-float(z[label])))
        total += np.log(proba if y[label] == 1 else 1 - proba)
        revealed[label] = y[label]
        if order is not None:
            order.append(label)
    return total


def labelset_probabilities(predict: LogOdds, revealed: Floats) -> dict[tuple[int, ...], float]:
    """Walk through the whole tree of values.

    Parameters
    ----------
    predict : callable
        Of the row.
    revealed : float array of shape (n_labels,)
        0, 1, or NaN where a label is open.

    Returns
    -------
    dict
        Probability of every labelset that agrees with what is revealed; they sum to one.
    """
    z = predict(revealed)
    label = next_label(z, revealed)
    if label < 0:
        return {tuple(int(value) for value in revealed): 1.0}
    found = {}
    for value in (0, 1):
        child = revealed.copy()
        child[label] = value
        proba = 1 / (1 + np.exp(-float(z[label]) if value else float(z[label])))
        for labelset, rest in labelset_probabilities(predict, child).items():
            found[labelset] = proba * rest
    return found
