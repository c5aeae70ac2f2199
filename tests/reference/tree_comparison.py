"""Compare boosted trees, which must be equal except for splits of equal gain.

`read_trees` reads the trees of an XGBoost booster with scalar or vector leaves. `compare_trees`
compares two trees from the root down, on their training rows. If the splits of a node send
different rows left, `tests.reference.boosting.candidate_gains` must give equal gains. The nodes
below such a tie have different rows and are not compared.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.reference.boosting import (
    SMALLEST_GAIN,
    ReferenceTree,
    Regularisation,
    SplitMethod,
    candidate_gains,
)

if TYPE_CHECKING:
    import xgboost

type Rows = NDArray[np.intp]

GAIN_TOLERANCE = 1e-6
"""Relative tolerance of equal gains."""
VALUE_TOLERANCE = 1e-5
"""Tolerance of leaf values and recorded gains."""


@dataclass(frozen=True)
class Comparison:
    """Numbers of equal nodes and ties that `compare_trees` found."""

    equal_nodes: int
    ties: int


def read_trees(booster: "xgboost.Booster") -> list[ReferenceTree]:
    """Read the trees of a booster with numerical splits; scalar leaves give one label.

    Examples
    --------
    >>> import xgboost
    >>> X, Y = np.array([[1.0], [2.0]]), np.array([[1], [0]])
    >>> booster = xgboost.train({"max_depth": 1}, xgboost.DMatrix(X, Y), num_boost_round=1)
    >>> [tree] = read_trees(booster)
    >>> tree.threshold[0]
    np.float32(2.0)
    """
    model = json.loads(bytes(booster.save_raw("json")))
    return [_read_tree(tree) for tree in model["learner"]["gradient_booster"]["model"]["trees"]]


def _read_tree(tree: dict[str, Any]) -> ReferenceTree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    is_leaf = left < 0
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    n_labels = int(tree["tree_param"]["size_leaf_vector"])
    leaf_value = np.zeros((len(left), n_labels))
    if "leaf_weights" in tree:  # the right child of a leaf is its row in leaf_weights
        vectors = np.reshape(tree["leaf_weights"], (-1, n_labels))
        leaf_value[is_leaf] = vectors[right[is_leaf]]
    else:
        leaf_value[is_leaf, 0] = conditions[is_leaf]
    return ReferenceTree(
        feature=np.where(is_leaf, -1, tree["split_indices"]),
        threshold=np.where(is_leaf, np.float32(0), conditions),
        default_left=np.array(tree["default_left"], dtype=bool) & ~is_leaf,
        left=np.where(is_leaf, -1, left),
        right=np.where(is_leaf, -1, right),
        gain=np.where(is_leaf, 0.0, tree["loss_changes"]),
        leaf_value=leaf_value,
    )


def compare_trees(
    ours: ReferenceTree,
    theirs: ReferenceTree,
    X: ArrayLike,
    grad: ArrayLike,
    hess: ArrayLike,
    method: SplitMethod,
    *,
    gamma: float = 0.0,
    **regularisation: Unpack[Regularisation],
) -> Comparison:
    """Check that two trees grown on the same rows are equal up to splits of equal gain.

    Parameters
    ----------
    ours, theirs : ReferenceTree
        Trees from `read_trees` or `tests.reference.boosting.grow_tree`.
    X : array-like, shape (n_rows, n_features)
        The training rows; NaN is a missing value.
    grad, hess : array-like, shape (n_rows, n_labels)
        The derivatives on which the trees were grown.
    method, gamma, **regularisation
        As for `tests.reference.boosting.grow_tree`.

    Returns
    -------
    Comparison
        Tests use it to check that something was compared.

    Raises
    ------
    AssertionError
        If leaf values differ by more than `VALUE_TOLERANCE`, if a recorded gain is wrong, or if the
        gains of two different splits differ by more than `GAIN_TOLERANCE`.

    Examples
    --------
    >>> from tests.reference.boosting import gradients, grow_tree
    >>> X, cuts = [[1.0], [2.0]], [[2.0]]
    >>> grad, hess = gradients([[1], [0]], [[0.0], [0.0]])
    >>> tree = grow_tree(X, grad, hess, cuts, "sumGain", max_depth=1, learning_rate=0.3)
    >>> compare_trees(tree, tree, X, grad, hess, "sumGain")
    Comparison(equal_nodes=3, ties=0)
    """
    X = np.asarray(X, dtype=np.float32)
    grad, hess = np.asarray(grad, dtype=np.float64), np.asarray(hess, dtype=np.float64)

    def gain_of(tree: ReferenceTree, node: int, rows: Rows) -> float:
        cuts: list[ArrayLike] = [()] * X.shape[1]
        cuts[tree.feature[node]] = tree.threshold[[node]]
        splits = candidate_gains(X[rows], grad[rows], hess[rows], cuts, method, **regularisation)
        gain = float(splits["gain"][splits["default_left"] == tree.default_left[node]].item())
        recorded = tree.gain[node]
        if not np.isclose(recorded, gain, rtol=VALUE_TOLERANCE, atol=VALUE_TOLERANCE):
            raise AssertionError(f"{_describe(tree, node)} on {len(rows)} rows gains {gain}")
        return gain

    equal_nodes = ties = 0
    pending = [(0, 0, np.arange(len(X)))]
    while pending:
        our, their, rows = pending.pop()
        difference = f"at our {_describe(ours, our)}, their {_describe(theirs, their)}"
        if ours.is_leaf(our) and theirs.is_leaf(their):
            value, expected = ours.leaf_value[our], theirs.leaf_value[their]
            if not np.allclose(value, expected, rtol=0, atol=VALUE_TOLERANCE):
                raise AssertionError(f"{difference}: leaf values {value}, {expected}")
        elif ours.is_leaf(our) or theirs.is_leaf(their):
            gain = gain_of(theirs, their, rows) if ours.is_leaf(our) else gain_of(ours, our, rows)
            least = max(SMALLEST_GAIN, gamma)
            if not np.isclose(gain, least, rtol=GAIN_TOLERANCE, atol=SMALLEST_GAIN):
                raise AssertionError(f"{difference}: the split gains {gain}, needed {least}")
            ties += 1
            continue
        else:
            gain, expected_gain = gain_of(ours, our, rows), gain_of(theirs, their, rows)
            left = ours.goes_left(our, X[rows])
            if not np.array_equal(left, theirs.goes_left(their, X[rows])):
                if not np.isclose(gain, expected_gain, rtol=GAIN_TOLERANCE, atol=0):
                    raise AssertionError(f"{difference}: gains {gain}, {expected_gain}")
                ties += 1
                continue
            pending += [
                (ours.left[our], theirs.left[their], rows[left]),
                (ours.right[our], theirs.right[their], rows[~left]),
            ]
        equal_nodes += 1
    return Comparison(equal_nodes, ties)


def _describe(tree: ReferenceTree, node: int) -> str:
    if tree.is_leaf(node):
        return f"leaf {node}"
    missing = "left" if tree.default_left[node] else "right"
    return (
        f"node {node} (f{tree.feature[node]} < {tree.threshold[node]}, missing {missing}, "
        f"gain {tree.gain[node]})"
    )
