"""How frequent each label is among the entries that count."""

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.base.label_rows import row_blocks


def label_frequency(
    Y: NDArray[np.floating],
    sample_weight: NDArray[np.floating] | None = None,
    *,
    where: NDArray[np.bool_] | bool = True,
    empty: float,
) -> NDArray[np.float64]:
    """Average each label over its known entries.

    Workers that train together (:mod:`xgboost.collective`) all get the average over the rows of
    all of them; each has to call this function.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    sample_weight : float array of shape (n_samples,), optional
        Weights of the rows.
    where : bool array of shape (n_samples, n_labels), default=True
        Entries that count, if they are known.
    empty : float
        Value for a label of which no entry counts.

    Returns
    -------
    float64 array of shape (n_labels,)
        Weighted share of ones.

    Examples
    --------
    >>> label_frequency(np.array([[1, 0], [0, np.nan], [1, np.nan]]), empty=0.5)
    array([0.66666667, 0.        ])
    >>> label_frequency(np.array([[np.nan]]), empty=0.5)
    array([0.5])
    """
    sums = np.zeros((2, Y.shape[1]))
    for rows in row_blocks(Y.shape):
        part = Y[rows]
        counts = ~np.isnan(part) & (where if isinstance(where, bool) else where[rows])
        weight = counts.astype(np.float64)
        if sample_weight is not None:
            weight *= sample_weight[rows, np.newaxis]
        sums += weight.sum(axis=0), (weight * np.nan_to_num(part)).sum(axis=0)
    total, positive = collective.allreduce(sums, collective.Op.SUM)
    return np.divide(positive, total, out=np.full(len(total), float(empty)), where=total > 0)
