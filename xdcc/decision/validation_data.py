"""Checked validation data: true labels and probabilities of the rows that count."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import check_weight
from xdcc.base.labels import check_labels
from xdcc.decision.cuts import Floats, check_proba


@dataclass(frozen=True)
class ValidationData:
    """Rows with a known label and a positive weight.

    Attributes
    ----------
    truth, known : bool arrays of shape (n_counted, n_labels)
        What is true, False where unknown; and what is known.
    proba : float64 array of shape (n_counted, n_labels)
        Probabilities.
    weight : float64 array of shape (n_counted,)
        Positive.
    """

    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    proba: Floats
    weight: Floats


def validation_data(Y_true: Any, Y_proba: Any, sample_weight: Any) -> ValidationData:
    """Check true labels, probabilities and weights, and leave out rows that cannot count.

    Parameters
    ----------
    Y_true : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    ValidationData
        At least one row.

    Raises
    ------
    ValueError
        If an argument is not as described, the shapes differ, or no entry is known.

    Examples
    --------
    >>> data = validation_data([[1, np.nan], [np.nan, np.nan]], [[0.7, 0.4], [0.1, 0.2]], None)
    >>> data.truth, data.known, data.proba
    (array([[ True, False]]), array([[ True, False]]), array([[0.7, 0.4]]))
    """
    proba = check_proba(Y_proba)
    Y = check_labels(Y_true).Y
    if Y.shape != proba.shape:
        raise ValueError(
            "Y_true and Y_proba must have the same shape (n_samples, n_labels), "
            f"got {Y.shape} and {proba.shape}."
        )
    checked = check_weight(sample_weight, len(Y))
    weight = np.ones(len(Y)) if checked is None else checked.astype(np.float64)
    known = ~np.isnan(Y)
    counts = known.any(axis=1) & (weight > 0)
    if not counts.any():
        raise ValueError("Y_true has no known label in a row of positive weight.")
    return ValidationData(Y[counts] == 1, known[counts], proba[counts], weight[counts])
