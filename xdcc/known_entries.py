"""The checked input of a measure: true and predicted labels where the truth is known.

`known_entries` turns two label matrices (array-likes, DataFrames or scipy.sparse) and weights into
boolean masks, or says what is wrong with them and where. Samples that cannot count (no known
label, or weight 0) are taken out, so that a measure needs no rule of its own for them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

type Labels = ArrayLike | sparse.sparray | sparse.spmatrix
type Weights = ArrayLike | None
type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class KnownEntries:
    """What can be compared, for the samples that count.

    Attributes
    ----------
    truth, predicted : bool arrays, shape (n_counted, n_labels)
        Both False where the truth is unknown.
    known : bool array, shape (n_counted, n_labels)
        At least one True per row.
    weight : float64 array, shape (n_counted,)
        Positive.
    """

    truth: Bools
    predicted: Bools
    known: Bools
    weight: Floats


def known_entries(Y_true: Labels, Y_pred: Labels, sample_weight: Weights = None) -> KnownEntries:
    """Check labels and weights and take out what is unknown.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN where the label is unknown.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1.
    sample_weight : array-like, shape (n_samples,), optional
        Finite, not negative; None counts every sample once.

    Returns
    -------
    KnownEntries
        Of the samples with a known label and a positive weight.

    Raises
    ------
    ValueError
        If an input is not a matrix of numbers, is empty or holds another value; if the shapes
        differ; if a weight is bad; if no entry is left.
    """
    truth = _label_matrix(Y_true, "Y_true")
    predicted = _label_matrix(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(
            "Y_true and Y_pred must have the same shape (n_samples, n_labels), "
            f"got {truth.shape} and {predicted.shape}"
        )
    unknown = np.isnan(truth)
    _check_values(truth, (truth == 0) | (truth == 1) | unknown, "Y_true", "0, 1 or NaN (unknown)")
    _check_values(predicted, (predicted == 0) | (predicted == 1), "Y_pred", "0 or 1")
    weight = _checked_weight(sample_weight, len(truth))

    counts = ~unknown.all(axis=1) & (weight > 0)
    if not counts.any():
        raise ValueError("Y_true has no known label in a sample of positive weight")
    known = ~unknown[counts]
    return KnownEntries(
        truth=truth[counts] == 1,
        predicted=(predicted[counts] == 1) & known,
        known=known,
        weight=weight[counts],
    )


def _label_matrix(Y: Any, name: str) -> Floats:
    try:
        matrix = np.asarray(Y.toarray() if sparse.issparse(Y) else Y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of the numbers 0 and 1: {error}") from error
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(
            f"{name} must have at least one sample and one label, shape (n_samples, n_labels), "
            f"got shape {matrix.shape}"
        )
    return matrix


def _check_values(matrix: Floats, valid: Bools, name: str, allowed: str) -> None:
    if not valid.all():
        row, label = np.argwhere(~valid)[0]
        raise ValueError(f"{name}[{row}, {label}] is {matrix[row, label]:g}, must be {allowed}")


def _checked_weight(sample_weight: Weights, n_samples: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one weight per sample, shape ({n_samples},), "
            f"got {weight.shape}"
        )
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight must be finite and not negative")
    return weight
