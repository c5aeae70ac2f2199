"""From scores to labels and probabilities (section 4.3 of the paper).

The known labelsets are those of the training data, sorted by decreasing frequency. The loss gives
each of them a weight (``losses.py``); its probability is the weight divided by the sum of all.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from xdcc.base.label_rows import row_blocks
from xdcc.comparators.boomer.losses import Loss
from xdcc.decision.f1_maximiser import SizedMarginals

Prediction = Literal["auto", "sign", "known_labelsets", "example_f1"]
PREDICTIONS: tuple[str, ...] = get_args(Prediction)

_TIE = 1e-12
"""Relative difference up to which two losses count as equal."""


def predict_labels(
    loss: Loss, prediction: str, labelsets: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Predict labels (n_samples, n_labels) from scores of the same shape.

    ``"sign"`` predicts labels with a positive score (equation 18), ``"known_labelsets"`` the known
    labelset with the smallest loss (equation 19; ties go to the more frequent one),
    ``"example_f1"`` the labelset with the largest expected F1. ``"auto"`` is ``"sign"`` for
    decomposable losses and ``"known_labelsets"`` for others.
    """
    if prediction == "auto":
        prediction = "sign" if loss.decomposable else "known_labelsets"
    if prediction == "sign":
        return (scores > 0).astype(np.int64)
    labels = np.empty(scores.shape, np.int64)
    for rows in row_blocks((len(scores), len(labelsets))):
        if prediction == "example_f1":
            proba = labelset_proba(loss, labelsets, scores[rows])
            labels[rows] = SizedMarginals.of_labelsets(labelsets, proba).maximise().labels
        else:
            losses = loss.labelset_losses(labelsets, scores[rows])
            least = losses.min(axis=1, keepdims=True)
            labels[rows] = labelsets[(losses <= least * (1 + _TIE)).argmax(axis=1)]
    return labels


def labelset_proba(
    loss: Loss, labelsets: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Predict the probability of each known labelset, (n_samples, n_labelsets)."""
    return softmax(loss.labelset_log_weights(labelsets, scores), axis=1)


def label_proba(
    loss: Loss, labelsets: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Predict the probability of each label, (n_samples, n_labels).

    Decomposable losses have marginals of their own; for others, sum over the known labelsets.
    """
    marginals = loss.marginals(scores)
    if marginals is not None:
        return marginals
    proba = np.empty(scores.shape)
    for rows in row_blocks((len(scores), len(labelsets))):
        proba[rows] = labelset_proba(loss, labelsets, scores[rows]) @ labelsets
    return np.clip(proba, 0, 1)
