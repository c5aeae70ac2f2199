"""The metrics of predictions and trainings: names, titles, and which direction is better.

Label metrics and log-loss are those of `xdcc.metrics`, with their records. Times and memory come
from the run. A method may add its own metrics (`Method.scores`); their directions are here, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from xdcc import metrics
from xdcc.metrics.record import METRICS


@dataclass(frozen=True)
class Measure:
    """A metric.

    Attributes
    ----------
    title : str
        For tables and axes.
    higher_is_better : bool
    digits : int
        Digits after the decimal point, in tables.
    """

    title: str
    higher_is_better: bool = True
    digits: int = 3

    def best_first(self, values: np.ndarray) -> np.ndarray:
        """Return values whose order is best first."""
        return -values if self.higher_is_better else values


def measure_labels(Y: Any, Y_pred: Any) -> dict[str, float]:
    """Measure a prediction: `xdcc.metrics.evaluate`, and two variants of the papers.

    `example_f1_zero` counts a row without true and predicted labels as 0 (the LaCovaC paper),
    `macro_f1_of_means` is the F1 of the labels' mean precision and mean recall, in which 0/0 counts
    as 1 (the MC paper).
    """
    precision = metrics.macro_precision(Y, Y_pred, zero_division=1)
    recall = metrics.macro_recall(Y, Y_pred, zero_division=1)
    both = precision + recall
    return metrics.evaluate(Y, Y_pred) | {
        "example_f1_zero": metrics.example_f1(Y, Y_pred, zero_division=0),
        "macro_f1_of_means": 2 * precision * recall / both if both else 0.0,
    }


LABEL_MEASURES = tuple(measure_labels(np.ones((1, 1)), np.ones((1, 1))))
"""The metrics of every prediction."""

_VARIANTS = {
    "macro_f1_zero_division_1": "macro F1 zero division 1",
    "example_f1_zero": "example-based F1, 0/0 = 0",
    "macro_f1_of_means": "macro F1 of mean precision and recall",
}


def _measure(name: str) -> Measure:
    if name in _VARIANTS:
        return Measure(_VARIANTS[name])
    return Measure(METRICS[name].title, METRICS[name].higher_is_better)


MEASURES: dict[str, Measure] = {name: _measure(name) for name in (*LABEL_MEASURES, "log_loss")} | {
    "cll_loss": Measure("CLL-loss", higher_is_better=False, digits=1),
    "chain_rule_cll_loss": Measure(
        "CLL-loss given the true labels before", higher_is_better=False, digits=1
    ),
    "labelset_log_loss": Measure("log-loss of a labelset", higher_is_better=False),
    "log_loss_given_one": Measure("log-loss of the others given one label", False, digits=4),
    "calibration_error": Measure("calibration error", higher_is_better=False, digits=4),
    "promise_gap": Measure("promised minus reached", higher_is_better=False),
    "promise_error": Measure("distance of promised and reached", higher_is_better=False),
    "n_rows": Measure("instances", digits=0),
    "n_nominal": Measure("nominal features", digits=0),
    "n_numeric": Measure("numeric features", digits=0),
    "n_features": Measure("features", digits=0),
    "n_labels": Measure("labels", digits=0),
    "cardinality": Measure("labels of an instance", digits=3),
    "density": Measure("density", digits=4),
    "n_labelsets": Measure("distinct labelsets", digits=0),
    "rounds": Measure("rounds", higher_is_better=False, digits=1),
    "rounds_of_a_row": Measure("rounds of a row", higher_is_better=False, digits=1),
    "train_time": Measure("training time (CPU s)", higher_is_better=False, digits=2),
    "predict_time": Measure("prediction time (CPU s)", higher_is_better=False, digits=2),
    "peak_memory": Measure("peak memory (MiB)", higher_is_better=False, digits=0),
}
"""The metrics that a configuration may name."""
