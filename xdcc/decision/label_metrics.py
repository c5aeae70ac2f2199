"""Metrics for decisions: by name, on checked validation data, and on rows drawn again.

Each named metric is a function of three counts (:mod:`xdcc.metrics.counted`). Zero-division
conventions are the defaults of :mod:`xdcc.metrics`.

Validation data are a :class:`~xdcc.base.fit_data.FitData` of the rows that count: those with a
known label and a positive weight. `scores_on_draws` scores several predictions of the same rows, on
all of them and on rows drawn again. A named metric is a function of sums over rows, so its value
on many draws at once is a product of matrices: how often each row was drawn, times what each row
adds. A callable sees the drawn rows themselves, one draw after the other.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import check_domain
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import sample_rows
from xdcc.base.labels import check_labels
from xdcc.base.libraries import sparse
from xdcc.base.weights import check_weight
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.proba_metrics import proba_metric
from xdcc.metrics.counted import Counted, f_beta, quotient, ratio_of
from xdcc.metrics.record import METRICS


def validation_data(Y_true: Any, Y_proba: Any, sample_weight: Any) -> FitData:
    """Check true labels, probabilities and weights, and leave out rows that cannot count.

    `Y_true` and `Y_proba`, `(n_samples, n_labels)`, hold 0, 1 or NaN for unknown, and
    probabilities, which become the X of the result. A ValueError says what is not so, or that no
    entry is known.

    Examples
    --------
    >>> data = validation_data([[1, np.nan], [np.nan, np.nan]], [[0.7, 0.4], [0.1, 0.2]], None)
    >>> data.truth, data.known, data.X
    (array([[ True, False]]), array([[ True, False]]), array([[0.7, 0.4]]))
    """
    proba = check_proba(Y_proba)
    labels = check_labels(Y_true)
    if labels.Y.shape != proba.shape:
        raise ValueError(
            "Y_true and Y_proba must have the same shape (n_samples, n_labels), "
            f"got {labels.Y.shape} and {proba.shape}."
        )
    weight = check_weight(sample_weight, len(proba), labels.output_form.names)
    return rows_that_count(labels._replace(X=proba).weighted(weight))


def rows_that_count(data: FitData) -> FitData:
    """Leave out rows without a known label or positive weight; a ValueError if none is left."""
    if not data.counts.any():
        raise ValueError("Y_true has no known label in a row of positive weight.")
    return data.take(data.counts)


def _precision_at(true: Floats, predicted: Floats, both: Floats, *, least: float) -> Floats:
    reached = quotient(both, true, empty=1.0)
    enough = reached >= least - 1e-9  # sums of weights are rounded
    return np.where(enough, quotient(both, predicted, empty=1.0), reached - least)


COUNTED: dict[str, Counted] = {
    name: metric.counted for name, metric in METRICS.items() if metric.counted is not None
}
"""The metrics of :mod:`xdcc.metrics` that decision rules count."""

_F_BETA = re.compile(r"example_f(\d+(?:\.\d+)?)")
_AT_RECALL = re.compile(r"precision_at_recall_(1|0?\.\d+)")


class MetricName:
    """The domain of names of metrics: those of `COUNTED`, and those with a number."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a name."""
        return isinstance(value, str) and (
            value in COUNTED or bool(_F_BETA.fullmatch(value) or _AT_RECALL.fullmatch(value))
        )

    def __str__(self) -> str:
        """Describe the names."""
        return (
            f"one of {', '.join(map(repr, COUNTED))}, 'example_f2' for beta = 2 and so on, or "
            "'precision_at_recall_0.9' and so on"
        )


def check_metric(measure: object) -> None:
    """Stop if a metric is not the name of one of labels.

    Parameters
    ----------
    measure : object
        A name that :class:`MetricName` accepts, or anything else.

    Raises
    ------
    ValueError
        If it is something else; for a metric of probabilities the message names what accepts it.

    Examples
    --------
    >>> check_metric("jaccard")
    >>> try:
    ...     check_metric("ndcg_at_5")
    ... except ValueError as error:
    ...     print(str(error).rpartition(". ")[2])
    Use MultiLabelClassifier, which takes it.
    """
    if proba_metric(measure) is not None:
        raise ValueError(
            f"measure={measure!r}: a decision rule has no influence on a metric of probabilities. "
            "Use MultiLabelClassifier, which takes it."
        )
    check_domain("measure", measure, MetricName())


def beta_of(name: str) -> float | None:
    """Return the beta of an example-based F measure; None for another metric.

    Examples
    --------
    >>> beta_of("example_f0.5"), beta_of("jaccard")
    (0.5, None)
    """
    found = _F_BETA.fullmatch(name)
    return float(found.group(1)) if found else None


def metric_named(measure: str | Counted) -> Counted:
    """Find a metric.

    Parameters
    ----------
    measure : str or Counted
        One of `COUNTED`; or `example_f` and a number: example-based F-beta,
        (1 + b) both / (b true + predicted) with b the square of beta, 1 for 0/0; or
        `precision_at_recall_` and a number: the precision of all entries together if their recall
        is at least that number, else what the recall falls short of it, as a negative number. A
        metric itself is returned.

    Returns
    -------
    Counted

    Raises
    ------
    ValueError
        If there is no metric of that name.

    Examples
    --------
    >>> metric_named("precision_at_recall_0.9").value(*np.array([[10.0], [12.0], [9.0]]))
    array([0.75])
    """
    if isinstance(measure, Counted):
        return measure
    check_metric(measure)
    if measure in COUNTED:
        return COUNTED[measure]
    if beta := beta_of(measure):
        return ratio_of(partial(f_beta, b=beta**2), axis=1, empty=1.0)
    found = _AT_RECALL.fullmatch(measure)
    assert found
    return Counted(None, partial(_precision_at, least=float(found.group(1))))


