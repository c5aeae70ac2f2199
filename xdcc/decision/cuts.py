"""Cuts: all the ways in which a threshold can divide probabilities, and sums for each of them.

A threshold predicts the labels whose probability is at least as high. Between two neighbouring
probabilities every threshold predicts the same, so `Cuts` holds one for each gap, the midpoint,
from the one above all probabilities (nothing is predicted) down to one below all of them
(everything is). Sums over the predicted entries are then cumulative sums in descending order.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented

type Floats = NDArray[np.float64]

_ROUNDING = 1e-6
"""Tolerance for probabilities outside 0 and 1, as averages of float32 can be."""


class Cuts(NamedTuple):
    """Thresholds that divide some probabilities differently, in descending order.

    Attributes
    ----------
    thresholds : float64 array of shape (n_cuts,)
        The first predicts no entry, the last all.
    order : int array of shape (n_entries,)
        The entries by descending probability, equal ones as they came.
    sizes : int array of shape (n_cuts,)
        How many entries each threshold predicts: the first ones of `order`.

    Examples
    --------
    >>> cuts = Cuts.of(np.array([0.2, 0.6, 0.2]))
    >>> cuts.thresholds, cuts.sizes
    (array([0.8, 0.4, 0.1]), array([0, 1, 3]))
    >>> cuts.sums(np.array([1.0, 10.0, 100.0]))
    array([  0.,  10., 111.])
    """

    thresholds: Floats
    order: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, proba: Floats) -> Self:
        """Find the cuts of probabilities of shape (n_entries,), at least one."""
        order = np.argsort(-proba, kind="stable")
        ordered = proba[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        distinct = ordered[last]
        upper = np.append(max(1.0, distinct[0]), distinct)
        lower = np.append(distinct, 0.0)
        middle = (upper + lower) / 2
        # Between neighbouring floats there is no midpoint: it is one of the two.
        middle[1:-1] = np.where(middle > lower, middle, upper)[1:-1]
        middle[0] = max(middle[0], np.nextafter(distinct[0], np.inf))
        middle[-1] = min(middle[-1], distinct[-1])
        return cls(middle, order, np.append(0, np.flatnonzero(last) + 1))

    def sums(self, amounts: Floats) -> Floats:
        """Add up, for every threshold, the amounts of the entries that it predicts, `(n_cuts,)`.

        `amounts` has one for each probability, in their original order. The first sum is 0.
        """
        return np.append(0.0, np.cumsum(amounts[self.order]))[self.sizes]


@documented
def apply_thresholds(Y_proba: ArrayLike, thresholds: ArrayLike) -> NDArray[np.int64]:
    """Predict the labels whose probability is at least the threshold.

    Parameters
    ----------
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities.
    thresholds : float or array-like of shape (n_labels,)
        One for all labels, or one for each.

    {returns_labels}

    Raises
    ------
    ValueError
        If the probabilities are not a matrix of numbers from 0 to 1, or a threshold is missing, too
        many or NaN.

    Examples
    --------
    >>> apply_thresholds([[0.2, 0.6], [0.4, 0.1]], [0.3, 0.5])
    array([[0, 1],
           [1, 0]])
    """
    proba = check_proba(Y_proba)
    return (proba >= check_thresholds(thresholds, proba.shape[1])).astype(np.int64)


def check_thresholds(thresholds: ArrayLike, n_labels: int) -> Floats:
    """Check thresholds, a number or one for each label, and return one for each label.

    Examples
    --------
    >>> check_thresholds(0.3, n_labels=2)
    array([0.3, 0.3])
    """
    values = np.asarray(thresholds)
    if values.shape not in ((), (n_labels,)) or values.dtype.kind not in "iuf":
        raise ValueError(
            f"A threshold is a number, for all labels or for each of {n_labels}; "
            f"got {values.dtype} of shape {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError("A threshold is NaN; it must be a number.")
    return np.array(np.broadcast_to(values, (n_labels,)), dtype=np.float64)


def check_proba(Y_proba: Any) -> Floats:
    """Check a matrix of probabilities, `(n_samples, n_labels)`; the message says where it is none.

    In double precision there is a midpoint between any two floats of single precision.

    Examples
    --------
    >>> check_proba([[0.5, 1.5]])
    Traceback (most recent call last):
    ValueError: Y_proba[0, 1] is 1.5; a probability is between 0 and 1.
    """
    try:
        proba = np.asarray(Y_proba, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Y_proba must be a matrix of probabilities: {error}") from error
    if proba.ndim != 2 or proba.size == 0:
        raise ValueError(
            f"Y_proba has shape {proba.shape}; it must be (n_samples, n_labels), neither 0."
        )
    bad = ~((proba >= -_ROUNDING) & (proba <= 1 + _ROUNDING))
    if bad.any():
        row, label = np.argwhere(bad)[0]
        raise ValueError(
            f"Y_proba[{row}, {label}] is {proba[row, label]:g}; a probability is between 0 and 1."
        )
    return proba
