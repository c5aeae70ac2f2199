"""Trees as ONNX has them: ``TreeEnsembleRegressor``, with a value for every label in each leaf.

XGBoost goes left where ``x < threshold``, extra trees where ``x <= threshold``, both in single
precision, as the operator compares (``BRANCH_LT`` and ``BRANCH_LEQ``). The first child is the true
branch; missing values follow it where ``nodes_missing_value_tracks_true`` is 1.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.forest import ExtraTrees
from xdcc.forest.leaves import LeafShares
from xdcc.serving.one_forest import is_leaf, leaf_values
from xdcc.serving.onnx_graph import Graph

type Ints = NDArray[np.int64]

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
    graph: Graph, X: str, nodes: Nodes, values: NDArray[np.floating] | sparse.csr_array, test: str
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
    test : {"BRANCH_LT", "BRANCH_LEQ"}
        When the first child is taken.

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
    modes = np.where(at_leaf, b"LEAF", test.encode())
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


def booster_nodes(
    trees: Sequence[dict[str, Any]],
) -> tuple[Nodes, NDArray[np.float32]]:
    """Read trees in XGBoost's JSON; return their nodes and the values of their leaves.

    Raises a TypeError that names a feature whose categories are tested: ONNX has no sets of
    categories.
    """
    columns: list[tuple[Any, ...]] = []
    values = []
    n_leaves = 0
    for number, tree in enumerate(trees):
        if any(tree["split_type"]):
            feature = tree["split_indices"][tree["split_type"].index(1)]
            raise TypeError(
                f"Column {feature} of X has categories: a test of ONNX's trees compares numbers."
            )
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        leaf = np.full(len(left), -1)
        at_leaf = is_leaf(tree)
        of_tree = leaf_values(tree)
        rows = right[at_leaf] if "leaf_weights" in tree else np.arange(len(of_tree))
        leaf[at_leaf] = n_leaves + rows
        n_leaves += len(of_tree)
        values.append(of_tree)
        kept = _reachable(left, right)
        columns.append(
            (
                np.full(len(kept), number),
                kept,
                np.where(at_leaf, 0, left)[kept],
                np.where(at_leaf, 0, right)[kept],
                np.where(at_leaf, 0, tree["split_indices"])[kept],
                np.where(at_leaf, 0, np.array(tree["split_conditions"], np.float32))[kept],
                np.array(tree["default_left"], bool)[kept],
                leaf[kept],
            )
        )
    joined = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Nodes(*joined), np.concatenate(values)


def _reachable(left: Ints, right: Ints) -> Ints:
    """Find the nodes that have not been pruned away, in ascending order."""
    found, level = [], np.zeros(1, np.int64)
    while len(level):
        found.append(level)
        tests = level[left[level] >= 0]
        level = np.concatenate((left[tests], right[tests]))
    return np.sort(np.concatenate(found))


def forest_nodes(forest: ExtraTrees) -> Nodes:
    """Read the nodes of extra trees; a leaf has the row of its number.

    Raises a TypeError that names a feature whose categories are tested.
    """
    categories = forest.kind == KINDS["categories"]
    if categories.any():
        raise TypeError(
            f"Column {forest.feature[categories][0]} of X has categories: a test of ONNX's trees "
            "compares numbers."
        )
    at_leaf = forest.kind == KINDS["leaf"]
    sizes = np.diff(forest.start)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    root = np.repeat(forest.start[:-1], sizes)
    child = np.where(at_leaf, 0, forest.child - root)
    return Nodes(
        tree,
        np.arange(len(tree)) - root,
        child,
        np.where(at_leaf, 0, child + 1),
        np.where(at_leaf, 0, forest.feature).astype(np.int64),
        np.where(at_leaf, np.float32(0), forest.threshold),
        ~at_leaf & (forest.missing == 0),
        np.where(at_leaf, forest.child, -1).astype(np.int64),
    )


def known_shares(shares: LeafShares) -> sparse.csr_array | None:
    """Compute the share of each leaf in which a label is known; None if all are, everywhere."""
    if not shares.unknown.nnz:
        return None
    dense = 1 - shares.unknown.toarray()
    return sparse.csr_array(np.where(dense > _ROUNDING, dense, 0))
