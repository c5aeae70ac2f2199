"""Scores of several predictions of the same rows, on all of them and on rows drawn again.

A named measure is a function of sums over rows, so its value on many draws at once is a product of
matrices: how often each row was drawn, times what each row adds. A callable sees the drawn rows
themselves, one draw after the other.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.decision.cuts import Floats
from xdcc.decision.measures import Measure, measure_named
from xdcc.decision.validation_data import ValidationData

type RowCounts = Floats
"""How often each row was drawn, (n_draws, n_samples)."""


def scores_on_draws(
    measure: str | Measure | Callable[..., float],
    data: ValidationData,
    predictions: Sequence[NDArray[np.int8]],
    *,
    weighted: bool,
) -> Callable[[RowCounts], Floats]:
    """Make a function that scores predictions on draws of rows.

    Parameters
    ----------
    measure : str, Measure or callable
        A name (see :class:`~xdcc.decision.measures.MeasureName`) or a measure of three counts, or
        ``measure(Y_true, Y_pred)``, with `sample_weight` if `weighted`.
    data : ValidationData
        What is true, what is known, and weights.
    predictions : sequence of int8 arrays of shape (n_samples, n_labels)
        Zeros and ones.
    weighted : bool
        Whether a callable is told the weights.

    Returns
    -------
    callable
        From counts of rows, `(n_draws, n_samples)`, to scores, `(n_draws, n_predictions)`; NaN
        for a draw without a known label.
    """
    if not callable(measure):
        named = measure_named(measure)
        axes: dict[int | None, Any] = {1: _of_samples, 0: _of_labels, None: _of_all}
        return axes[named.axis](named, data, predictions)

    truth = np.where(data.known, data.truth, np.nan)
    number_of = checked_measure(measure)

    def of_callable(counts: RowCounts) -> Floats:
        scores = np.full((len(counts), len(predictions)), np.nan)
        for draw, count in enumerate(counts):
            rows = np.repeat(np.arange(len(count)), count.astype(np.intp))
            if not len(rows):
                continue
            options = {"sample_weight": data.weight[rows]} if weighted else {}
            for i, labels in enumerate(predictions):
                scores[draw, i] = number_of(truth[rows], labels[rows].astype(np.int64), **options)
        return scores

    return of_callable


def checked_measure(measure: Callable[..., Any]) -> Callable[..., float]:
    """Make a callable stop if what it returns is no number.

    Parameters
    ----------
    measure : callable
        Takes true and predicted labels.

    Returns
    -------
    callable
        Returns a finite float or raises: TypeError for what is no number, ValueError for
        infinity and NaN.
    """

    def checked(*arguments: Any, **options: Any) -> float:
        value = measure(*arguments, **options)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(
                f"The measure returned {value!r}, which is no number; a measure takes true and "
                "predicted labels and returns a number, more being better."
            )
        if not np.isfinite(float(value)):
            raise ValueError(f"The measure returned {float(value)}; it has to be finite.")
        return float(value)

    return checked


def _of_samples(
    measure: Measure, data: ValidationData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    true = data.truth.sum(axis=1, dtype=np.float64)
    values = np.empty((len(true), len(predictions)))
    for i, labels in enumerate(predictions):
        predicted = (labels & data.known).sum(axis=1, dtype=np.float64)
        both = (labels & data.truth).sum(axis=1, dtype=np.float64)
        values[:, i] = measure.value(true, predicted, both)

    def scores(counts: RowCounts) -> Floats:
        weight = counts * data.weight
        return _mean(weight @ values, weight.sum(axis=1, keepdims=True))

    return scores


def _of_all(
    measure: Measure, data: ValidationData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    sizes, of_rows = measure.sizes(data), measure.row_sizes(data)
    sizes_true = sizes * data.truth
    true = sizes_true.sum(axis=1)
    predicted = np.column_stack([np.vecdot(labels, sizes) for labels in predictions])
    both = np.column_stack([np.vecdot(labels, sizes_true) for labels in predictions])

    def scores(counts: RowCounts) -> Floats:
        weight = counts * data.weight
        total = weight @ of_rows[:, np.newaxis]
        parts = (weight @ true[:, np.newaxis], weight @ predicted, weight @ both)
        shares = [_mean(part, total) for part in parts]
        return np.where(total > 0, measure.value(*map(np.nan_to_num, shares)), np.nan)

    return scores


def _of_labels(
    measure: Measure, data: ValidationData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    known, true = (sparse.csr_array(part.T, dtype=np.float64) for part in (data.known, data.truth))
    predicted = [
        sparse.csr_array((labels & data.known).T, dtype=np.float64) for labels in predictions
    ]
    both = [sparse.csr_array((labels & data.truth).T, dtype=np.float64) for labels in predictions]

    def scores(counts: RowCounts) -> Floats:
        weight = np.ascontiguousarray((counts * data.weight).T)
        of_label = known @ weight > 0
        n_true = true @ weight
        found = np.empty((len(counts), len(predictions)))
        for i, parts in enumerate(zip(predicted, both, strict=True)):
            values = measure.value(n_true, *(part @ weight for part in parts))
            total = of_label.sum(axis=0, dtype=np.float64)
            found[:, i] = _mean((values * of_label).sum(axis=0), total)
        return found

    return scores


def _mean(total: Floats, size: Floats) -> Floats:
    """Divide; NaN where nothing counts."""
    size = np.broadcast_to(size, total.shape)
    return np.divide(total, size, out=np.full(total.shape, np.nan), where=size > 0)
