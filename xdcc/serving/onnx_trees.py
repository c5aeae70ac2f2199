"""Trees as ONNX has them: ``TreeEnsembleRegressor``, with a value for every label in each leaf.

Flat trees go to their first child where ``x < threshold`` in single precision, as the operator
compares (``BRANCH_LT``). That child is the true branch; missing values follow it where
``nodes_missing_value_tracks_true`` is 1.

A test of a set is a chain of comparisons, each the false branch of the one before, whose true
branches are the two children in turn: they have several parents.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.prediction.layout import Layout, TreePart
from xdcc.serving.onnx_categories import CUTS
from xdcc.serving.onnx_graph import Graph

type Ints = NDArray[np.integer]

_ROUNDING = 1e-9
"""Leaves below this share of the weight are dropped."""


class Nodes(NamedTuple):
    """Nodes of trees, one tree after the other.

    Attributes
    ----------
    tree, node : int64 arrays of shape (n_nodes,)
        Tree of each node, and its number there; the root is 0.
    true_child, false_child : int64 arrays of shape (n_nodes,)
        Numbers of the children in the tree; 0 for a leaf.
    feature : int64 array of shape (n_nodes,)
    threshold : float32 array of shape (n_nodes,)
    missing_is_true : bool array of shape (n_nodes,)
    leaf : int64 array of shape (n_nodes,)
        Row of a leaf in the matrix of their values; -1 for a test.
    """

    tree: Ints
    node: Ints
    true_child: Ints
    false_child: Ints
    feature: Ints
    threshold: NDArray[np.float32]
    missing_is_true: NDArray[np.bool_]
    leaf: Ints


def add_trees(
    graph: Graph, X: str, nodes: Nodes, values: NDArray[np.floating] | sparse.csr_array
) -> str:
    """Add trees to a graph.

    Parameters
    ----------
    graph : Graph
        Where.
    X : str
        Features, float32.
    nodes : Nodes
        At least one.
    values : float array or CSR array of shape (n_leaves, n_targets)
        Values of the leaves.

    Returns
    -------
    str
        Sums over the trees, float32 of shape (n_samples, n_targets).
    """
    nodes = _with_tests(nodes)
    at_leaf = nodes.leaf >= 0
    of_leaves = sparse.csr_array(values)[nodes.leaf[at_leaf]]
    # A leaf has an entry at least: runtimes differ in what they make of one without.
    silent = np.flatnonzero(np.diff(of_leaves.indptr) == 0)
    entries = of_leaves.tocoo()
    of_leaf = np.flatnonzero(at_leaf)[np.append(entries.row, silent)]
    target = np.append(entries.col, np.zeros_like(silent))
    weight = np.append(entries.data, np.zeros(len(silent))).astype(np.float32)
    modes = np.where(at_leaf, b"LEAF", b"BRANCH_LT")
    return graph.add_ml(
        "TreeEnsembleRegressor",
        X,
        n_targets=values.shape[1],
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=nodes.tree,
        nodes_nodeids=nodes.node,
        nodes_modes=modes,
        nodes_featureids=nodes.feature,
        nodes_values=nodes.threshold,
        nodes_truenodeids=nodes.true_child,
        nodes_falsenodeids=nodes.false_child,
        nodes_missing_value_tracks_true=nodes.missing_is_true.astype(np.int64),
        target_treeids=nodes.tree[of_leaf],
        target_nodeids=nodes.node[of_leaf],
        target_ids=target,
        target_weights=weight,
    )


def _with_tests(nodes: Nodes) -> Nodes:
    """Put a test above each leaf that is a tree: runtimes differ in what they make of one."""
    alone = (nodes.node == 0) & (nodes.leaf >= 0)
    first = Nodes(
        nodes.tree,
        nodes.node,
        np.where(alone, 1, nodes.true_child),
        np.where(alone, 2, nodes.false_child),
        nodes.feature,
        nodes.threshold,
        nodes.missing_is_true,
        np.where(alone, -1, nodes.leaf),
    )
    at = np.repeat(np.flatnonzero(alone), 2)
    zero, number = np.zeros_like(at), np.tile([1, 2], len(at) // 2)
    leaves = (nodes.tree[at], number, zero, zero, zero, zero, zero, nodes.leaf[at])
    joined = zip(first, leaves, strict=True)
    return Nodes(*(np.insert(np.asarray(own), at + 1, more) for own, more in joined))


def read_trees(
    layout: Layout, part: TreePart
) -> tuple[Nodes, NDArray[np.float32] | sparse.csr_array]:
    """Read the trees of a part of a flat model.

    Parameters
    ----------
    layout : Layout
        The flat model, whose trees test numbers only.
    part : TreePart
        One of its `trees`.

    Returns
    -------
    nodes : Nodes
        Of the trees; those of a booster come after one that is a leaf, with its start.
    values : float32 array of shape (n_leaves, n_labels), or CSR array
        Values of the leaves; of a forest shares, `(n_leaves, 2 * n_labels)`.
    """
    root, later = layout.root[part.begin : part.end], layout.root[part.end :]
    first, end = (np.append(each[each >= 0], len(layout.nodes))[0] for each in (root, later))
    tests = layout.nodes[first:end]
    slot, children = tests[:, 1], tests[:, 2:].astype(np.int64)
    at_leaf = children < 0
    leaves: Ints = ~np.concatenate((children[at_leaf], root[root < 0].astype(np.int64)))
    numbers = slice(int(leaves.min()), int(leaves.max()) + 1)
    values: NDArray[np.float32] | sparse.csr_array
    if part.is_forest:
        shape = len(layout.leaf_start) - 1, 2 * layout.n_labels
        shares = (layout.leaf_share, layout.leaf_label, layout.leaf_start)
        values = sparse.csr_array(shares, shape)[numbers]
    else:
        rows = layout.leaf_value.reshape(-1, layout.width)[numbers]
        values = np.vstack((rows, part.start))[:, : layout.n_labels]
        root = np.append(~numbers.stop, root)

    alone, tested = np.flatnonzero(root < 0), np.flatnonzero(root >= 0)
    n_tests = np.diff(np.append(root[tested], end))
    of_test = np.repeat(np.arange(len(tested)), n_tests)
    begin = (root[tested] - first)[of_test, np.newaxis]
    # In a tree, leaves come after the tests. There is one more of them, so that `begin` plus the
    # number of trees before it are in other trees.
    place = np.cumsum(at_leaf).reshape(at_leaf.shape) - 1 - begin - of_test[:, np.newaxis]
    below = np.where(at_leaf, n_tests[of_test, np.newaxis] + place, children - first - begin)
    tree = tested[of_test]
    zero = np.zeros(len(alone) + int(at_leaf.sum()), np.int64)
    leaf: Ints = ~np.append(root[alone].astype(np.int64), children[at_leaf]) - numbers.start
    joined = Nodes(
        np.concatenate((tree, alone, np.repeat(tree, 2)[at_leaf.ravel()])),
        np.concatenate((np.arange(len(slot)) - begin[:, 0], 0 * alone, below[at_leaf])),
        np.append(below[:, 0], zero),
        np.append(below[:, 1], zero),
        np.append(layout.slot_feature[slot].astype(np.int64), zero),
        np.append(tests[:, 0].view(np.float32), zero.astype(np.float32)),
        np.append(layout.slot_missing[slot] < 0, zero > 0),
        np.append(np.full(len(slot), -1), leaf),
    )
    order = np.lexsort((joined.node, joined.tree))
    nodes = _with_chains(Nodes._make(column[order] for column in joined), layout.n_features)
    order = np.lexsort((nodes.node, nodes.tree))
    return Nodes._make(column[order] for column in nodes), values


def _with_chains(nodes: Nodes, n_features: int) -> Nodes:
    """Add the comparisons that follow the first one of a set; sets come after `n_features`."""
    of_sets = np.flatnonzero(nodes.feature >= n_features)
    cuts = np.zeros((len(CUTS), max(map(len, CUTS))), np.float32)
    for row, own in zip(cuts, CUTS, strict=True):
        row[: len(own)] = own
    kind = (nodes.threshold[of_sets, np.newaxis] == cuts[:, 0]).argmax(axis=1)
    n_more = np.array([len(own) - 1 for own in CUTS])[kind]
    first = np.repeat(of_sets, n_more)
    step = 1 + np.arange(len(first)) - np.repeat(np.cumsum(n_more) - n_more, n_more)
    tree = nodes.tree[first]
    node = np.bincount(nodes.tree)[tree] + np.arange(len(first)) - np.searchsorted(tree, tree)
    is_last = step == np.repeat(n_more, n_more)
    below, beyond = nodes.true_child[first], nodes.false_child[first]
    false_child = nodes.false_child.copy()
    false_child[first[step == 1]] = node[step == 1]
    more = (
        tree,
        node,
        np.where(step % 2, beyond, below),
        np.where(is_last, below, node + 1),  # the number of cuts is even
        nodes.feature[first],
        cuts[np.repeat(kind, n_more), step],
        np.zeros(len(first), bool),
        np.full(len(first), -1),
    )
    joined = zip(nodes._replace(false_child=false_child), more, strict=True)
    return Nodes(*(np.concatenate(pair) for pair in joined))


def known_shares(unknown: sparse.csr_array) -> sparse.csr_array | None:
    """Compute the share of each leaf in which a label is known; None if all are, everywhere."""
    if not unknown.nnz:
        return None
    dense = 1 - unknown.toarray()
    return sparse.csr_array(np.where(dense > _ROUNDING, dense, 0))
