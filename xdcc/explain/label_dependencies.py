"""``label_dependencies``: which propagated labels a chain uses to predict which labels.

A split of a multi-label tree is for all labels, and the model stores a single gain. This module
computes the gain of each label on given data. With the sums G and H of the gradients and Hessians
of label j in a node,

    S_j(node) = soft(G_j, alpha)² / (H_j + lambda)
    gain_j(split) = S_j(left child) + S_j(right child) - S_j(parent)

is the gain of the split for label j: the j-th term of the split method sumGain (Table 1 of the XDCC
paper), for any split method of the booster. Derivatives are evaluated at the margins before the
tree. As in training, they are 0 for unknown labels, for rows after their end, and, with separate
and conquer, for propagated labels.

To find out how labels depend on each other, take an order-free chain, which learns from true
labels. The label features of a dynamic chain are its own predictions, functions of X, so its gains
say which features its trees use, and splits count that only separate decided labels from open ones.

On its training data, the gains of an in-sample chain with sumGain, summed over labels, equal the
stored gains, if the chain uses all rows and has no end label.

:func:`read_model` reads a booster from XGBoost's JSON: the splits with their gains and covers, the
leaf vectors, and the base margin. It ignores thresholds and categories, as XGBoost itself assigns
rows to leaves.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit

from xdcc.base.threads import n_threads
from xdcc.base.weights import check_weight
from xdcc.explain.walks import ChainWalk, Model, chain_walk_of, check_truth, round_matrix


@dataclass(frozen=True)
class Tree:
    """A tree as arrays over its nodes; node 0 is the root."""

    left: NDArray[np.intp]  # -1 in leaves
    right: NDArray[np.intp]  # -1 in leaves
    feature: NDArray[np.intp]  # column of the split, -1 in leaves
    gain: NDArray[np.float64]  # by the split method of the booster, 0 in leaves
    cover: NDArray[np.float64]  # mean Hessian over the labels
    leaf_value: NDArray[np.float64]  # (n_nodes, n_outputs), 0 in inner nodes

    @property
    def splits(self) -> NDArray[np.intp]:
        """Indices of inner nodes."""
        return np.flatnonzero(self.left >= 0)


@dataclass(frozen=True)
class BoosterModel:
    """Trees and settings of a booster with the objective ``multilabel:logistic``."""

    iterations: list[list[Tree]]  # by boosting round; several trees with `num_parallel_tree`
    base_margin: NDArray[np.float64]  # (n_outputs,)
    label_weight: NDArray[np.float64]  # (n_outputs,)
    scale_pos_weight: NDArray[np.float64]  # (n_outputs,)
    masks_labels: bool  # whether labels do not count where they are features


def read_model(booster: xgb.Booster) -> BoosterModel:
    """Read the trees and settings of a booster of a chain."""
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
    if "leaf_weights" in tree:  # the right child of a leaf is its row in leaf_weights
        vectors = np.reshape(tree["leaf_weights"], (-1, n_outputs))
        leaf_value[is_leaf] = vectors[right[is_leaf]]
    else:  # one label: the split condition of a leaf is its value
        leaf_value[is_leaf, 0] = np.array(tree["split_conditions"])[is_leaf]
    return Tree(
        left=np.where(is_leaf, -1, left),
        right=np.where(is_leaf, -1, right),
        feature=np.where(is_leaf, -1, tree["split_indices"]),
        gain=np.where(is_leaf, 0.0, tree["loss_changes"]),
        cover=np.array(tree["sum_hessian"], dtype=np.float64),
        leaf_value=leaf_value,
    )


type _Array = NDArray[np.float64]


def label_dependencies(chain: Model, X: Any, Y: Any, sample_weight: Any = None) -> pd.DataFrame:
    """Measure how much each propagated label helps to predict each label.

    The gain of a propagated label (source) for a label (target) in a round is the sum of the gains
    for the target over all splits on the source, in all boosters of the round. The module
    documentation has the formula. Limits on leaves (`max_delta_step`, `min_child_weight`) are
    ignored. A gain can be negative if the split helps other labels, since lambda counts for both
    children but only once for the parent.

    Parameters
    ----------
    chain : DynamicChainClassifier, OrderFreeChainClassifier or MultiLabelClassifier
        A fitted chain, or a `MultiLabelClassifier` whose `rule_` is "joint_labelset", which uses an
        order-free chain. `reg_lambda` and `reg_alpha` are those of the chain.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows to measure on: the training rows of an in-sample chain, otherwise rows that were not
        used for training. A chain with ``propagate="cross_val"`` learns from out-of-fold
        predictions. On its training rows, its own predictions are so confident that labels seem to
        be of no help. The same applies to an order-free chain.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        True labels: 0, 1, or NaN for unknown.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, as in `fit`.

    Returns
    -------
    DataFrame
        A row for each round, source and target with a nonzero gain, with the columns `round` (from
        1), `source` and `target` (names, as categories in the order of the labels), `gain` and
        `share`. The share is relative to the gains of all splits of the round for the target,
        including splits on features of X; it is NaN if their sum is not positive. An end label is
        neither source nor target. In an order-free chain, a round is a step, and features are
        margins.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    TypeError
        If `chain` has no label features, as a single booster.
    ValueError
        If X, Y or the weights are not as described or inconsistent, or two labels have the same
        name.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> dependencies = label_dependencies(chain.fit(data.X, data.Y), data.X, data.Y)
    >>> dependencies.columns.tolist()
    ['round', 'source', 'target', 'gain', 'share']
    >>> free = xdcc.chain.OrderFreeChainClassifier(n_estimators=20, cv=2, random_state=0)
    >>> Y = data.Y[:, [0, 0]]  # a label and its copy
    >>> in_steps = label_dependencies(free.fit(data.X, Y), data.X, Y)
    >>> in_steps["round"].unique().tolist()  # no label is known in the first step
    [2]
    """
    walk = chain_walk_of(chain)
    truth = check_truth(chain, X, Y)[:, walk.labels]
    weight = check_weight(sample_weight, len(truth))
    names = _unique_names(walk)
    frames = []
    for round_ in walk.rounds(X):
        gains = np.zeros((len(walk.feature_names) + len(names), len(names)))
        for booster in round_.boosters:
            model = read_model(booster)
            silent = np.isnan(truth) | round_.ended[:, np.newaxis]
            if model.masks_labels or walk.known_are_silent:
                silent |= ~round_.open
            factor = _gradient_factor(model, silent, truth, weight)
            matrix = round_matrix(round_, n_threads(chain.n_jobs))
            start = np.zeros(truth.shape) if round_.start is None else round_.start
            gains += _gains(
                booster, model, matrix, truth, factor, start, gains.shape, *walk.penalties
            )
        frames.append(_table(round_.number, gains, names))
    return pd.concat(frames, ignore_index=True)


def _unique_names(walk: ChainWalk) -> list[str]:
    names = walk.propagated_names
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{names.count(name)} labels have the name {name!r}: the table requires unique "
                "label names."
            )
    return names


def _gradient_factor(
    model: BoosterModel, silent: NDArray[np.bool_], truth: NDArray[np.float32], weight: Any
) -> _Array:
    """Compute the weights of gradients and Hessians, (n_samples, n_labels)."""
    n_labels = truth.shape[1]  # without an end label, which comes last
    factor = model.label_weight[:n_labels] * np.where(
        truth == 1, model.scale_pos_weight[:n_labels], 1.0
    )
    if weight is not None:
        factor *= weight[:, np.newaxis]
    return np.where(silent, 0.0, factor)


def _gains(
    booster: xgb.Booster,
    model: BoosterModel,
    matrix: xgb.DMatrix,
    truth: NDArray[np.float32],
    factor: _Array,
    start: NDArray[np.floating],
    shape: tuple[int, int],
    reg_lambda: float,
    reg_alpha: float,
) -> _Array:
    """Sum the gains of splits by column and label."""
    n_samples, n_labels = truth.shape
    truth = np.nan_to_num(truth)
    leaves = booster.predict(matrix, pred_leaf=True, validate_features=False)
    leaf_of_tree = iter(leaves.reshape(n_samples, -1).T.astype(np.intp))
    margin = model.base_margin[:n_labels] + start
    gains = np.zeros(shape)
    for trees in model.iterations:
        probability = expit(margin)
        grad = (probability - truth) * factor
        hess = probability * (1 - probability) * factor
        for tree in trees:
            leaf = next(leaf_of_tree)
            G, H = _node_sums(tree, leaf, grad), _node_sums(tree, leaf, hess)
            soft_G = np.maximum(np.abs(G) - reg_alpha, 0)
            # If the Hessian is 0, so is the gradient.
            score = np.divide(soft_G**2, H + reg_lambda, out=np.zeros_like(G), where=H > 0)
            at = tree.splits
            of_splits = score[tree.left[at]] + score[tree.right[at]] - score[at]
            np.add.at(gains, tree.feature[at], of_splits)
            margin += tree.leaf_value[leaf, :n_labels]
    return gains


def _node_sums(tree: Tree, leaf: NDArray[np.intp], values: _Array) -> _Array:
    """Sum values (n_samples, n_labels) over the rows of each node, given the leaf of each row."""
    n_nodes, n_samples = len(tree.left), len(leaf)
    member = sparse.csr_matrix(
        (np.ones(n_samples), (leaf, np.arange(n_samples))), shape=(n_nodes, n_samples)
    )
    sums = member @ values
    order = [0]  # parents before their children
    for node in order:
        if tree.left[node] >= 0:
            order += [tree.left[node], tree.right[node]]
    for node in reversed(order):
        if tree.left[node] >= 0:
            sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def _table(number: int, gains: _Array, names: list[str]) -> pd.DataFrame:
    of_labels = gains[len(gains) - len(names) :]
    total = gains.sum(axis=0)
    source, target = np.nonzero(of_labels)
    gain = of_labels[source, target]
    of_all = np.where(total > 0, total, np.nan)
    return pd.DataFrame(
        {
            "round": np.full(len(gain), number),
            "source": pd.Categorical.from_codes(source, categories=names),
            "target": pd.Categorical.from_codes(target, categories=names),
            "gain": gain,
            "share": gain / of_all[target],
        }
    )
