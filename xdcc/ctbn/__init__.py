"""Mixtures of conditional tree-structured Bayesian networks (MC)."""

from xdcc.ctbn.classifier import CTBNClassifier, CTBNMixtureClassifier

__all__ = ["CTBNClassifier", "CTBNMixtureClassifier"]
