"""Measures of probabilities: what a labelset or a label was said to be worth."""

from typing import Any

import numpy as np

from experiments.engine.registry import Split


def log_loss(model: Any, split: Split, Y: Any) -> float:
    """Mean over entries of −log of the probability of what is true, at most log of the rows.

    Equation 6 of the LaCovaC paper, per label; the limit is the number of rows to predict.

    Parameters
    ----------
    model : estimator
        With `predict_proba`.
    split : Split
    Y : array of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    float
    """
    Y_proba = np.clip(np.asarray(model.predict_proba(split.X), dtype=np.float64), 0, 1)
    limit = 1 / max(len(Y), 2)
    of_truth = np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)
    return float(-np.log(np.maximum(of_truth, limit)).mean())


def cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x), section 6.2 of the MC paper.

    Parameters
    ----------
    model : estimator
        With `log_prob(X, Y)`.
    split : Split
    Y : array of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    float
    """
    return float(-np.sum(model.log_prob(split.X, Y)))


def independent_cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x) of a method whose labels are independent.

    Parameters
    ----------
    model : estimator
        With `predict_proba`.
    split : Split
    Y : array of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    float
        Infinite if something certain did not happen.
    """
    Y_proba = np.asarray(model.predict_proba(split.X), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)).sum())
