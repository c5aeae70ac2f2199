"""The comparison of teacher and student, on training rows that were held out."""

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.base.features import Features
from xdcc.base.margins import margins_of
from xdcc.decision.calibration import ConstantLabels
from xdcc.decision.cuts import Floats
from xdcc.decision.rule import Rule
from xdcc.metrics import example_f1, hamming_accuracy, log_loss, subset_accuracy
from xdcc.prediction.predictors import PredictsByKernel

_METRICS = {
    "example_f1": example_f1,
    "subset_accuracy": subset_accuracy,
    "hamming_accuracy": hamming_accuracy,
}

type Report = dict[str, list[Any]]
"""Columns of a table, with a row for the teacher and one for the student."""


def compare(
    Y: NDArray[np.float32],
    proba: Floats,
    margins: NDArray[np.floating],
    rule: Rule,
    constant: ConstantLabels,
) -> Report:
    """Compare the predictions of teacher and student.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        Labels of rows that neither was trained on, NaN where unknown.
    proba : float64 array of shape (n_samples, n_labels)
        The teacher's probabilities.
    margins : float array of shape (n_samples, n_labels)
        The student's log-odds.
    rule : Rule
        The decision rule of both.
    constant : ConstantLabels
        Labels that are the same in all rows.

    Returns
    -------
    dict of str to list
        "model", the metrics, and "agreement" and "margin_difference" with the teacher. Without
        rows, or where no label is known, metrics are NaN.

    Examples
    --------
    >>> from xdcc.decision.threshold_rules import LabelWise
    >>> none, Y = np.full(2, np.nan), np.array([[0, 1]], np.float32)
    >>> found = compare(
    ...     Y, np.array([[0.5, 0.9]]), np.array([[-1.0, 2.0]]), LabelWise(),
    ...     ConstantLabels(none, none)
    ... )
    >>> found["subset_accuracy"], found["agreement"]
    ([0.0, 1.0], [1.0, 0.5])
    """
    found: Report = {"model": ["teacher", "student"]}
    of_both = [constant.in_margins(each) for each in (margins_of(proba), margins)]
    if not len(Y):
        missing = [np.nan, np.nan]
        names = ("log_loss", *_METRICS, "agreement", "margin_difference")
        return found | {name: list(missing) for name in names}
    labels = [constant.in_labels(rule.decide(each).astype(np.int64)) for each in of_both]
    counts = ~np.isnan(Y).all(axis=1)
    is_judged = bool(counts.any())
    found["log_loss"] = [
        log_loss(Y[counts], expit(each[counts])) if is_judged else np.nan for each in of_both
    ]
    for name, metric in _METRICS.items():
        found[name] = [metric(Y[counts], each[counts]) if is_judged else np.nan for each in labels]
    found["agreement"] = [1.0, float((labels[0] == labels[1]).mean())]
    found["margin_difference"] = [0.0, float(np.abs(of_both[0] - of_both[1]).mean())]
    return found


def size_of(model: Any) -> int:
    """Return the bytes of what predicts, as a pickle: the flat model if there is one."""
    return len(pickle.dumps(model._predictor() if isinstance(model, PredictsByKernel) else model))


def seconds_of(predict: Callable[[Features], Any], X: Features) -> float:
    """Return the seconds that a prediction takes, the shorter of two."""
    found = []
    for _ in range(2):
        begun = time.perf_counter()
        predict(X)
        found.append(time.perf_counter() - begun)
    return min(found)
