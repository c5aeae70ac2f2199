"""Thresholds: from which probability on a label is predicted.

Functions on arrays choose them, by label density (``density.py``) or by a measure on validation
data (``search.py``); :class:`ThresholdClassifier` puts them on an estimator (``classifier.py``).
"""

from xdcc.thresholds.classifier import ThresholdClassifier
from xdcc.thresholds.cuts import apply_thresholds
from xdcc.thresholds.density import pcut, per_label_pcut
from xdcc.thresholds.search import best_threshold, best_thresholds_per_label

__all__ = [
    "ThresholdClassifier",
    "apply_thresholds",
    "best_threshold",
    "best_thresholds_per_label",
    "pcut",
    "per_label_pcut",
]
