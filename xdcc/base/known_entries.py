"""The checked input of a measure: true and predicted labels where the truth is known.

`known_blocks` turns two label matrices (array-likes, DataFrames or scipy.sparse) and weights into
boolean masks, one block of rows after the other, or says what is wrong with them and where. So
large sparse matrices are never dense as a whole. Samples that cannot count (no known label, or
weight 0) are taken out, so that a measure needs no rule of its own for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from xdcc.base.label_rows import LabelRows, row_blocks

type Labels = ArrayLike | sparse.sparray | sparse.spmatrix
type Weights = ArrayLike | None
type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class KnownEntries:
    """What can be compared in a block of rows, for the samples that count.

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


def known_blocks(
    Y_true: Labels, Y_pred: Labels, sample_weight: Weights = None
) -> Iterator[KnownEntries]:
    """Check labels and weights and take out what is unknown, block by block.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN where the label is unknown.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1.
    sample_weight : array-like, shape (n_samples,), optional
        Finite, not negative; None counts every sample once.

    Yields
    ------
    KnownEntries
        Of the samples with a known label and a positive weight; blocks without any are left out.

    Raises
    ------
    ValueError
        If an input is not a matrix of numbers, is empty or holds another value; if the shapes
        differ; if a weight is bad; if no entry is left. A value is found when its block is read.
    """
    truth_rows = _label_rows(Y_true, "Y_true")
    predicted_rows = _label_rows(Y_pred, "Y_pred")
    n_samples, n_labels = truth_rows.shape
    if predicted_rows.shape != (n_samples, n_labels):
        raise ValueError(
            "Y_true and Y_pred must have the same shape (n_samples, n_labels), "
            f"got {truth_rows.shape} and {predicted_rows.shape}"
        )
    weight = _checked_weight(sample_weight, n_samples)

    nothing_counts = True
    for rows in row_blocks((n_samples, n_labels)):
        truth, predicted = truth_rows.block(rows), predicted_rows.block(rows)
        is_true, is_predicted = truth == 1, predicted == 1
        unknown = np.isnan(truth)
        _check(
            is_true | (truth == 0) | unknown, rows, truth_rows, "Y_true", "0, 1 or NaN (unknown)"
        )
        _check(is_predicted | (predicted == 0), rows, predicted_rows, "Y_pred", "0 or 1")

        counts = ~unknown.all(axis=1) & (weight[rows] > 0)
        if counts.any():
            nothing_counts = False
            known = ~unknown[counts]
            yield KnownEntries(
                truth=is_true[counts],
                predicted=is_predicted[counts] & known,
                known=known,
                weight=weight[rows][counts],
            )
    if nothing_counts:
        raise ValueError("Y_true has no known label in a sample of positive weight")


def matching_share(Y_true: Labels, Y_pred: Labels, sample_weight: Weights = None) -> float:
    """Share of the samples with all known labels predicted rightly.

    This is the estimators' ``score`` and :func:`xdcc.metrics.subset_accuracy`.

    Parameters
    ----------
    Y_true, Y_pred, sample_weight
        As in :func:`known_blocks`.

    Returns
    -------
    float
        From 0 to 1, of the samples that count.

    Raises
    ------
    ValueError
        As :func:`known_blocks`.

    Examples
    --------
    >>> matching_share([[1, np.nan], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    matching = total = 0.0
    for entries in known_blocks(Y_true, Y_pred, sample_weight):
        is_match = (entries.truth == entries.predicted).all(axis=1)
        # Both added up in the same way, so that a mean of ones is 1 exactly.
        matching += (entries.weight * is_match).sum()
        total += entries.weight.sum()
    return float(matching / total)


def _label_rows(Y: Any, name: str) -> LabelRows:
    try:
        labels = LabelRows(Y)
    except ValueError as error:
        raise ValueError(f"{name} must be a matrix of the numbers 0 and 1: {error}") from error
    if len(labels.shape) != 2 or 0 in labels.shape:
        raise ValueError(
            f"{name} must have at least one sample and one label, shape (n_samples, n_labels), "
            f"got shape {labels.shape}"
        )
    return labels


def _check(valid: Bools, rows: slice, labels: LabelRows, name: str, allowed: str) -> None:
    if valid.all():
        return
    row, label = np.argwhere(~valid)[0]
    row += rows.start
    entry = labels.entry(row, label)
    if not isinstance(entry, Real):
        raise ValueError(
            f"{name} must be a matrix of the numbers 0 and 1, but {name}[{row}, {label}] is "
            f"{entry!r}"
        )
    raise ValueError(f"{name}[{row}, {label}] is {float(entry):g}, must be {allowed}")


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
