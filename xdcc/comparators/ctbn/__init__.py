"""Mixtures of conditional tree-structured Bayesian networks (MC)."""

from xdcc.comparators.ctbn.classifier import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.ctbn.plot import plot_trees

__all__ = ["CTBNClassifier", "CTBNMixtureClassifier", "plot_trees"]
