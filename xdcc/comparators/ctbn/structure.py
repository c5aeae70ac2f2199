"""Structure of a tree: the maximum branching over held-out log-likelihoods.

Each label i gets a model without a parent and a model for each other label j (or each candidate
parent), trained on a part of the weighted rows. The weight of the edge from j to i is the weighted
log-likelihood of Y_i given X and Y_j on the held-out rows; the edge from a virtual root to i has
that of the model without a parent. The maximum spanning arborescence of the virtual root maximises
the score of the paper (equation 11). The children of the virtual root are the roots of the tree,
which can be several.
"""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from xdcc.base.progress import progress_bar
from xdcc.comparators.ctbn.learner import Learner
from xdcc.comparators.ctbn.tree_inference import Parents
from xdcc.linear.logistic import Floats, Matrix

_MOST_ENTRIES = 2**22
"""Maximum number of rows times models trained at a time."""

_MOST_MODELS = 2**13
"""Maximum number of models trained at a time."""


@dataclass(frozen=True)
class Search:
    """Options of the search for parents."""

    n_candidates: int | None = None  # parents tried for each label, None for all
    verbose: bool = False


def edge_weights(
    learner: Learner,
    train: tuple[Matrix, Floats, Floats],
    held_out: tuple[Matrix, Floats, Floats],
    search: Search,
) -> tuple[Floats, Floats]:
    """Compute the held-out log-likelihood of each label given each other label, and without parent.

    `train` and `held_out` are tuples of features, labels and weights of rows. Unknown labels (NaN)
    do not count; if the parent is unknown, the model without a parent predicts. Returns the weights
    W_ji (n_labels, n_labels) of the edges from j to i, -inf for pairs that were not tried, and the
    weights (n_labels,) of the models without parents.
    """
    X, Y, weight = train
    X_held, Y_held, weight_held = held_out
    n_labels = Y.shape[1]
    counts = weight[:, None] * ~np.isnan(Y)
    counts_held = weight_held[:, None] * ~np.isnan(Y_held)
    labels, labels_held = np.nan_to_num(Y), np.nan_to_num(Y_held)
    alone = learner.fit(X, labels, counts, np.zeros_like(Y), None)
    without = _log_likelihood(alone.log_odds(X_held)[:, 0].T, labels_held)
    roots = (counts_held * without).sum(axis=0)

    edges = np.full((n_labels, n_labels), -np.inf)
    pairs = np.argwhere(candidate_parents(Y, weight, search.n_candidates))
    most = min(max(1, _MOST_ENTRIES // len(Y)), _MOST_MODELS)
    progress = progress_bar(total=len(pairs), unit="pair", disable=not search.verbose)
    for first in range(0, len(pairs), most):
        above, below = pairs[first : first + most].T
        usable = counts[:, below] * ~np.isnan(Y[:, above])
        models = learner.fit(X, labels[:, below], usable, labels[:, above], alone.take(below))
        log_odds = models.log_odds(X_held)
        given = np.where(Y_held[:, above] == 1, log_odds[:, 1].T, log_odds[:, 0].T)
        inside = _log_likelihood(given, labels_held[:, below])
        inside = np.where(np.isnan(Y_held[:, above]), without[:, below], inside)
        edges[above, below] = (counts_held[:, below] * inside).sum(axis=0)
        progress.update(len(above))
    progress.close()
    return edges, roots


def candidate_parents(Y: Floats, weight: Floats, n_candidates: int | None) -> NDArray[np.bool_]:
    """Choose the labels to try as the parent of each label by their mutual information.

    Entry [j, i] of the result (n_labels, n_labels) says whether to try j as the parent of i.

    Examples
    --------
    >>> Y = np.array([[0.0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 0, 1]])
    >>> candidate_parents(Y, np.ones(4), n_candidates=1)
    array([[False,  True, False],
           [ True, False,  True],
           [False, False, False]])
    """
    n_labels = Y.shape[1]
    others = ~np.eye(n_labels, dtype=bool)
    if n_candidates is None or n_candidates >= n_labels - 1:
        return others
    information = np.where(others, _mutual_information(Y, weight), -np.inf)
    best = np.argsort(-information, axis=0, kind="stable")[:n_candidates]
    chosen = np.zeros_like(others)
    np.put_along_axis(chosen, best, True, axis=0)
    return chosen


def _mutual_information(Y: Floats, weight: Floats) -> Floats:
    """Compute the mutual information of all pairs in rows where both labels are known."""
    absent, present = np.equal(Y, 0).astype(float), np.equal(Y, 1).astype(float)
    joint = np.array([[(a.T * weight) @ b for b in (absent, present)] for a in (absent, present)])
    joint /= np.maximum(joint.sum(axis=(0, 1)), np.finfo(float).tiny)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    # Rounding errors must not break ties.
    return np.asarray(rel_entr(joint, independent).sum(axis=(0, 1)).round(12))


def maximum_branching(edges: Floats, roots: Floats) -> Parents:
    """Find the parents (n_labels,) of the tree with the largest sum of weights, -1 for roots.

    `edges` and `roots` are as returned by `edge_weights`.

    Examples
    --------
    >>> edges = np.array([[0.0, -1.0, -4.0], [-2.0, 0.0, -5.0], [-3.0, -3.0, 0.0]])
    >>> maximum_branching(edges, roots=np.array([-3.0, -4.0, -3.5]))
    array([-1,  0, -1])
    """
    n_labels = len(roots)
    graph = nx.DiGraph()
    for i in range(n_labels):
        graph.add_edge(-1, i, weight=roots[i])
        for j in range(n_labels):
            # Skip edges that are not better than the root's edge, which can replace them.
            if j != i and edges[j, i] > roots[i]:
                graph.add_edge(j, i, weight=edges[j, i])
    parents = np.full(n_labels, -1, dtype=np.intp)
    for j, i in nx.maximum_spanning_arborescence(graph).edges:
        parents[i] = j
    return parents


def _log_likelihood(log_odds: Floats, labels: Floats) -> Floats:
    return -np.logaddexp(0, np.where(labels == 1, -log_odds, log_odds))
