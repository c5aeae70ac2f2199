"""Which label depends on which: the maximum branching over held-out log-likelihoods.

Every label i gets a parentless model and one given each other label j (or each of those that tell
most about it), on a training part of the
weighted rows. The edge from j to i weighs as much as the held-out part's weighted log-likelihood
of Y_i given X and Y_j; a virtual root's edge to i is the parentless model's. The maximum spanning
arborescence from the virtual root is the tree that maximises the paper's score (equation 11);
labels right below the virtual root are the tree's roots, of which there may be several.
"""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from tqdm import tqdm

from xdcc.ctbn.learner import Learner
from xdcc.ctbn.tree_inference import Parents, documented_tree
from xdcc.linear.logistic import Floats, Matrix

_MOST_ENTRIES = 2**22
"""Rows times models that are trained at a time."""

_MOST_MODELS = 2**13
"""Models that are trained at a time, however few the rows are."""


@dataclass(frozen=True)
class Search:
    """How parents are searched for.

    Attributes
    ----------
    n_candidates : int or None
        Number of labels that are tried as the parent of each label, None for all others.
    verbose : bool
        Whether a progress bar says how many pairs of labels are done, and the time left.
    """

    n_candidates: int | None = None
    verbose: bool = False


@documented_tree
def edge_weights(
    learner: Learner,
    train: tuple[Matrix, Floats, Floats],
    held_out: tuple[Matrix, Floats, Floats],
    search: Search,
) -> tuple[Floats, Floats]:
    """Held-out log-likelihood of every label given every other one, and given none.

    Parameters
    ----------
    {learner}
    train, held_out : tuples of X, Y and weights
        Features (n, n_features), labels (n, n_labels) with NaN for unknown, and weights (n,) of
        the rows. A label that is unknown does not count; where a parent is unknown, the
        parentless model answers.
    search : Search
        Which pairs are tried.

    Returns
    -------
    edges : float array of shape (n_labels, n_labels)
        Entry [j, i] is the weight W_ji of the edge from j to i, -inf if it was not tried.
    roots : float array of shape (n_labels,)
        The weights of the parentless models.
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
    progress = tqdm(total=len(pairs), unit="pair", disable=not search.verbose)
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
    """Choose the labels that are tried as the parent of each label.

    Parameters
    ----------
    Y : float array of shape (n, n_labels)
        0, 1, or NaN for unknown.
    weight : float array of shape (n,)
        Of the rows.
    n_candidates : int or None
        So many of each label's others, those whose mutual information with it is highest; None
        for all.

    Returns
    -------
    bool array of shape (n_labels, n_labels)
        Entry [j, i] says whether j is tried as the parent of i.

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
    """Mutual information of all pairs in rows where both are known, (n_labels, n_labels)."""
    absent, present = np.equal(Y, 0).astype(float), np.equal(Y, 1).astype(float)
    joint = np.array([[(a.T * weight) @ b for b in (absent, present)] for a in (absent, present)])
    joint /= np.maximum(joint.sum(axis=(0, 1)), np.finfo(float).tiny)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    # Rounding must not break ties that exact sums would have.
    return np.asarray(rel_entr(joint, independent).sum(axis=(0, 1)).round(12))


def maximum_branching(edges: Floats, roots: Floats) -> Parents:
    """Find the tree with the largest sum of weights.

    Parameters
    ----------
    edges : float array of shape (n_labels, n_labels)
        Entry [j, i] is the weight of the edge from j to i; the diagonal is not looked at.
    roots : float array of shape (n_labels,)
        Weight of every label without a parent.

    Returns
    -------
    int array of shape (n_labels,)
        Parent of every label, -1 for none.

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
            # An edge that is no better than none can be left out: were it in a best tree, the
            # root's edge could stand in its place.
            if j != i and edges[j, i] > roots[i]:
                graph.add_edge(j, i, weight=edges[j, i])
    parents = np.full(n_labels, -1, dtype=np.intp)
    for j, i in nx.maximum_spanning_arborescence(graph).edges:
        parents[i] = j
    return parents


def _log_likelihood(log_odds: Floats, labels: Floats) -> Floats:
    return -np.logaddexp(0, np.where(labels == 1, -log_odds, log_odds))
