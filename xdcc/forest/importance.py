"""How much each feature lowers the impurity of each label in a forest."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.forest import ExtraTrees

_ENTRIES_AT_ONCE = 2**23
"""Numbers of leaves times labels that are added up at a time."""


def impurity_decrease(forest: ExtraTrees, n_features: int) -> NDArray[np.float64]:
    """Sum up how much the tests of each feature lower the Gini impurity of each label.

    The impurity of a node with the weight W, of which P are positive, is P (1 - P / W); rows in
    which a label is unknown are left out.

    Parameters
    ----------
    forest : ExtraTrees
        The trees.
    n_features : int
        Number of features.

    Returns
    -------
    float64 array of shape (n_labels, n_features)
        Not negative.
    """
    first, end = _leaves_below(forest)
    decrease = np.zeros((n_features, forest.labels.n_labels))
    leaf_starts = np.append(first[forest.start[:-1]], len(forest.leaf_weight))
    n_at_once = max(1, _ENTRIES_AT_ONCE // forest.labels.n_labels)
    tree = 0
    while tree < len(forest.start) - 1:
        last = int(np.searchsorted(leaf_starts, leaf_starts[tree] + n_at_once, side="right")) - 1
        last = max(last, tree + 1)
        nodes = np.arange(forest.start[tree], forest.start[last])
        impurity = _impurity(
            forest, int(leaf_starts[tree]), int(leaf_starts[last]), first[nodes], end[nodes]
        )
        tests = np.flatnonzero(forest.kind[nodes] != KINDS["leaf"])
        left = forest.child[nodes[tests]] - nodes[0]
        by_feature = sparse.csr_array(
            (np.ones(len(tests)), (forest.feature[nodes[tests]], np.arange(len(tests)))),
            shape=(n_features, len(tests)),
        )
        decrease += by_feature @ (impurity[tests] - impurity[left] - impurity[left + 1])
        tree = last
    return np.maximum(decrease.T, 0)


def _leaves_below(forest: ExtraTrees) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the first leaf below each node and the end: trees grow depth first."""
    is_leaf = forest.kind == KINDS["leaf"]
    first = np.where(is_leaf, forest.child, 0).astype(np.int64)
    end = first + is_leaf
    levels = []
    nodes = forest.start[:-1]
    while len(nodes):
        tests = nodes[~is_leaf[nodes]]
        levels.append(tests)
        left = forest.child[tests].astype(np.int64)
        nodes = np.concatenate((left, left + 1))
    for tests in reversed(levels):
        left = forest.child[tests]
        first[tests] = np.minimum(first[left], first[left + 1])
        end[tests] = np.maximum(end[left], end[left + 1])
    return first, end


def _impurity(
    forest: ExtraTrees,
    begin: int,
    stop: int,
    first: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Impurity of nodes above the leaves from `begin` to `stop`, [n_nodes, n_labels]."""
    labels = forest.labels
    n_rows, n_leaves = len(labels.positive_start) - 1, stop - begin
    weight = forest.leaf_weight[begin:stop, np.newaxis]
    rows = slice(forest.row_start[begin], forest.row_start[stop])
    of_rows = forest.row[rows]
    row_weight = labels.weight[of_rows] if len(labels.weight) else np.ones(len(of_rows))
    row_start = forest.row_start[begin : stop + 1] - forest.row_start[begin]
    leaves = sparse.csr_array((row_weight, of_rows, row_start), shape=(n_leaves, n_rows))
    part = slice(forest.label_start[begin], forest.label_start[stop])
    label_start = forest.label_start[begin : stop + 1] - forest.label_start[begin]
    shares = sparse.csr_array(
        (forest.share[part].astype(np.float64), forest.label[part], label_start),
        shape=(n_leaves, labels.n_labels),
    )
    positive = (leaves @ labels.positive_rows).toarray() + shares.toarray() * weight
    known = weight - (leaves @ labels.unknown_rows).toarray()
    sums = []
    for counted in (positive, known):
        total = np.concatenate((np.zeros((1, labels.n_labels)), np.cumsum(counted, axis=0)))
        sums.append(total[end - begin] - total[first - begin])
    positive, known = sums
    share = np.divide(positive, known, out=np.zeros_like(known), where=known > 0)
    return positive * (1 - share)
