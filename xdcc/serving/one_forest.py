"""``to_forest``: the boosters of a model as one.

A single booster is rewritten for stock XGBoost. The margins of a model of several are a weighted
sum of theirs, and those of a booster are a sum over its trees. So all trees together, with their
leaves multiplied by the weights, are a booster with the margins of the model. Starts, intercepts
and trees without a test are added up in one tree that has a single leaf: as a `base_score`, a
probability in single precision, a large margin would lose digits.
"""

import json
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.base.estimator import CheckedEstimator
from xdcc.boosting.booster_file import read_booster
from xdcc.boosting.target_losses import has_own_objectives
from xdcc.decision.cuts import Floats
from xdcc.decision.deciders import RuleClassifier
from xdcc.prediction.booster_trees import start_margins
from xdcc.serving.booster_for_stock import stock_booster

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
        probabilities. Margins of a MultiLabelXGBClassifier are equal bit for bit. Those of several
        boosters are sums in single precision: they differ from those of the model by its rounding,
        less than 1e-5 for a few thousand trees. The decision rule is not part of it:
        ``model.rule_.predict`` makes labels of the probabilities. Categories are expected as their
        codes in `category_codes_` of the boosters, unknown ones as that in `unknown_codes_`. A
        booster of targets or classes keeps its own objective: `predict` gives targets,
        `(n_samples, n_targets)`, or the probabilities of the classes.

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
    if not isinstance(model, CheckedEstimator):
        raise _not_a_booster(model)
    check_is_fitted(model)
    if hasattr(model, "_booster_that_predicts"):
        if has_own_objectives(model.booster_):
            raise TypeError(
                "Each target has an objective of its own, so the booster alone predicts margins: "
                f"{_INSTEAD}."
            )
        return stock_booster(model._booster_that_predicts())
    forest = _Forest(np.zeros(model.n_labels_))
    forest.add(model, np.ones(model.n_labels_))
    return forest.booster()


def _not_a_booster(model: Any) -> TypeError:
    return TypeError(
        f"{type(model).__name__} is not a booster: a forest of boosters holds those of "
        "MultiLabelXGBClassifier, alone or in a TunedDecisionClassifierCV or MultiLabelClassifier. "
        f"For others, {_INSTEAD}."
    )


class _Forest:
    """Trees of several boosters, whose leaves, with `start`, add up to margins."""

    def __init__(self, start: Floats) -> None:
        self._start = start
        self._trees: list[dict[str, Any]] = []
        self._like: dict[str, Any] = {}

    def add(self, model: Any, scale: Floats) -> None:
        """Add the boosters of a fitted classifier, times `scale`, (n_labels,)."""
        if hasattr(model, "_booster_that_predicts"):
            self._add_booster(model._booster_that_predicts(), model.n_features_in_, scale)
            return
        if not isinstance(model, RuleClassifier):
            raise _not_a_booster(model)
        weights = model._predictor().source.weights()
        if weights is None:
            raise TypeError(
                f"The margins of this {type(model).__name__} are not a sum over trees: it has a "
                "second level (stacked_), a booster on the margins of its members, or members that "
                f"are no boosters: {_INSTEAD}."
            )
        factors, added = weights
        self._start += scale * added
        for member, factor in zip(model._predictors(), factors, strict=True):
            self.add(member, scale * factor)

    def _add_booster(self, booster: xgb.Booster, n_features: int, scale: Floats) -> None:
        # Names and types of features are the same in all boosters.
        self._like = json.loads(booster.save_raw("json"))
        self._start += scale * start_margins(booster, n_features)
        for tree in self._like["learner"]["gradient_booster"]["model"]["trees"]:
            leaves = _leaf_values(tree) * scale
            if len(tree["left_children"]) == 1:
                self._start += leaves[0]
            elif scale.any():
                _put_leaves(tree, leaves.astype(np.float32))
                self._trees.append(tree)

    def booster(self) -> xgb.Booster:
        """Make a booster of all trees."""
        learner = self._like["learner"]
        learner["learner_model_param"]["base_score"] = json.dumps(
            [0.5] * len(self._start), separators=(",", ":")
        )
        learner["attributes"] = {}
        learner["objective"] = {
            "name": "binary:logistic",
            "reg_loss_param": {"scale_pos_weight": "1"},
        }
        _put_trees(self._like, [_single_leaf(self._start), *self._trees])
        return read_booster(json.dumps(self._like, ensure_ascii=False).encode())


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


def _is_leaf(tree: dict[str, Any]) -> NDArray[np.bool_]:
    """Tell which nodes of a tree in XGBoost's JSON are leaves, (n_nodes,)."""
    return np.array(tree["left_children"]) == -1


def _leaf_values(tree: dict[str, Any]) -> NDArray[np.float32]:
    """Read the leaves of a tree in XGBoost's JSON, (n_leaves, n_labels).

    With several labels, the right child of a leaf is its row here. With one, a leaf has its value
    as its threshold, and the leaves come in the order of their nodes.
    """
    if "leaf_weights" in tree:
        width = int(tree["tree_param"]["size_leaf_vector"])
        return np.array(tree["leaf_weights"], np.float32).reshape(-1, width)
    return np.array(tree["split_conditions"], np.float32)[_is_leaf(tree), np.newaxis]


def _put_leaves(tree: dict[str, Any], values: NDArray[np.float32]) -> None:
    """Replace the leaves of a tree, and what training had put into its nodes."""
    if "leaf_weights" in tree:
        tree["leaf_weights"] = values.ravel().tolist()
    else:
        conditions = np.array(tree["split_conditions"], np.float32)
        conditions[_is_leaf(tree)] = values[:, 0]
        tree["split_conditions"] = conditions.tolist()
    # Optimal values of the nodes before scaling; prediction does not use them.
    tree["base_weights"] = [0.0] * len(tree["left_children"])


def _single_leaf(values: Floats) -> dict[str, Any]:
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
