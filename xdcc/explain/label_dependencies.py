"""``label_dependencies``: which propagated labels a chain uses to predict which labels.

A split of a multi-label tree serves all labels at once, and the model holds one gain for it.
Here that gain is told apart by label, on data that the caller gives: rows are sent through the
trees, and with the sums G and H of gradients and Hessians of label j in a node,

    S_j(node) = soft(G_j, alpha)² / (H_j + lambda)
    gain_j(split) = S_j(left child) + S_j(right child) - S_j(parent)

is what the split gains for label j: the j-th term of the split method sumGain (Table 1 of the
XDCC paper), whatever split method chose the split. Derivatives are taken where the margins are
when the tree is grown: at the start plus the trees before. As in training, they are 0 for
unknown labels, for rows at their end, and with separate and conquer for propagated labels.

On its training data an in-sample chain of sumGain gets back, summed over the labels, exactly the
gains that the booster wrote down, if it saw all rows and has no end label.

What a booster says about itself, :func:`read_model` takes from the JSON that XGBoost writes, trees
with vectors in their leaves included: the splits with their gains and covers, the leaves' values,
and where boosting started. Thresholds and categories are left out: rows are sent through trees by
XGBoost.
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

from xdcc.base.checks import check_weight
from xdcc.base.threads import n_threads
from xdcc.explain.walks import ChainWalk, Model, chain_walk_of, check_truth, round_matrix


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


type _Array = NDArray[np.float64]


def label_dependencies(chain: Model, X: Any, Y: Any, sample_weight: Any = None) -> pd.DataFrame:
    """Measure how much each propagated label helps to predict each label.

    The gain of a propagated label (source) for a label (target) in a round is the sum, over all
    splits on the source, of what they gain for the target; see the top of this module for the
    formula. The boosters of a round count together. Limits on leaves (`max_delta_step`,
    `min_child_weight`) are left out. A gain can be negative: the split was worth it for other
    labels, and lambda counts once more for two children than for their parent.

    Parameters
    ----------
    chain : DynamicChainClassifier, OrderFreeChainClassifier or MultiLabelClassifier
        A fitted chain; of a `MultiLabelClassifier` the order-free chain that its `rule_` reads, if
        that is "joint_labelset". `reg_lambda` and `reg_alpha` are taken from its parameters.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows to measure on: the training data of an in-sample chain, otherwise rows that were not
        trained on. A chain of ``propagate="cross_val"`` learned from out-of-fold predictions,
        and does not make them again for its training rows: there it is so sure of itself that
        labels seem to help no more. The same goes for an order-free chain.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        Their true labels: 0, 1, or NaN for unknown.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, as in `fit`.

    Returns
    -------
    DataFrame
        A row for each round, source and target with a gain that is not zero: `round` (from 1),
        `source` and `target` (names, categories in the order of the labels), `gain`, `share`:
        the part of the gains of all the round's splits for the target, those on features of X
        included; NaN where these are not positive in sum. An end label is neither source nor
        target. In an order-free chain a round is a step, and features are margins.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    TypeError
        If `chain` has no label features: a single booster for example.
    ValueError
        If X, Y or the weights are not as described or do not fit the chain or each other, or two
        labels have the same name.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> dependencies = label_dependencies(chain.fit(data.X, data.Y), data.X, data.Y)
    >>> dependencies.columns.tolist()
    ['round', 'source', 'target', 'gain', 'share']
    >>> free = xdcc.chain.OrderFreeChainClassifier(n_estimators=20, cv=2, random_state=0)
    >>> Y = data.Y[:, [0, 0]]  # a label, and the same once more
    >>> in_steps = label_dependencies(free.fit(data.X, Y), data.X, Y)
    >>> in_steps["round"].unique().tolist()  # nothing is known in the first step
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
                f"{names.count(name)} labels have the name {name!r}: give each label a name of "
                "its own, so that the table can tell them apart."
            )
    return names


def _gradient_factor(
    model: BoosterModel, silent: NDArray[np.bool_], truth: NDArray[np.float32], weight: Any
) -> _Array:
    """Factor of gradients and Hessians of every entry, (n_samples, n_labels)."""
    n_labels = truth.shape[1]  # an end label comes after them
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
    """Sum of what splits gain by the column that they are on and the label, of that shape."""
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
            # A label without a Hessian has no gradient either.
            score = np.divide(soft_G**2, H + reg_lambda, out=np.zeros_like(G), where=H > 0)
            at = tree.splits
            of_splits = score[tree.left[at]] + score[tree.right[at]] - score[at]
            np.add.at(gains, tree.feature[at], of_splits)
            margin += tree.leaf_value[leaf, :n_labels]
    return gains


def _node_sums(tree: Tree, leaf: NDArray[np.intp], values: _Array) -> _Array:
    """Sum (n_samples, n_labels) over the rows of each node, given the leaf of each row."""
    n_nodes, n_samples = len(tree.left), len(leaf)
    member = sparse.csr_matrix(
        (np.ones(n_samples), (leaf, np.arange(n_samples))), shape=(n_nodes, n_samples)
    )
    sums = member @ values
    below = [0]  # parents before their children
    for node in below:
        if tree.left[node] >= 0:
            below += [tree.left[node], tree.right[node]]
    for node in reversed(below):
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
