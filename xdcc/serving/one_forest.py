"""``to_forest``: the boosters of a model as one.

The margins of a model of boosters are a weighted sum of theirs (:mod:`xdcc.serving.margin_sum`),
and those of a booster are a sum over its trees. So all trees together, with their leaves multiplied
by the weights, are a booster with the margins of the model. Starts, intercepts and trees without a
test are added up in one tree that has a single leaf: as a `base_score`, a probability in single
precision, a large margin would lose digits.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.boosting.booster_file import read_booster
from xdcc.boosting.single_booster import SingleBooster
from xdcc.boosting.target_losses import has_own_objectives
from xdcc.decision.cuts import Floats
from xdcc.serving.margin_sum import Part, has_second_level, margin_sum

_INSTEAD = "use CompiledModel, to_onnx or save_model"

_OF_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
"""Lists of a tree that are empty if it tests numbers only."""


def to_forest(model: Any) -> xgb.Booster:
    """Join all boosters of a model into one that stock XGBoost predicts with.

    Parameters
    ----------
    model : estimator
        A fitted MultiLabelXGBClassifier or DistilledClassifier; or a TunedDecisionClassifierCV or
        MultiLabelClassifier, all members of which are boosters; or a MultiTargetXGBRegressor or
        MultiClassXGBClassifier. It is not changed.

    Returns
    -------
    xgboost.Booster
        With the objective ``binary:logistic``. ``predict(data, output_margin=True)`` gives the
        calibrated log-odds of the model, `(n_samples, n_labels)`, and `predict` their
        probabilities. Margins are sums in single precision: they differ from those of the model by
        its rounding, less than 1e-5 for a few thousand trees. The decision rule is not part of it:
        ``model.rule_.predict`` makes labels of the probabilities. Categories are expected as their
        positions in `categories_` of the boosters. A booster of targets or classes keeps its own
        objective: `predict` gives targets, `(n_samples, n_targets)`, or the probabilities of the
        classes.

    Raises
    ------
    TypeError
        If the model, or one of its members, is not a booster: forests and linear models are not
        sums of log-odds over trees, the rounds of a chain depend on each other, and so does the
        second level of a mixture. Or if targets have different objectives. The message names it and
        what to use.
    NotFittedError
        Before `fit`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> booster = xdcc.MultiLabelXGBClassifier(n_estimators=20)
    >>> model = xdcc.decision.TunedDecisionClassifierCV(booster).fit(data.X, data.Y)
    >>> forest = to_forest(model)
    >>> np.allclose(forest.inplace_predict(data.X), model.predict_proba(data.X), atol=1e-6)
    True
    >>> (model.rule_.predict(forest.inplace_predict(data.X)) == model.predict(data.X)).all()
    np.True_
    """
    if isinstance(model, MultiTargetXGBRegressor | MultiClassXGBClassifier):
        check_is_fitted(model)
        check_predicts_outputs(model)
        return model._booster_that_predicts()
    total = margin_sum(model, why_no_booster)
    found = scaled_trees(total.parts)
    joined = _read(total.parts[0].model)  # names and types of features are the same in all
    learner = joined["learner"]
    learner["learner_model_param"]["base_score"] = json.dumps(
        [0.5] * len(found.start), separators=(",", ":")
    )
    learner["attributes"] = {}
    learner["objective"] = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}
    _put_trees(joined, [single_leaf(total.intercept + found.start), *found.trees])
    return read_booster(json.dumps(joined).encode())


def check_predicts_outputs(model: SingleBooster) -> None:
    """Raise a TypeError if the booster of a model predicts margins in place of targets."""
    if has_own_objectives(model.booster_):
        raise TypeError(
            "Each target has an objective of its own, so the booster alone predicts margins: "
            f"{_INSTEAD}."
        )


def why_no_booster(member: Any) -> str | None:
    """Say why a member of a model is not a sum over trees; None if it is."""
    if type(member) is MultiLabelXGBClassifier:
        return None
    if has_second_level(member):
        return (
            "The MultiLabelClassifier has a second level (stacked_), a booster on the margins of "
            f"its members, so its margins are not a sum over trees: {_INSTEAD}"
        )
    return (
        f"{type(member).__name__} is not a booster: a forest of boosters holds those of "
        "MultiLabelXGBClassifier, alone or in a TunedDecisionClassifierCV or MultiLabelClassifier. "
        f"For others, {_INSTEAD}"
    )


class ScaledTrees(NamedTuple):
    """Trees of several boosters, whose leaves add up to margins.

    Attributes
    ----------
    trees : list of dict
        As in XGBoost's JSON, each with a test.
    start : float64 array of shape (n_labels,)
        Margins that the trees are added to.
    """

    trees: list[dict[str, Any]]
    start: Floats


def scaled_trees(parts: Sequence[Part]) -> ScaledTrees:
    """Collect the trees of boosters, with leaves that are multiplied by their scales.

    Parameters
    ----------
    parts : sequence of Part
        Fitted boosters.

    Returns
    -------
    ScaledTrees
    """
    trees, start = [], np.zeros(len(parts[0].scale))
    for model, scale in parts:
        own, own_start = trees_of(model)
        start += scale * own_start
        for tree in own if scale.any() else ():
            leaves = leaf_values(tree) * scale
            if len(tree["left_children"]) == 1:
                start += leaves[0]
            else:
                _put_leaves(tree, leaves.astype(np.float32))
                trees.append(tree)
    return ScaledTrees(trees, start)


def trees_of(model: SingleBooster) -> ScaledTrees:
    """Read the trees of a booster as they are, those without a test, too, and what it starts from.

    XGBoost says what it predicts with a leaf of zeros: NumPy's logarithm is rounded in another way.
    """
    read = _read(model)
    trees = read["learner"]["gradient_booster"]["model"]["trees"]
    _put_trees(read, [single_leaf(np.zeros(model._n_outputs))])
    row = np.zeros((1, model.n_features_in_), np.float32)
    start = read_booster(json.dumps(read).encode()).inplace_predict(
        row, predict_type="margin", validate_features=False
    )
    return ScaledTrees(trees, start.reshape(-1).astype(np.float64))


def _read(model: SingleBooster) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(model._booster_that_predicts().save_raw("json"))
    return found


def _put_trees(read: dict[str, Any], trees: list[dict[str, Any]]) -> None:
    """Replace the trees of a booster in XGBoost's JSON."""
    for number, tree in enumerate(trees):
        tree["id"] = number
        tree["tree_param"]["num_feature"] = read["learner"]["learner_model_param"]["num_feature"]
    read["learner"]["gradient_booster"]["model"] |= {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": trees,
    }


