"""``BoosterModel``: what a trained booster says about itself, as arrays.

XGBoost writes a model as JSON, trees with vectors in their leaves included. From it
:func:`read_model` takes the splits with their gains and covers, the leaves' values, and where
boosting started. Thresholds and categories are left out: rows are sent through trees by XGBoost.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.special import logit


@dataclass(frozen=True)
class Tree:
    """A tree; node 0 is the root.

    Attributes
    ----------
    left, right : int arrays of shape (n_nodes,)
        Children, -1 in leaves.
    feature : int array of shape (n_nodes,)
        Column that a node splits on, -1 in leaves.
    gain : float array of shape (n_nodes,)
        Gain of the split by the split method of the booster, 0 in leaves.
    cover : float array of shape (n_nodes,)
        The node's Hessian, averaged over the labels.
    leaf_value : float array of shape (n_nodes, n_outputs)
        What a leaf adds to the margins, 0 in the other nodes.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    feature: NDArray[np.intp]
    gain: NDArray[np.float64]
    cover: NDArray[np.float64]
    leaf_value: NDArray[np.float64]

    @property
    def splits(self) -> NDArray[np.intp]:
        """Nodes that have children."""
        return np.flatnonzero(self.left >= 0)


@dataclass(frozen=True)
class BoosterModel:
    """A booster of the objective ``multilabel:logistic``.

    Attributes
    ----------
    iterations : list of lists of Tree
        Trees of each boosting iteration; more than one with `num_parallel_tree`.
    base_margin : float array of shape (n_outputs,)
        Margins before the first tree.
    label_weight : float array of shape (n_outputs,)
        Weight of each label's loss.
    scale_pos_weight : float array of shape (n_outputs,)
        Weight of a positive label against a negative one.
    masks_labels : bool
        Whether a label had no part in the training of rows where it was a feature (separate and
        conquer).
    """

    iterations: list[list[Tree]]
    base_margin: NDArray[np.float64]
    label_weight: NDArray[np.float64]
    scale_pos_weight: NDArray[np.float64]
    masks_labels: bool


def read_model(booster: xgb.Booster) -> BoosterModel:
    """Read a booster.

    Parameters
    ----------
    booster : xgboost.Booster
        A booster of a chain.

    Returns
    -------
    BoosterModel
        Its trees and settings.
    """
    learner = json.loads(booster.save_raw("json"))["learner"]
    model = learner["gradient_booster"]["model"]
    trees = [_read_tree(tree) for tree in model["trees"]]
    bounds = model["iteration_indptr"]
    objective = learner["objective"]
    base_margin = logit(json.loads(learner["learner_model_param"]["base_score"]))
    weights = objective.get("label_weight_param", {})
    label_weight, of_positive = (
        np.array(json.loads(weights.get(name, "[]")) or np.ones(len(base_margin)))
        for name in ("label_weight", "scale_pos_weight_per_label")
    )
    return BoosterModel(
        iterations=[trees[a:b] for a, b in pairwise(bounds)],
        base_margin=base_margin,
        label_weight=label_weight,
        scale_pos_weight=float(objective["reg_loss_param"]["scale_pos_weight"]) * of_positive,
        masks_labels=int(objective["label_feature_param"]["label_feature_begin"]) >= 0,
    )


def _read_tree(tree: dict[str, Any]) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    is_leaf = left < 0
    n_outputs = int(tree["tree_param"]["size_leaf_vector"])
    leaf_value = np.zeros((len(left), n_outputs))
    if "leaf_weights" in tree:  # vectors: a leaf's right child is its row in leaf_weights
        vectors = np.reshape(tree["leaf_weights"], (-1, n_outputs))
        leaf_value[is_leaf] = vectors[right[is_leaf]]
    else:  # one label: the value is where a split has its threshold
        leaf_value[is_leaf, 0] = np.array(tree["split_conditions"])[is_leaf]
    return Tree(
        left=np.where(is_leaf, -1, left),
        right=np.where(is_leaf, -1, right),
        feature=np.where(is_leaf, -1, tree["split_indices"]),
        gain=np.where(is_leaf, 0.0, tree["loss_changes"]),
        cover=np.array(tree["sum_hessian"], dtype=np.float64),
        leaf_value=leaf_value,
    )
