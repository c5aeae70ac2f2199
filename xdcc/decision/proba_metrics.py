"""Metrics of probabilities, on which decision rules have no influence.

They are metrics of :mod:`xdcc.metrics` with the names that scikit-learn gives its scorers: higher
is better, so losses are negated. A metric is a mean over rows or known entries, or an area under a
curve. For rows that are drawn again, means need only what each row adds, and areas only the
order of the scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import KnownRows, known_score_blocks
from xdcc.base.workers import sum_of_all
from xdcc.decision.cuts import Floats
from xdcc.metrics.curves import (
    Curve,
    mean_areas,
    precision_recall,
    ranked_entries,
    ranked_labels,
    roc,
)
from xdcc.metrics.probabilities import brier_scores, log_losses
from xdcc.metrics.ranking import average_precisions, metric_at_k, ndcgs_at, precisions_at


@dataclass(frozen=True)
class ProbaMetric(ABC):
    """A metric of probabilities.

    Attributes
    ----------
    metric : callable
        A function of :mod:`xdcc.metrics`.
    sign : int
        -1 for a loss, else 1.
    """

    metric: Callable[..., float]
    sign: int = 1

    def score(self, Y_true: Any, Y_proba: Any, sample_weight: Any = None) -> float:
        """Compute the metric; what it takes and raises is as in :mod:`xdcc.metrics`."""
        return self.sign * self.metric(Y_true, Y_proba, sample_weight=sample_weight)

    def missing(self, data: FitData) -> str | None:
        """Say why the metric has no value for the labels of all workers, if it has none."""
        return None

    @abstractmethod
    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        """Make a function that computes the metric on draws of rows.

        Parameters
        ----------
        data : FitData
            X are probabilities. All rows count.

        Returns
        -------
        callable
            From how often each row counts, `(n_draws, n_rows)`, to scores, `(n_draws, 1)`; NaN
            where there is none.
        """


@dataclass(frozen=True)
class _Mean(ProbaMetric):
    """A mean over rows, or over known entries."""

    of_rows: Callable[[KnownRows[Floats]], Floats] = average_precisions
    of_entries: bool = False
    k: int = 1

    def missing(self, data: FitData) -> str | None:
        if data.has_entry_weights and not self.of_entries:
            return "it compares the labels of a row, which have different weights"
        n_labels = data.Y.shape[1]
        return f"there are only {n_labels} labels" if self.k > n_labels else None

    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        blocks = known_score_blocks(data.Y, data.X, data.sample_weight)
        values = np.concatenate([self.of_rows(block) for block in blocks])
        size = data.row_sizes if self.of_entries else np.ones(len(values))
        weight = data.weight
        sums = np.column_stack((values * weight, size * weight))

        def scores(counts: Floats) -> Floats:
            total, n = np.hsplit(counts @ sums, 2)
            return self.sign * np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)

        return scores


@dataclass(frozen=True)
class _Area(ProbaMetric):
    """An area under a curve of all known entries, or the mean of those of the labels."""

    curve: Curve = roc
    of_labels: bool = True

    def missing(self, data: FitData) -> str | None:
        counting = data.take(data.counts)
        axis = 0 if self.of_labels else None
        has_values = [counting.truth.any(axis)]
        if self.curve is roc:
            has_values.append((counting.known & ~counting.truth).any(axis))
        has_all = (sum_of_all(np.array(has_values, int)) > 0).all(axis=0)
        if has_all.any():
            return None
        values = "entries of both values, 0 and 1" if self.curve is roc else "1"
        return f"no label has known {values}"

    def on_draws(self, data: FitData) -> Callable[[Floats], Floats]:
        entries = KnownRows(data.truth, data.X, data.known, data.weight, data.share)
        ranked = ranked_labels(entries) if self.of_labels else ranked_entries(entries)

        return lambda counts: mean_areas(self.curve, ranked, counts * entries.weight)[:, np.newaxis]


_METRICS: dict[str, ProbaMetric] = {
    "label_ranking_average_precision": _Mean(metrics.label_ranking_average_precision_score),
    "macro_average_precision": _Area(metrics.macro_average_precision, curve=precision_recall),
    "micro_average_precision": _Area(
        metrics.micro_average_precision, curve=precision_recall, of_labels=False
    ),
    "macro_roc_auc": _Area(metrics.macro_roc_auc),
    "micro_roc_auc": _Area(metrics.micro_roc_auc, of_labels=False),
    "neg_log_loss": _Mean(metrics.log_loss, -1, log_losses, of_entries=True),
    "neg_brier_score": _Mean(metrics.brier_score, -1, brier_scores, of_entries=True),
}

_ROWS_AT_K: dict[Callable[..., float], Callable[..., Floats]] = {
    metrics.precision_at_k: precisions_at,
    metrics.ndcg_at_k: ndcgs_at,
}


def proba_metric(measure: object) -> ProbaMetric | None:
    """Find a metric of probabilities.

    Parameters
    ----------
    measure : object
        Its name, such as "macro_roc_auc", "neg_log_loss" or "ndcg_at_5", or anything else.

    Returns
    -------
    ProbaMetric or None
        None if it is not such a name.

    Examples
    --------
    >>> proba_metric("neg_brier_score").score([[1, 0]], [[0.5, 0.5]])
    -0.25
    >>> proba_metric("example_f1") is None
    True
    """
    if found := metric_at_k(measure):
        metric, k = found
        return _Mean(partial(metric, k=k), of_rows=partial(_ROWS_AT_K[metric], k=k), k=k)
    return _METRICS.get(measure) if isinstance(measure, str) else None


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
        names = ", ".join(map(repr, _METRICS))
        return f"{names}, 'precision_at_3' and so on, or 'ndcg_at_5' and so on"