def is_leaf(tree: dict[str, Any]) -> NDArray[np.bool_]:
    """Tell which nodes of a tree in XGBoost's JSON are leaves, (n_nodes,)."""
    return np.array(tree["left_children"]) == -1


def leaf_values(tree: dict[str, Any]) -> NDArray[np.float32]:
    """Read the leaves of a tree in XGBoost's JSON, (n_leaves, n_labels).

    With several labels, the right child of a leaf is its row here. With one, a leaf has its value
    as its threshold, and the leaves come in the order of their nodes.
    """
    if "leaf_weights" in tree:
        width = int(tree["tree_param"]["size_leaf_vector"])
        return np.array(tree["leaf_weights"], np.float32).reshape(-1, width)
    return np.array(tree["split_conditions"], np.float32)[is_leaf(tree), np.newaxis]


def _put_leaves(tree: dict[str, Any], values: NDArray[np.float32]) -> None:
    """Replace the leaves of a tree, and what training had put into its nodes."""
    if "leaf_weights" in tree:
        tree["leaf_weights"] = values.ravel().tolist()
    else:
        conditions = np.array(tree["split_conditions"], np.float32)
        conditions[is_leaf(tree)] = values[:, 0]
        tree["split_conditions"] = conditions.tolist()
    # Optimal values of the nodes before scaling; prediction does not use them.
    tree["base_weights"] = [0.0] * len(tree["left_children"])


def single_leaf(values: Floats) -> dict[str, Any]:
    """Make a tree without a test."""
    in_leaf = values.astype(np.float32).tolist()
    n_labels = len(in_leaf)
    tree: dict[str, Any] = {
        **{name: [] for name in _OF_CATEGORIES},
        **{name: [0] for name in ("default_left", "split_indices", "split_type")},
        **{name: [0.0] for name in ("base_weights", "loss_changes", "sum_hessian")},
        "left_children": [-1],
        "tree_param": {
            "num_deleted": "0",
            "num_nodes": "1",
            "size_leaf_vector": str(n_labels),
        },
    }
    if n_labels == 1:
        return tree | {
            "parents": [2**31 - 1],
            "right_children": [-1],
            "split_conditions": in_leaf,
        }
    return tree | {
        "leaf_weights": in_leaf,
        "parents": [-1],
        "right_children": [0],
        "split_conditions": [0.0],
    }
