"""Reference implementation of label networks: sums over all labelsets by definition."""

import itertools
from collections.abc import Iterator

import numpy as np

from xdcc.comparators.ctbn.tree_inference import Ints, Parents
from xdcc.linear.logistic import Floats


def all_labelsets(n_labels: int) -> Ints:
    """List all labelsets (2^n_labels, n_labels) in lexicographic order.

    Examples
    --------
    >>> all_labelsets(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return np.array(list(itertools.product((0, 1), repeat=n_labels)), dtype=np.int64)


def log_prob(log_cpd: Floats, parents: Parents, labelset: Ints, row: int) -> float:
    """Sum the log conditional probabilities of a labelset in one row (equation 4).

    Examples
    --------
    >>> log_cpd = np.log(np.full((2, 2, 2, 1), 0.5))
    >>> np.exp(log_prob(log_cpd, np.array([-1, 0]), np.array([1, 0]), row=0)).round(2)
    np.float64(0.25)
    """
    total = 0.0
    for label, parent in enumerate(parents):
        above = labelset[parent] if parent >= 0 else 0
        total += log_cpd[label, above, labelset[label], row]
    return total


def mixture_probabilities(
    log_cpds: list[Floats], trees: list[Parents], weights: Floats, row: int
) -> Floats:
    """Compute the probabilities of all labelsets in one row (equation 5), as in `all_labelsets`.

    Examples
    --------
    >>> log_cpd = np.log(np.full((2, 2, 2, 1), 0.5))
    >>> mixture_probabilities([log_cpd], [np.array([-1, 0])], np.ones(1), row=0).round(2)
    array([0.25, 0.25, 0.25, 0.25])
    """
    labelsets = all_labelsets(len(trees[0]))
    return np.array(
        [
            sum(
                weight * np.exp(log_prob(log_cpd, tree, labelset, row))
                for log_cpd, tree, weight in zip(log_cpds, trees, weights, strict=True)
            )
            for labelset in labelsets
        ]
    )


def best_tree(edges: Floats, roots: Floats) -> tuple[Parents, float]:
    """Try all trees, and return the parents of the best one and its sum of weights.

    ``edges[j, i]`` is the weight of the edge from j to i, ``roots[i]`` that of i as a root.

    Examples
    --------
    >>> best_tree(np.array([[0.0, -1.0], [-2.0, 0.0]]), roots=np.array([-3.0, -4.0]))
    (array([-1,  0]), -4.0)
    """
    scored = [(tree, _weight(tree, edges, roots)) for tree in _trees(len(roots))]
    return max(scored, key=lambda pair: pair[1])


def _trees(n_labels: int) -> Iterator[Parents]:
    for choice in itertools.product(range(-1, n_labels), repeat=n_labels):
        if all(_reaches_root(label, choice) for label in range(n_labels)):
            yield np.array(choice, dtype=np.intp)


def _reaches_root(label: int, parents: tuple[int, ...]) -> bool:
    for _ in parents:
        label = parents[label]
        if label < 0:
            return True
    return False


def _weight(tree: Parents, edges: Floats, roots: Floats) -> float:
    return float(sum(edges[j, i] if j >= 0 else roots[i] for i, j in enumerate(tree)))


def logistic_objective(
    X: Floats,
    coef: Floats,
    targets: Floats,
    weights: Floats,
    extra: Floats,
    l2: float,
    l2_intercept: float,
) -> float:
    """Compute the objective of one logistic regression, row by row (``logistic.py``).

    The last two of `coef` (n_features + 2,) are those of the additional feature and the intercept.

    Examples
    --------
    >>> X, one = np.array([[2.0]]), np.ones(1)
    >>> objective = logistic_objective(X, np.zeros(3), one, one, one, l2=1.0, l2_intercept=0.0)
    >>> round(objective, 3)  # log 2
    0.693
    """
    total = 0.5 * l2 * sum(c**2 for c in coef[:-1]) + 0.5 * l2_intercept * coef[-1] ** 2
    for x, target, weight, e in zip(X, targets, weights, extra, strict=True):
        z = x @ coef[:-2] + e * coef[-2] + coef[-1]
        total += weight * (np.logaddexp(0, z) - target * z)
    return float(total)
