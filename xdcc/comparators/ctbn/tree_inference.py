"""Exact inference in one tree of labels for all rows at once: max-sum, sum-product, sampling.

`parents` (n_labels,) are the parents of the labels, -1 for roots, of which there can be several.
`log_cpd` (n_labels, 2, 2, n_samples) are the conditional probabilities of the tree:
``log_cpd[i, v, y]`` is log P(Y_i = y | x, Y_parent = v) for each row; for a root, both values of v
have the same probabilities. Messages are passed up from the leaves and down from the roots, in log
space.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xdcc.linear.logistic import Floats

type Parents = NDArray[np.intp]
type Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Posterior:
    """Result of sum-product.

    `log_evidence` (n_samples,) is the log-probability of the known labels. ``pairs[i, v, y]`` is
    P(Y_i = y, Y_parent = v | x, known labels); for a root, v = 0.

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> sum_product(log_cpd, np.array([-1, 0])).marginals()
    array([[0.5, 0.5]])
    """

    log_evidence: Floats
    pairs: Floats

    def marginals(self) -> Floats:
        """Return P(Y_i = 1 | x, known labels), (n_samples, n_labels)."""
        return self.pairs[:, :, 1].sum(axis=1).T


def log_cpd_of(log_odds: Floats) -> Floats:
    """Convert log-odds of Y_i = 1 (n_labels, 2, n_samples) to log conditional probabilities.

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[3.0], [3.0]]]))  # odds of 3 to 1
    >>> np.exp(log_cpd[0, 0])
    array([[0.25],
           [0.75]])
    """
    return -np.logaddexp(0, np.stack((log_odds, -log_odds), axis=2))


def top_down(parents: Parents) -> list[int]:
    """Return the labels in an order in which parents come first; raise ValueError for a cycle.

    Examples
    --------
    >>> top_down(np.array([2, 0, -1]))
    [2, 0, 1]
    """
    children: list[list[int]] = [[] for _ in parents]
    order = []
    for label, parent in enumerate(parents.tolist()):
        if parent < 0:
            order.append(label)
        else:
            children[parent].append(label)
    for label in order:
        order += children[label]
    if len(order) < len(parents):
        raise ValueError(f"parents={parents.tolist()} contains a cycle.")
    return order


def labelset_log_prob(log_cpd: Floats, parents: Parents, Y: NDArray[np.integer]) -> Floats:
    """Compute log P(y|x) of complete labelsets (equation 4), (n_samples,).

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> np.exp(labelset_log_prob(log_cpd, np.array([-1, 0]), np.array([[1, 1]])))
    array([0.375])
    """
    rows = np.arange(len(Y))
    total = np.zeros(len(Y))
    for label, parent in enumerate(parents.tolist()):
        above = Y[:, parent] if parent >= 0 else 0
        total += log_cpd[label, above, Y[:, label], rows]
    return total


def sum_product(log_cpd: Floats, parents: Parents, known: Floats | None = None) -> Posterior:
    """Compute the posteriors of all labels and of all pairs of a label and its parent.

    `known` (n_samples, n_labels) are 0, 1, or NaN for labels that are not known.

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> posterior = sum_product(log_cpd, np.array([-1, 0]), known=np.array([[np.nan, 1.0]]))
    >>> posterior.marginals(), np.exp(posterior.log_evidence)
    (array([[0.75, 1.  ]]), array([0.5]))
    """
    order = top_down(parents)
    n_labels, n_samples = len(parents), log_cpd.shape[-1]
    # Log-likelihood of the known labels in the subtree, given the value of a label.
    below = np.zeros((n_labels, 2, n_samples))
    if known is not None:
        below[:, 0][known.T == 1] = -np.inf
        below[:, 1][known.T == 0] = -np.inf
    messages = np.empty((n_labels, 2, n_samples))
    log_evidence = np.zeros(n_samples)
    for label in reversed(order):
        joint = log_cpd[label] + below[label]
        messages[label] = np.logaddexp(joint[:, 0], joint[:, 1])
        parent = parents[label]
        if parent >= 0:
            below[parent] += messages[label]
        else:
            log_evidence += messages[label, 0]
    pairs = np.empty_like(log_cpd)
    for label in order:
        pairs[label] = np.exp(log_cpd[label] + below[label] - messages[label][:, None])
        parent = parents[label]
        if parent >= 0:
            pairs[label] *= pairs[parent].sum(axis=0)[:, None]
        else:
            pairs[label, 1] = 0
    return Posterior(log_evidence, pairs)


def max_sum(log_cpd: Floats, parents: Parents) -> Ints:
    """Find the most probable labelset of each row (equation 1 for one tree); ties go to 0.

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[2.0], [2.0]], [[1 / 3], [3.0]]]))
    >>> max_sum(log_cpd, np.array([-1, 0]))
    array([[1, 1]])
    """
    order = top_down(parents)
    n_labels, n_samples = len(parents), log_cpd.shape[-1]
    below = np.zeros((n_labels, 2, n_samples))
    best = np.empty((n_labels, 2, n_samples), dtype=np.int64)
    for label in reversed(order):
        joint = log_cpd[label] + below[label]
        best[label] = joint.argmax(axis=1)
        if parents[label] >= 0:
            below[parents[label]] += joint.max(axis=1)
    Y = np.empty((n_samples, n_labels), dtype=np.int64)
    rows = np.arange(n_samples)
    for label in order:
        above = Y[:, parents[label]] if parents[label] >= 0 else 0
        Y[:, label] = best[label, above, rows]
    return Y


def draw(
    log_cpd: Floats, parents: Parents, rows: NDArray[np.intp], uniform: Floats
) -> NDArray[np.int8]:
    """Sample labelsets (n_draws, n_labels) for `rows` (n_draws,), parents before children.

    `uniform` (n_draws, n_labels) are random numbers in [0, 1).

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> uniform = np.array([[0.4, 0.7], [0.6, 0.3]])
    >>> draw(log_cpd, np.array([-1, 0]), np.array([0, 0]), uniform)
    array([[1, 1],
           [0, 0]], dtype=int8)
    """
    Y = np.empty(uniform.shape, dtype=np.int8)
    for label in top_down(parents):
        above = Y[:, parents[label]] if parents[label] >= 0 else 0
        Y[:, label] = uniform[:, label] < np.exp(log_cpd[label, above, 1, rows])
    return Y
