"""SHAP values of a forest's margins, whose sums are exact.

The margins of a forest are log-odds of averaged probabilities. For a row, let A be the sum of the
shares of a label in the leaves that it reaches, and B the sum of the shares in which the label is
known; the probability is A / B. With r = E[A] / E[B], the expectations over the training rows in
each tree,

    A / B - r = (A - r B) / B.

A - r B is a sum over trees, with the expectation 0: its path-dependent SHAP values
(``_contributions.pyx``) are exact. The margin's difference from that of r is divided among the
features in their proportion. This is the rescale rule of DeepLIFT, with which the package shap
explains probabilities of boosted trees, too: contributions keep their signs and their ratios.
Sources: Lundberg et al.: "From local explanations to global understanding with explainable AI for
trees" (Nature Machine Intelligence 2, 2020); Shrikumar, Greenside, Kundaje: "Learning Important
Features Through Propagating Activation Differences" (ICML 2017).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.contributions import Contributions
from xdcc.base.features import Features
from xdcc.base.margins import LIMITS, margins_of
from xdcc.forest._contributions import contributions
from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.forest import ExtraTrees, LabelRows, mean_proba, smoothed_margins, smoothed_proba
from xdcc.forest.leaves import LeafShares, leaf_shares

type Floats = NDArray[np.float64]

_NOTHING = 1e-9
"""Leaves below this share of the weight are dropped."""

_SMALL = 1e-8
"""Differences of probabilities, relative to them, below which the slope is the derivative."""


def forest_contributions(forest: ExtraTrees, X: Features, n_threads: int) -> Contributions:
    """Explain the margins of a forest.

    Parameters
    ----------
    forest : ExtraTrees
        The trees.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Checked features.
    n_threads : int
        Number of threads.

    Returns
    -------
    Contributions
        The bias is the margin of the expected probability. If no leaf that a row reaches knows a
        label, its bias is the margin, and features contribute nothing.
    """
    shares = leaf_shares(forest)
    rate = _expected_rate(forest, shares)
    # A - r B = A - r (n_trees - U), if U is the sum of unknown shares.
    of_unknown = sparse.csr_array(shares.unknown.multiply(rate))
    sums = contributions(forest, X, sparse.csr_array(shares.positive + of_unknown), n_threads)
    n_trees = len(forest.start) - 1
    proba, known = mean_proba(forest, X, n_threads), _known_share(forest, X, n_threads)
    smoothed, expected = smoothed_proba(forest, proba), smoothed_proba(forest, rate)
    knows = known > _NOTHING
    slope = np.where(knows, _slope(smoothed, expected) / np.where(knows, known, 1), 0)
    margins, bias = (
        smoothed_margins(forest, proba),
        np.broadcast_to(margins_of(expected), known.shape),
    )
    return Contributions(
        sums * (slope / (n_trees + 1))[:, :, np.newaxis], np.where(knows, bias, margins)
    )


def _expected_rate(forest: ExtraTrees, shares: LeafShares) -> Floats:
    """Compute r of each label, (n_labels,)."""
    of_leaf = np.empty(len(forest.leaf_weight), np.intp)  # its tree
    n_trees = len(forest.start) - 1
    is_leaf = forest.kind == KINDS["leaf"]
    of_leaf[forest.child[is_leaf]] = np.repeat(np.arange(n_trees), np.diff(forest.start))[is_leaf]
    weight = forest.leaf_weight / np.bincount(of_leaf, forest.leaf_weight)[of_leaf]
    positive, known = weight @ shares.positive, n_trees - weight @ shares.unknown
    return np.divide(
        positive, known, out=forest.labels.mean.copy(), where=known > _NOTHING * n_trees
    )


def _known_share(forest: ExtraTrees, X: Features, n_threads: int) -> Floats:
    """Average the shares in which labels are known in the leaves that rows reach."""
    labels = forest.labels
    if not len(labels.unknown):
        return np.ones((X.shape[0], labels.n_labels))
    none = np.zeros_like(labels.unknown_start)
    is_unknown = LabelRows(
        labels.unknown_start,
        labels.unknown,
        none,
        labels.unknown[:0],
        labels.mean,
        labels.weight,
        labels.unknown_share,
    )
    without_shares = np.zeros_like(forest.label_start)
    of_unknown = replace(forest, labels=is_unknown, label_start=without_shares)
    return 1 - mean_proba(of_unknown, X, n_threads)


def _slope(proba: Floats, expected: Floats) -> Floats:
    """Compute how fast margins change from expected probabilities to others, not negative."""
    middle = np.clip((proba + expected) / 2, *LIMITS)
    change = proba - expected
    is_small = np.abs(change) < _SMALL * np.minimum(middle, 1 - middle)
    secant = (margins_of(proba) - margins_of(expected)) / np.where(is_small, 1, change)
    return np.where(is_small, 1 / (middle * (1 - middle)), secant)
