"""The score by which a chain stops early, over the rows of all workers that train together."""

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.base.label_rows import row_blocks
from xdcc.decision.measures import MEASURES


def stop_score(name: str, Y: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """Measure labels where the truth is known.

    Workers that train together (:mod:`xgboost.collective`) all get the measure of the rows of all
    of them, which are counted and added up; each has to call this function, with no row if it has
    none.

    Parameters
    ----------
    name : str
        One of :data:`xdcc.decision.measures.MEASURES`. It is what the function of that name in
        :mod:`xdcc.metrics` returns.
    Y : float array of shape (n_samples, n_labels)
        The truth: 0, 1, or NaN for unknown.
    labels : int array of shape (n_samples, n_labels)
        Predicted labels, 0 or 1.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If no label of any row is known.

    Examples
    --------
    >>> Y, labels = np.array([[1, 1, 0], [np.nan, 0, 1]]), np.array([[1, 0, 0], [1, 0, 1]])
    >>> round(stop_score("example_f1", Y, labels), 3), stop_score("subset_accuracy", Y, labels)
    (0.833, 0.5)
    """
    measure = MEASURES[name]
    of_rows, of_labels = np.zeros(2), np.zeros((4, Y.shape[1]))
    for rows in row_blocks(Y.shape):
        known, true = ~np.isnan(Y[rows]), Y[rows] == 1
        predicted = known & (labels[rows] == 1)
        masks = (known, true, predicted, true & predicted)
        if measure.axis == 1:
            some_known, *counts = (mask.sum(axis=1, dtype=np.float64) for mask in masks)
            value = measure.value(*counts)[some_known > 0]
            of_rows += value.sum(), len(value)
        else:
            of_labels += [mask.sum(axis=0) for mask in masks]

    sums = collective.allreduce(of_rows if measure.axis == 1 else of_labels, collective.Op.SUM)
    n_known = sums[1] if measure.axis == 1 else sums[0]
    if not n_known.any():
        raise ValueError("There is nothing to measure early stopping on: every label is unknown.")
    if measure.axis == 1:
        return float(sums[0] / n_known)
    if measure.axis == 0:
        return float(measure.value(*sums[1:, n_known > 0]).mean())
    # Of all entries as one group; each counts its share.
    return float(measure.value(*sums[1:].sum(axis=1) / n_known.sum()))
