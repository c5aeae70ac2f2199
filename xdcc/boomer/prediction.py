"""From scores to labels and probabilities (section 4.3 of the paper).

Labelsets are those of the training data, the most frequent first. A labelset's probability is
its weight by the loss (``losses.py``), divided by the sum over the known labelsets.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from xdcc.base.label_rows import row_blocks
from xdcc.boomer.losses import Loss
from xdcc.decision.f1_maximiser import SizedMarginals

Prediction = Literal["auto", "sign", "known_labelsets", "example_f1"]
PREDICTIONS: tuple[str, ...] = get_args(Prediction)

_TIE = 1e-12
"""Losses are equal if they differ by no more than this, relatively."""


def predict_labels(
    loss: Loss, prediction: str, labelsets: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Labels.

    Parameters
    ----------
    loss : Loss
        The loss that the scores are trained for.
    prediction : {"auto", "sign", "known_labelsets", "example_f1"}
        ``"sign"``: positive scores (equation 18). ``"known_labelsets"``: the known labelset with
        the smallest loss (equation 19), the more frequent one if losses are equal.
        ``"example_f1"``: the labelset with the largest expected F1. ``"auto"``: the sign if the
        loss is decomposable, known labelsets if not.
    labelsets : int8 array of shape (n_labelsets, n_labels)
        The known labelsets, the most frequent first.
    scores : float64 array of shape (n_samples, n_labels)
        Scores.

    Returns
    -------
    int array of shape (n_samples, n_labels)
        Zeros and ones.
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
    """Probability of every known labelset.

    Parameters
    ----------
    loss, labelsets, scores
        As for `predict_labels`.

    Returns
    -------
    float64 array of shape (n_samples, n_labelsets)
        Each row sums to 1.
    """
    return softmax(loss.labelset_log_weights(labelsets, scores), axis=1)


def label_proba(
    loss: Loss, labelsets: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of every label.

    Parameters
    ----------
    loss, labelsets, scores
        As for `predict_labels`. If the loss is decomposable its own marginals are taken, else
        the sums over the known labelsets.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
        In [0, 1].
    """
    marginals = loss.marginals(scores)
    if marginals is not None:
        return marginals
    proba = np.empty(scores.shape)
    for rows in row_blocks((len(scores), len(labelsets))):
        proba[rows] = labelset_proba(loss, labelsets, scores[rows]) @ labelsets
    return np.clip(proba, 0, 1)
