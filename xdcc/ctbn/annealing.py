"""The most probable labelset of a mixture of trees: simulated annealing, or all labelsets.

A mixture's most probable labelset (MAP) is hard to find; the one of a single tree is not. Annealing
begins with the best of the trees' own ones. An iteration goes through the labels once and draws
each anew given all others, for all rows at once, from P(y|x) to the power of 1/T; the temperature
T falls from 1 until only rises in probability are left. The best labelset seen is kept.
Source: section 5.4 of the paper, after annealed MAP (Yuan, Lu, Druzdzel, UAI 2004).
"""

import numpy as np
from scipy.special import expit, logsumexp

from xdcc.base.documentation import documented
from xdcc.ctbn.tree_inference import Ints, Parents, labelset_log_prob, max_sum
from xdcc.linear.logistic import Floats

MOST_EXACT_LABELS = 15
"""Most labels of which all labelsets are tried."""

_LAST_TEMPERATURE = 0.02

_BLOCK = 2**22
"""Probabilities that are held at a time when all labelsets are tried."""


@documented
def anneal(
    log_cpds: list[Floats],
    trees: list[Parents],
    weights: Floats,
    n_iterations: int,
    random: np.random.RandomState,
) -> Ints:
    """Search the most probable labelset of every row.

    Parameters
    ----------
    log_cpds : list of float arrays of shape (n_labels, 2, 2, n_samples)
        Conditional probabilities of the components.
    trees : list of int arrays of shape (n_labels,)
        Their parents.
    weights : float array of shape (n_components,)
        Their weights.
    n_iterations : int
        Times that every label is drawn; 0 leaves the best of the trees' own labelsets.
    random : RandomState
        Source of randomness.

    {returns_labels}
    """
    best, best_value = _best_of_trees(log_cpds, trees, weights)
    if len(trees) == 1:
        return best
    chain = _Chain(log_cpds, trees, weights, best)
    temperatures = _LAST_TEMPERATURE ** np.linspace(0, 1, n_iterations)
    for temperature in temperatures:
        for label in range(best.shape[1]):
            chain.draw(label, temperature, random)
        higher = chain.value > best_value
        best[higher] = chain.Y[higher]
        best_value[higher] = chain.value[higher]
    return best


@documented
def exact_map(log_cpds: list[Floats], trees: list[Parents], weights: Floats) -> Ints:
    """Try all labelsets; ties go to the one that comes first in lexicographic order.

    Parameters
    ----------
    log_cpds, trees, weights
        As in `anneal`.

    {returns_labels}

    Raises
    ------
    ValueError
        If there are more than 15 labels.
    """
    n_labels, n_samples = log_cpds[0].shape[0], log_cpds[0].shape[-1]
    check_few_labels(n_labels)
    labelsets = np.arange(2**n_labels)[:, None] >> np.arange(n_labels)[::-1] & 1
    found = np.empty((n_samples, n_labels), dtype=np.int64)
    step = max(1, _BLOCK // len(labelsets))
    for first in range(0, n_samples, step):
        rows = slice(first, first + step)
        values = [
            np.log(weight) + _log_prob_of_all(labelsets, log_cpd[..., rows], parents)
            for log_cpd, parents, weight in zip(log_cpds, trees, weights, strict=True)
        ]
        found[rows] = labelsets[logsumexp(values, axis=0).argmax(axis=0)]
    return found


def check_few_labels(n_labels: int) -> None:
    """Refuse to try all labelsets of many labels.

    Raises
    ------
    ValueError
        If there are more than 15.
    """
    if n_labels > MOST_EXACT_LABELS:
        raise ValueError(
            f"inference='exact' tries all labelsets of at most {MOST_EXACT_LABELS} labels, but "
            f"there are {n_labels}; use inference='anneal'."
        )


def _log_prob_of_all(labelsets: Ints, log_cpd: Floats, parents: Parents) -> Floats:
    """Log P(y|x, T) of all labelsets, shape (n_labelsets, n_samples)."""
    total = np.zeros((len(labelsets), log_cpd.shape[-1]))
    for label, parent in enumerate(parents.tolist()):
        above = labelsets[:, parent] if parent >= 0 else 0
        total += log_cpd[label, above, labelsets[:, label]]
    return total


def _best_of_trees(
    log_cpds: list[Floats], trees: list[Parents], weights: Floats
) -> tuple[Ints, Floats]:
    """Choose among the trees' own most probable labelsets the one that the mixture prefers."""
    candidates = [max_sum(log_cpd, tree) for log_cpd, tree in zip(log_cpds, trees, strict=True)]
    values = np.array([_value(log_cpds, trees, weights, Y) for Y in candidates])
    choice = values.argmax(axis=0)
    rows = np.arange(len(choice))
    return np.array(candidates)[choice, rows], values[choice, rows]


def _value(log_cpds: list[Floats], trees: list[Parents], weights: Floats, Y: Ints) -> Floats:
    parts = [
        labelset_log_prob(log_cpd, tree, Y) for log_cpd, tree in zip(log_cpds, trees, strict=True)
    ]
    return logsumexp(np.array(parts) + np.log(weights)[:, None], axis=0)


class _Chain:
    """Labelsets of all rows, and their log probabilities under each tree and the mixture."""

    def __init__(
        self, log_cpds: list[Floats], trees: list[Parents], weights: Floats, Y: Ints
    ) -> None:
        self._log_cpds = log_cpds
        self._trees = [tree.tolist() for tree in trees]
        self._children = [
            [np.flatnonzero(tree == label).tolist() for label in range(len(tree))] for tree in trees
        ]
        self._rows = np.arange(len(Y))
        self.Y = Y.copy()
        self._parts = (
            np.array([labelset_log_prob(c, t, Y) for c, t in zip(log_cpds, trees, strict=True)])
            + np.log(weights)[:, None]
        )
        self.value = logsumexp(self._parts, axis=0)

    def draw(self, label: int, temperature: float, random: np.random.RandomState) -> None:
        """Draw a label given all others."""
        now = self.Y[:, label]
        flipped = self._parts + np.array(
            [self._change(k, label, now) for k in range(len(self._trees))]
        )
        value = np.logaddexp.reduce(flipped)
        # All rows share the random number: what is found for one does not depend on the others.
        flips = random.random_sample() < expit((value - self.value) / temperature)
        self.Y[flips, label] = 1 - now[flips]
        self._parts[:, flips] = flipped[:, flips]
        self.value[flips] = value[flips]

    def _change(self, component: int, label: int, now: Ints) -> Floats:
        """Calculate what the other value of a label adds to a tree's log probability."""
        log_cpd, rows = self._log_cpds[component], self._rows
        parent = self._trees[component][label]
        above = self.Y[:, parent] if parent >= 0 else 0
        change = log_cpd[label, above, 1 - now, rows] - log_cpd[label, above, now, rows]
        for child in self._children[component][label]:
            below = self.Y[:, child]
            change += log_cpd[child, 1 - now, below, rows] - log_cpd[child, now, below, rows]
        return change
