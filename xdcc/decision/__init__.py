"""From probabilities to labels: thresholds, known labelsets, the F1-optimal labelset.

Functions on arrays choose thresholds, by label density or by a metric on validation data
(``thresholds.py``); :class:`ThresholdClassifier` puts them on any classifier,
:class:`TunedDecisionClassifierCV` calibrates it too and chooses among all kinds of rules.
:class:`KnownLabelsets` predicts labelsets of the training data,
:class:`SizedMarginals` the labelset of the highest expected F1, and :func:`bbc_cv` says what a
choice among many is worth. Derive from :class:`Rule` for one of your own. Use :class:`LabelCosts`
as the metric if you know what errors cost, :class:`Precision` and :class:`Recall` as constraints of
single labels.
"""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use
from xdcc.decision.bbc_cv import bbc_cv
from xdcc.decision.constraints import Precision, Recall
from xdcc.decision.cuts import apply_thresholds
from xdcc.decision.f1_maximiser import SizedMarginals
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rule import Rule, RuleData
from xdcc.decision.threshold_rules import ThresholdRule
from xdcc.decision.thresholds import best_threshold, best_thresholds_per_label, pcut, per_label_pcut

if TYPE_CHECKING:
    from xdcc.decision.threshold_classifier import ThresholdClassifier
    from xdcc.decision.tuned_decision import TunedDecisionClassifierCV
else:
    __getattr__ = on_first_use(
        __name__,
        ThresholdClassifier="threshold_classifier",
        TunedDecisionClassifierCV="tuned_decision",
    )

__all__ = [
    "KnownLabelsets",
    "LabelCosts",
    "Precision",
    "Recall",
    "Rule",
    "RuleData",
    "SizedMarginals",
    "ThresholdClassifier",
    "ThresholdRule",
    "TunedDecisionClassifierCV",
    "apply_thresholds",
    "bbc_cv",
    "best_threshold",
    "best_thresholds_per_label",
    "pcut",
    "per_label_pcut",
]