type RowCounts = Floats
"""How often each row was drawn, (n_draws, n_samples)."""


def scores_on_draws(
    measure: str | Counted | Callable[..., float],
    data: FitData,
    predictions: Sequence[NDArray[np.int8]],
) -> Callable[[RowCounts], Floats]:
    """Make a function that scores predictions on draws of rows.

    Parameters
    ----------
    measure : str, Counted or callable
        A name (see :class:`~xdcc.decision.label_metrics.MetricName`), a metric of three counts, or
        ``measure(Y_true, Y_pred)``, with `sample_weight` if there are weights.
    data : FitData
        Labels and weights of rows that count.
    predictions : sequence of int8 arrays of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    callable
        From counts of rows, `(n_draws, n_samples)`, to scores, `(n_draws, n_predictions)`; NaN
        for a draw without a known label.
    """
    if not callable(measure):
        named = metric_named(measure)
        axes: dict[int | None, Any] = {1: _of_samples, 0: _of_labels, None: _of_all}
        return axes[named.axis](named, data, predictions)

    weight = data.sample_weight
    number_of = checked_metric(measure)

    def of_callable(counts: RowCounts) -> Floats:
        scores = np.full((len(counts), len(predictions)), np.nan)
        for draw, count in enumerate(counts):
            rows = np.repeat(np.arange(len(count)), count.astype(np.intp))
            if not len(rows):
                continue
            options = {} if weight is None else {"sample_weight": weight[rows]}
            for i, labels in enumerate(predictions):
                scores[draw, i] = number_of(data.Y[rows], labels[rows].astype(np.int64), **options)
        return scores

    return of_callable


def try_callable(measure: Callable[..., Any], data: FitData) -> None:
    """Call a metric once, so that its errors come before anything is trained.

    Each row of a sample is predicted to have the labels of the row before it.
    """
    rows = data._replace(X=None).take(sample_rows(data.Y.shape, data.counts))
    predicted = np.roll(rows.truth, 1, axis=0).astype(np.int8)
    scores_on_draws(measure, rows, [predicted])(np.ones((1, len(predicted))))


def checked_metric(measure: Callable[..., Any]) -> Callable[..., float]:
    """Make a callable raise a TypeError or ValueError if it does not return a finite number."""

    def checked(*arguments: Any, **options: Any) -> float:
        value = measure(*arguments, **options)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(
                f"The metric returned {value!r}, which is not a number; a metric takes true and "
                "predicted labels and returns a number; higher is better."
            )
        if not np.isfinite(float(value)):
            raise ValueError(f"The metric returned {float(value)}; it must be finite.")
        return float(value)

    return checked


def _of_samples(
    measure: Counted, data: FitData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    known, truth, row_weight = data.known, data.truth, data.weight
    share = measure.shares(data)

    def size(mask: NDArray[Any]) -> Floats:
        shares = mask if share is None else mask * share
        return np.asarray(shares.sum(axis=1, dtype=np.float64))

    true = size(truth)
    values = np.empty((len(true), len(predictions)))
    for i, labels in enumerate(predictions):
        values[:, i] = measure.value(true, size(labels & known), size(labels & truth))

    def scores(counts: RowCounts) -> Floats:
        weight = counts * row_weight
        return _mean(weight @ values, weight.sum(axis=1, keepdims=True))

    return scores


def _of_all(
    measure: Counted, data: FitData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    sizes, of_rows, row_weight = measure.sizes(data), measure.row_sizes(data), data.weight
    sizes_true = sizes * data.truth
    true = sizes_true.sum(axis=1)
    predicted = np.column_stack([np.vecdot(labels, sizes) for labels in predictions])
    both = np.column_stack([np.vecdot(labels, sizes_true) for labels in predictions])

    def scores(counts: RowCounts) -> Floats:
        weight = counts * row_weight
        total = weight @ of_rows[:, np.newaxis]
        parts = (weight @ true[:, np.newaxis], weight @ predicted, weight @ both)
        shares = [_mean(part, total) for part in parts]
        return np.where(total > 0, measure.value(*map(np.nan_to_num, shares)), np.nan)

    return scores


def _of_labels(
    measure: Counted, data: FitData, predictions: Sequence[NDArray[np.int8]]
) -> Callable[[RowCounts], Floats]:
    is_known, is_true, row_weight, share = data.known, data.truth, data.weight, data.share

    def by_label(mask: NDArray[Any]) -> "sparse.csr_array":
        shares = mask if share is None else mask * share
        return sparse.csr_array(shares.T, dtype=np.float64)

    known, true = by_label(is_known), by_label(is_true)
    predicted = [by_label(labels & is_known) for labels in predictions]
    both = [by_label(labels & is_true) for labels in predictions]

    def scores(counts: RowCounts) -> Floats:
        weight = np.ascontiguousarray((counts * row_weight).T)
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
