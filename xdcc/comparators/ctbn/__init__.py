"""Mixtures of conditional tree-structured Bayesian networks (MC)."""

from xdcc.ctbn.classifier import CTBNClassifier, CTBNMixtureClassifier
from xdcc.ctbn.plot import plot_trees

__all__ = ["CTBNClassifier", "CTBNMixtureClassifier", "plot_trees"]
