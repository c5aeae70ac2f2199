"""Exact inference in one tree of labels: max-sum, sum-product, sampling, for all rows at once.

A tree is an array `parents`: the parent of every label, -1 for a root (a forest is a tree, too).
Its conditional probabilities are an array `log_cpd` of shape (n_labels, 2, 2, n_samples):
``log_cpd[i, v, y]`` are the logarithms of P(Y_i = y | x, Y_parent = v), a vector over the rows; a
root's two halves are equal. Messages go up from the leaves and down from the roots, one label
after the other; everything is in log space.

Unknown labels are summed out: `known` labels are given as Y with NaN for the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xdcc.base.documentation import documented_with
from xdcc.linear.logistic import Floats

type Parents = NDArray[np.intp]
type Ints = NDArray[np.int64]

documented_tree = documented_with(
    {
        "log_cpd": """
            log_cpd : float array of shape (n_labels, 2, 2, n_samples)
                Conditional probabilities.
            """,
        "parents": """
            parents : int array of shape (n_labels,)
                The tree.
            """,
        "learner": """
            learner : Learner
                Trains the models.
            """,
        "rows": """
            X : float array or CSR matrix of shape (n, n_features)
                Features.
            """,
        "known_or_not": """
            Y : float array of shape (n, n_labels)
                0, 1, or NaN for unknown.
            """,
    }
)
"""Fills in what the documentation of trees of labels shares, as a decorator."""


@dataclass(frozen=True)
class Posterior:
    """What sum-product finds.

    Attributes
    ----------
    log_evidence : float array of shape (n_samples,)
        Log probability of the known labels.
    pairs : float array of shape (n_labels, 2, 2, n_samples)
        ``pairs[i, v, y]`` is P(Y_i = y, Y_parent = v | x, known labels); a root has v = 0.

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> sum_product(log_cpd, np.array([-1, 0])).marginals()
    array([[0.5, 0.5]])
    """

    log_evidence: Floats
    pairs: Floats

    def marginals(self) -> Floats:
        """P(Y_i = 1 | x, known labels), shape (n_samples, n_labels)."""
        return self.pairs[:, :, 1].sum(axis=1).T


def log_cpd_of(log_odds: Floats) -> Floats:
    """Logarithms of the conditional probabilities.

    Parameters
    ----------
    log_odds : float array of shape (n_labels, 2, n_samples)
        Of Y_i = 1, for both values of the parent.

    Returns
    -------
    float array of shape (n_labels, 2, 2, n_samples)

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[3.0], [3.0]]]))  # odds of 3 to 1, whatever the parent
    >>> np.exp(log_cpd[0, 0])
    array([[0.25],
           [0.75]])
    """
    return -np.logaddexp(0, np.stack((log_odds, -log_odds), axis=2))


def top_down(parents: Parents) -> list[int]:
    """Labels in an order in which parents come first.

    Raises
    ------
    ValueError
        If there is a cycle.

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
        raise ValueError(f"parents={parents.tolist()} have a cycle.")
    return order


@documented_tree
def labelset_log_prob(log_cpd: Floats, parents: Parents, Y: NDArray[np.integer]) -> Floats:
    """Log P(y|x) of whole labelsets (equation 4).

    Parameters
    ----------
    {log_cpd}
    {parents}
    Y : int array of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    float array of shape (n_samples,)

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


@documented_tree
def sum_product(log_cpd: Floats, parents: Parents, known: Floats | None = None) -> Posterior:
    """Posteriors of all labels and of all pairs of a label and its parent.

    Parameters
    ----------
    {log_cpd}
    {parents}
    known : float array of shape (n_samples, n_labels) or None
        0, 1, or NaN where a label is not known; None if none is.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> log_cpd = log_cpd_of(np.log([[[1.0], [1.0]], [[1 / 3], [3.0]]]))
    >>> posterior = sum_product(log_cpd, np.array([-1, 0]), known=np.array([[np.nan, 1.0]]))
    >>> posterior.marginals(), np.exp(posterior.log_evidence)
    (array([[0.75, 1.  ]]), array([0.5]))
    """
    order = top_down(parents)
    n_labels, n_samples = len(parents), log_cpd.shape[-1]
    # What a label's value is worth by what is known of it and below it.
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


@documented_tree
def max_sum(log_cpd: Floats, parents: Parents) -> Ints:
    """Most probable labelset of every row (equation 1 for one tree); ties go to 0.

    Parameters
    ----------
    {log_cpd}
    {parents}

    {returns_labels}

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


@documented_tree
def draw(
    log_cpd: Floats, parents: Parents, rows: NDArray[np.intp], uniform: Floats
) -> NDArray[np.int8]:
    """Draw labelsets, parents before children.

    Parameters
    ----------
    {log_cpd}
    {parents}
    rows : int array of shape (n_draws,)
        For which row each labelset is drawn.
    uniform : float array of shape (n_draws, n_labels)
        Random numbers, uniform in [0, 1).

    Returns
    -------
    int8 array of shape (n_draws, n_labels)

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
