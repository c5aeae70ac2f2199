"""The most probable labelset of a mixture of trees: simulated annealing, or exhaustive search.

The most probable labelset (MAP) of a single tree is easy to find, that of a mixture is hard.
Annealing starts at the best of the MAP labelsets of the trees. Each iteration resamples every label
given all others, for all rows at once, from P(y|x) to the power of 1/T. The temperature T decreases
from 1 until only moves to more probable labelsets are accepted. The result is the best labelset
visited. Source: section 5.4 of the paper, after annealed MAP (Yuan, Lu, Druzdzel, UAI 2004).
"""

import numpy as np
from scipy.special import expit, logsumexp

from xdcc.comparators.ctbn.tree_inference import Ints, Parents, labelset_log_prob, max_sum
from xdcc.linear.logistic import Floats

MOST_EXACT_LABELS = 15
"""Maximum number of labels for exhaustive search."""

_LAST_TEMPERATURE = 0.02

_BLOCK = 2**22
"""Number of probabilities in memory at a time in exhaustive search."""


def anneal(
    log_cpds: list[Floats],
    trees: list[Parents],
    weights: Floats,
    n_iterations: int,
    random: np.random.RandomState,
) -> Ints:
    """Search for the most probable labelset of each row, (n_samples, n_labels).

    `log_cpds`, `trees` and `weights` are the conditional probabilities, parents and weights of the
    components. With 0 iterations, the result is the best of the MAP labelsets of the trees.
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


def exact_map(log_cpds: list[Floats], trees: list[Parents], weights: Floats) -> Ints:
    """Find the most probable labelset of each row by exhaustive search."""
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
    """Raise ValueError if there are too many labels for exhaustive search."""
    if n_labels > MOST_EXACT_LABELS:
        raise ValueError(
            f"inference='exact' supports at most {MOST_EXACT_LABELS} labels, but there are "
            f"{n_labels}; use inference='anneal'."
        )


def _log_prob_of_all(labelsets: Ints, log_cpd: Floats, parents: Parents) -> Floats:
    """Compute log P(y|x, T) of all labelsets, (n_labelsets, n_samples)."""
    total = np.zeros((len(labelsets), log_cpd.shape[-1]))
    for label, parent in enumerate(parents.tolist()):
        above = labelsets[:, parent] if parent >= 0 else 0
        total += log_cpd[label, above, labelsets[:, label]]
    return total


def _best_of_trees(
    log_cpds: list[Floats], trees: list[Parents], weights: Floats
) -> tuple[Ints, Floats]:
    """Return the most probable one under the mixture of the MAP labelsets of the trees."""
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
    """State of the annealing: labelsets of all rows, and their log-probabilities."""

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
        """Resample a label given all others."""
        now = self.Y[:, label]
        flipped = self._parts + np.array(
            [self._change(k, label, now) for k in range(len(self._trees))]
        )
        value = np.logaddexp.reduce(flipped)
        # All rows share the random number, so the result of a row does not depend on the others.
        flips = random.random_sample() < expit((value - self.value) / temperature)
        self.Y[flips, label] = 1 - now[flips]
        self._parts[:, flips] = flipped[:, flips]
        self.value[flips] = value[flips]

    def _change(self, component: int, label: int, now: Ints) -> Floats:
        """Compute the change of a tree's log-probability if a label is flipped."""
        log_cpd, rows = self._log_cpds[component], self._rows
        parent = self._trees[component][label]
        above = self.Y[:, parent] if parent >= 0 else 0
        change = log_cpd[label, above, 1 - now, rows] - log_cpd[label, above, now, rows]
        for child in self._children[component][label]:
            below = self.Y[:, child]
            change += log_cpd[child, 1 - now, below, rows] - log_cpd[child, now, below, rows]
        return change
