"""Knowledge distillation: one small booster that predicts as a large model does.

:func:`distil` is for a model that is fitted, :class:`DistilledClassifier` trains it first.
``teacher.py`` asks the large model, ``generated_rows.py`` makes rows for it to label,
``lessons.py`` puts together what the booster learns from, and ``report.py`` compares the two.
"""

from xdcc.distillation.classifier import DistilledClassifier, distil

__all__ = ["DistilledClassifier", "distil"]
