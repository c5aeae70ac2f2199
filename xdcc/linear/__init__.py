"""Linear models: L2-penalised logistic regressions of all labels, trained together."""

from xdcc.linear.classifier import LogisticLabels

__all__ = ["LogisticLabels"]
