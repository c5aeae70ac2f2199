"""Metrics of probabilities, on which decision rules have no influence.

They are the metrics of :mod:`xdcc.metrics` that a search can have as its aim, with the names of
their scorers: higher is better, so losses are negated. A metric is a mean over rows or known
entries, or an area under a curve. For rows that are drawn again, means need only what each row
adds, and areas only the order of the scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import KnownRows, known_score_blocks
from xdcc.base.workers import sum_of_all
from xdcc.decision.cuts import Floats
from xdcc.metrics.curves import mean_areas, ranked_entries, ranked_labels, roc
from xdcc.metrics.record import METRICS, Metric, OfCurve, OfRows, scored, takes_k


@dataclass(frozen=True)
class ProbaMetric(ABC):
    """A metric of probabilities.

    Attributes
    ----------
    metric : Metric
        Its record.
    """

    metric: Metric

    def score(self, Y_true: Any, Y_proba: Any, sample_weight: Any = None) -> float:
        """Compute the metric; what it takes and raises is as in :mod:`xdcc.metrics`."""
        value = self.metric.function(Y_true, Y_proba, sample_weight=sample_weight)
        return self.metric.sign * value

    def missing(self, data: FitData) -> str | None:
        """Say why the metric has no value for the labels of all workers, if it has none."""
        return None

    @abstractmethod
    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        """Make a function that computes the metric on draws of rows.

        From how often each row counts, `(n_draws, n_rows)`, to scores, `(n_draws, 1)`; NaN where
        there is none. The X of `data` are probabilities; all rows count.
        """


@dataclass(frozen=True)
class _Mean(ProbaMetric):
    """A mean over rows, or over known entries."""

    drawn: OfRows

    def missing(self, data: FitData) -> str | None:
        if data.has_entry_weights and not self.drawn.by_entry:
            return "it compares the labels of a row, which have different weights"
        n_labels = data.Y.shape[1]
        is_short = self.metric.k is not None and self.metric.k > n_labels
        return f"there are only {n_labels} labels" if is_short else None

    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        blocks = known_score_blocks(data.Y, data.X, data.sample_weight)
        values = np.concatenate([self.drawn.value(block) for block in blocks])
        size = data.row_sizes if self.drawn.by_entry else np.ones(len(values))
        weight = data.weight
        sums = np.column_stack((values * weight, size * weight))

        def scores(counts: Floats) -> Floats:
            total, n = np.hsplit(counts @ sums, 2)
            means = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
            return self.metric.sign * means

        return scores


@dataclass(frozen=True)
class _Area(ProbaMetric):
    """An area under a curve of all known entries, or the mean of those of the labels."""

    drawn: OfCurve

    def missing(self, data: FitData) -> str | None:
        counting = data.take(data.counts)
        axis = 0 if self.drawn.by_label else None
        has_values = [counting.truth.any(axis)]
        if self.drawn.curve is roc:
            has_values.append((counting.known & ~counting.truth).any(axis))
        has_all = (sum_of_all(np.array(has_values, int)) > 0).all(axis=0)
        if has_all.any():
            return None
        values = "entries of both values, 0 and 1" if self.drawn.curve is roc else "1"
        return f"no label has known {values}"

    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        entries = KnownRows(data.truth, data.X, data.known, data.weight, data.share)
        ranked = ranked_labels(entries) if self.drawn.by_label else ranked_entries(entries)
        curve = self.drawn.curve

        return lambda counts: mean_areas(curve, ranked, counts * entries.weight)[:, np.newaxis]


def proba_metric(measure: object) -> ProbaMetric | None:
    """Find a metric of probabilities by its name, such as "macro_roc_auc" or "ndcg_at_5".

    The result is None for anything else.

    Examples
    --------
    >>> proba_metric("neg_brier_score").score([[1, 0]], [[0.5, 0.5]])
    -0.25
    >>> proba_metric("example_f1") is None
    True
    """
    metric = scored(measure)
    if metric is None or metric.drawn is None:
        return None
    return (
        _Area(metric, metric.drawn)
        if isinstance(metric.drawn, OfCurve)
        else _Mean(metric, metric.drawn)
    )


def require_value(measure: object, data: FitData) -> None:
    """Stop if a metric of probabilities has no value for the labels of all workers."""
    of_proba = proba_metric(measure)
    if of_proba and (why := of_proba.missing(data)):
        raise ValueError(f"measure={measure!r} has no value: {why}.")


class ProbaMetricName:
    """The domain of names of metrics of probabilities.

    Examples
    --------
    >>> ProbaMetricName().accepts("precision_at_3"), ProbaMetricName().accepts("ndcg_at_0")
    (True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a name."""
        return proba_metric(value) is not None

    def __str__(self) -> str:
        """Return a description of the allowed names."""
        metrics = (each for each in METRICS.values() if each.drawn and not takes_k(each))
        names = ", ".join(repr(each.scorer) for each in metrics)
        return f"{names}, 'precision_at_3' and so on, or 'ndcg_at_5' and so on"
