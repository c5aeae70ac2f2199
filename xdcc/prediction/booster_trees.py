"""The trees of a booster as arrays, read from its UBJSON.

XGBoost writes the numbers of a tree as arrays of bytes, which NumPy takes as they are: that is ten
times as fast as its text. Only models that XGBoost itself has in memory are read here; files are
read by :mod:`xdcc.serving`, which does not trust them.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.libraries import xgb
from xdcc.prediction._ubjson import read_ubjson

_NAMES = (
    *("learner", "gradient_booster", "model", "trees", "tree_info"),
    *("left_children", "right_children", "split_conditions", "split_indices", "default_left"),
    *("leaf_weights", "sum_hessian", "categories", "categories_nodes", "categories_sizes"),
)
"""Names of the entries of a model file that are read."""


class BoosterTrees(NamedTuple):
    """The nodes of all trees, one tree after the other.

    Attributes
    ----------
    root : int array of shape (n_trees,)
        First node of each tree.
    left, right : int arrays of shape (n_nodes,)
        Children; below 0 on the left of a leaf.
    condition : float32 array of shape (n_nodes,)
        Finite. Values that are not less go to the right.
    feature : int32 array of shape (n_nodes,)
    default_left : bool array of shape (n_nodes,)
        Whether missing values go to the left.
    cover : float64 array of shape (n_nodes,)
        Sum of the Hessians.
    leaf : int array of shape (n_nodes,)
        The row of a leaf in `leaf_value`; 0 for tests.
    leaf_value : float32 array of shape (n_leaves, n_labels)
    category_node : int array of shape (n_sets,)
        The nodes that test for categories.
    category_count : int array of shape (n_sets,)
        How many categories go to the right in each.
    category : int array of shape (sum of category_count,)
        These categories, node by node.
    """

    root: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    condition: NDArray[np.float32]
    feature: NDArray[np.int32]
    default_left: NDArray[np.bool_]
    cover: NDArray[np.float64]
    leaf: NDArray[np.intp]
    leaf_value: NDArray[np.float32]
    category_node: NDArray[np.intp]
    category_count: NDArray[np.intp]
    category: NDArray[np.intp]


def read_trees(booster: "xgb.Booster", n_labels: int) -> BoosterTrees:
    """Read the trees of a booster.

    Parameters
    ----------
    booster : xgboost.Booster
        With leaves that have a value for each label, or trees that each have one label.
    n_labels : int
        Number of labels.

    Returns
    -------
    BoosterTrees
    """
    read = read_ubjson(booster.save_raw("ubj"), _NAMES)
    model = read["learner"]["gradient_booster"]["model"]
    trees = model["trees"]
    size = np.array([len(tree["left_children"]) for tree in trees])
    root = np.cumsum(size) - size
    of_node = np.repeat(root, size)
    left, right = _all(trees, "left_children", np.intp), _all(trees, "right_children", np.intp)
    # XGBoost writes -inf where all values go to the right, and missing ones to the left.
    condition = np.maximum(_all(trees, "split_conditions", np.float32), np.finfo(np.float32).min)
    is_leaf = left < 0
    if "leaf_weights" in trees[0]:  # the right child of a leaf is its row there
        values = _all(trees, "leaf_weights", np.float32).reshape(-1, n_labels)
        n_rows = np.array([len(tree["leaf_weights"]) // n_labels for tree in trees])
        leaf = np.where(is_leaf, right + np.repeat(np.cumsum(n_rows) - n_rows, size), 0)
    else:  # a leaf's condition is its value
        leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, 0)
        group = np.repeat(np.asarray(model["tree_info"], np.intp), size)[is_leaf]
        values = np.zeros((len(group), n_labels), np.float32)
        values[np.arange(len(group)), group] = condition[is_leaf]
    n_sets = np.array([len(tree["categories_nodes"]) for tree in trees])
    return BoosterTrees(
        root=root,
        left=np.where(is_leaf, -1, left + of_node),
        right=np.where(is_leaf, -1, right + of_node),
        condition=condition,
        feature=_all(trees, "split_indices", np.int32),
        default_left=_all(trees, "default_left", np.bool_),
        cover=_all(trees, "sum_hessian", np.float64),
        leaf=leaf,
        leaf_value=values,
        category_node=_all(trees, "categories_nodes", np.intp) + np.repeat(root, n_sets),
        category_count=_all(trees, "categories_sizes", np.intp),
        category=_all(trees, "categories", np.intp),
    )


def has_weighted_trees(booster: "xgb.Booster") -> bool:
    """Return whether trees have weights, as those of training with dropout (``rate_drop``)."""
    names = ("learner", "gradient_booster", "model", "weight_drop")
    model = read_ubjson(booster.save_raw("ubj"), names)["learner"]["gradient_booster"]["model"]
    return isinstance(model, dict) and any(weight != 1 for weight in model.get("weight_drop", ()))


def start_margins(booster: "xgb.Booster", n_features: int) -> NDArray[np.float32]:
    """Ask XGBoost for the margins of a booster without trees: of one round whose leaves are zero.

    NumPy's logarithm is rounded in another way than XGBoost's.
    """
    model = json.loads(booster[:1].save_raw("json"))
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        for name in tree.keys() & {"leaf_weights", "split_conditions"}:
            tree[name] = [0.0] * len(tree[name])
    empty = xgb.Booster()
    empty.load_model(bytearray(json.dumps(model).encode()))
    row = np.zeros((1, n_features), np.float32)
    found = empty.inplace_predict(row, predict_type="margin", validate_features=False)
    return np.asarray(found, np.float32).reshape(-1)


def _all(trees: list[dict[str, Any]], name: str, dtype: Any) -> NDArray[Any]:
    """Concatenate an array of all trees."""
    return np.concatenate([tree[name] for tree in trees]).astype(dtype)
