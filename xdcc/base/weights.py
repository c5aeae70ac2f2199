"""Weights of rows, `(n_samples,)`, or of entries, `(n_samples, n_labels)`.

An entry is a label of a row. A weight of 0 makes it unknown; that of an unknown entry is 0,
whatever was given. The weight of a row is then the largest of its entries. It applies where the row
is used as a whole: for the bins of X, and for the mean of a metric over rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.libraries import sparse

type WeightArray = NDArray[np.floating]


def check_weight(
    sample_weight: Any,
    n_samples: int,
    labels: Sequence[object] | None = None,
    *,
    some_positive: bool = True,
    dtype: type[np.floating] = np.float32,
) -> NDArray[Any] | None:
    """Check weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), or None
        Weights.
    n_samples : int
        Number of rows.
    labels : sequence, optional
        Names of the labels; None if only weights of rows can be used.
    some_positive : bool, default=True
        Whether a weight must be positive; not where these are only some of the rows.
    dtype : type, default=numpy.float32
        Type of the array.

    Returns
    -------
    float array of shape (n_samples,) or (n_samples, n_labels), or None
        None for None; a matrix for several labels only.

    Raises
    ------
    ValueError
        If they have another shape, or one is negative, infinite, or not a number; the message says
        where.

    Examples
    --------
    >>> check_weight([1, 0.5], 2)
    array([1. , 0.5], dtype=float32)
    >>> check_weight([[1, -1]], 1, ["red", "blue"])
    Traceback (most recent call last):
    ValueError: sample_weight is -1.0 in row 0 for label 'blue'; weights must be finite and not \
negative.
    """
    if sample_weight is None:
        return None
    if sparse.issparse(sample_weight):
        sample_weight = sample_weight.toarray()
    weight = np.asarray(sample_weight, dtype=dtype)
    shape = (n_samples, 0 if labels is None else len(labels))
    if labels is not None and weight.shape == shape == (n_samples, 1):
        weight = weight[:, 0]
    if weight.shape not in ((n_samples,), shape):
        of_entries = "" if labels is None else f", or {shape}, one per row and label"
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it must be ({n_samples},), one per row"
            f"{of_entries}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row, *label = np.argwhere(bad)[0]
        where = f" for label {str(labels[label[0]])!r}" if labels is not None and label else ""
        raise ValueError(
            f"sample_weight is {weight[row, *label]} in row {row}{where}; weights must be finite "
            "and not negative."
        )
    if some_positive and not weight.any():
        raise ValueError("sample_weight is zero in every row: no row would count.")
    return weight


def settle_weights(
    Y: NDArray[np.float32], weight: WeightArray
) -> tuple[NDArray[np.float32], WeightArray]:
    """Make entries of weight 0 unknown, and the weight of unknown entries 0.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    weight : float array of shape (n_samples, n_labels)
        Checked weights.

    Returns
    -------
    Y, weight : float arrays of shape (n_samples, n_labels)
        Copies.

    Examples
    --------
    >>> Y, weight = settle_weights(np.array([[1, 0, np.nan]]), np.array([[0.5, 0, 2]]))
    >>> Y, weight
    (array([[ 1., nan, nan]]), array([[0.5, 0. , 0. ]]))
    """
    nothing = weight == 0
    return np.where(nothing, np.nan, Y).astype(Y.dtype), np.where(np.isnan(Y), 0, weight)


def simplest_weights(weight: WeightArray) -> WeightArray:
    """Make weights of rows of those of entries, if these are equal, or 0, in every row.

    Examples
    --------
    >>> simplest_weights(np.array([[2, 2], [0, 1]]))
    array([2, 1])
    """
    if weight.ndim == 1:
        return weight
    of_rows = row_weights(weight)
    is_same = (weight == of_rows[:, np.newaxis]) | (weight == 0)
    return of_rows if is_same.all() else weight


def row_weights(weight: WeightArray) -> WeightArray:
    """Return the weights of rows, `(n_samples,)`: the largest of their entries.

    Examples
    --------
    >>> row_weights(np.array([[2, 1], [0, 0]])), row_weights(np.array([3, 4]))
    (array([2, 0]), array([3, 4]))
    """
    return weight if weight.ndim == 1 else weight.max(axis=1)


def by_entry(weight: WeightArray) -> WeightArray:
    """Give weights two dimensions, `(n_samples, 1)` or `(n_samples, n_labels)`.

    Examples
    --------
    >>> by_entry(np.array([3, 4])).shape
    (2, 1)
    """
    return weight[:, np.newaxis] if weight.ndim == 1 else weight
