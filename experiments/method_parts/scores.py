"""Measures of probabilities: what a labelset or a label was said to be worth.

A measure takes a fitted `model`, the `split`, whose rows it predicts, and `Y`, the true labels of
these as 0 and 1, of shape (n_samples, n_labels), and returns a float. Where nothing else is said,
the model has `predict_proba`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.engine.registry import Split
from xdcc.base.labels import label_scores

N_BINS = 15

MOST_REVEALED = 300


def log_loss(model: Any, split: Split, Y: Any) -> float:
    """Mean over entries of −log of the probability of what is true, at most log of the rows.

    Equation 6 of the LaCovaC paper, per label; the limit is the number of rows to predict.
    Probabilities may come in any form that scikit-learn knows.
    """
    return log_loss_of(label_scores(model, split.X, np.shape(Y)[1]), Y)


def log_loss_of(Y_proba: Any, Y: Any) -> float:
    """As `log_loss`, of probabilities of shape (n_samples, n_labels)."""
    Y_proba = np.clip(np.asarray(Y_proba, dtype=np.float64), 0, 1)
    limit = 1 / max(len(Y), 2)
    of_truth = np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)
    return float(-np.log(np.maximum(of_truth, limit)).mean())


def cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x), section 6.2 of the MC paper.

    The model has `log_prob(X, Y)`.
    """
    return float(-np.sum(model.log_prob(split.X, Y)))


def independent_cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x) of a method whose labels are independent.

    Infinite if something certain did not happen.
    """
    Y_proba = np.asarray(model.predict_proba(split.X), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)).sum())


def labelset_log_loss(model: Any, split: Split, Y: Any) -> float:
    """Mean over rows of −log P(labelset | x); without `log_prob` labels are independent.

    With `predict_proba` alone probabilities are at least one over the rows, as in `log_loss`.
    """
    if hasattr(model, "log_prob"):
        return cll_loss(model, split, Y) / len(Y)
    return log_loss(model, split, Y) * np.shape(Y)[1]


def calibration_error(model: Any, split: Split, Y: Any) -> float:
    """Mean distance of probability and frequency over 15 bins of equal width, by their entries."""
    Y_proba = np.clip(np.asarray(model.predict_proba(split.X), dtype=np.float64), 0, 1).ravel()
    bins = np.minimum((Y_proba * N_BINS).astype(int), N_BINS - 1)
    ahead = np.bincount(bins, np.ravel(Y) - Y_proba)
    return float(np.abs(ahead).sum() / Y_proba.size)


def log_loss_given_one(model: Any, split: Split, Y: Any) -> float:
    """Log-loss of all other labels of a row when one is known, the mean over which it is.

    A model that takes no `known` labels says what it says without. The first 300 rows count, and
    the labels that are not all the same in training are revealed.
    """
    X, truth = split.X[:MOST_REVEALED], np.asarray(Y, dtype=np.float64)[:MOST_REVEALED]
    varied = np.flatnonzero(np.ptp(np.asarray(split.train.Y), axis=0))
    takes = "known" in inspect.signature(model.predict_proba).parameters
    found = []
    for label in varied:
        known = np.full(truth.shape, np.nan)
        known[:, label] = truth[:, label]
        Y_proba = model.predict_proba(X, known=known) if takes else model.predict_proba(X)
        others = np.arange(truth.shape[1]) != label
        found.append(log_loss_of(Y_proba[:, others], truth[:, others]))
    return float(np.mean(found))


OF_PROBABILITIES: dict[str, Callable[[Any, Split, Any], float]] = {
    "log_loss": log_loss,
    "labelset_log_loss": labelset_log_loss,
    "calibration_error": calibration_error,
}
"""What every method with probabilities may be measured by."""
