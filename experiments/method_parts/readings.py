"""Ways to turn probabilities into labels without training again."""

from functools import partial
from typing import Any

import numpy as np

from experiments.engine.registry import Labels, Reading, Split, predicted_labels
from xdcc.decision import apply_thresholds, pcut
from xdcc.decision.labelsets import KnownLabelsets

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.6)
PRIORS = (0.0, 0.5, 1.0)


def probability_readings() -> dict[str, Reading]:
    """Return what `predict` gives, other thresholds, and the most probable known labelsets.

    A method whose `predict_proba` gives probabilities may offer these readings; a configuration
    that lists several of them has them tuned.
    """
    readings: dict[str, Reading] = {"labels": predicted_labels}
    for threshold in THRESHOLDS:
        readings[f"threshold {threshold}"] = partial(_at_threshold, threshold=threshold)
    for prior in PRIORS:
        readings[f"labelset, prior {prior}"] = partial(_known_labelset, prior=prior)
    return readings


def pcut_reading(model: Any, split: Split) -> Labels:
    """One threshold for all labels, with which the predictions are as dense as the training labels.

    It is chosen on the probabilities of the rows to predict, all at once (PCut).
    """
    Y_proba = model.predict_proba(split.X)
    return apply_thresholds(Y_proba, pcut(Y_proba, np.mean(split.train.Y)))


def _at_threshold(model: Any, split: Split, threshold: float) -> Labels:
    return (model.predict_proba(split.X) >= threshold).astype(np.int8)


def _known_labelset(model: Any, split: Split, prior: float) -> Labels:
    known = KnownLabelsets.of(split.train.Y)
    return known.most_probable(model.predict_proba(split.X), prior=prior)
