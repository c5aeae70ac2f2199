"""Labels that come after a booster was trained: they are added to its model.

All its leaves have 0 for them, so that they start at a `base_score` of their own.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost as xgb

from xdcc.base.fit_data import FitData

_OF_START = (
    *("objective", "soft_labels", "base_score", "nthread"),
    *("label_weight", "scale_pos_weight", "scale_pos_weight_per_label"),
)
"""Parameters that determine where labels start."""


def with_later_labels(
    booster: xgb.Booster, data: FitData, params: Mapping[str, Any]
) -> xgb.Booster:
    """Copy a booster and add the last labels of `data`, where a training with `params` starts them.

    Examples
    --------
    >>> X, Y = np.eye(4, dtype=np.float32), np.array([[0, 1], [1, 0], [0, 1], [1, 1]], np.float32)
    >>> params = {"objective": "multilabel:logistic"}
    >>> booster = xgb.train(params, xgb.DMatrix(X, Y[:, :1]), 2)
    >>> with_later_labels(booster, FitData(X, Y, None), params).inplace_predict(X)[:, 1]
    array([0.75, 0.75, 0.75, 0.75], dtype=float32)
    """
    model = json.loads(booster.save_raw("json"))
    learner = model["learner"]
    param, weights = learner["learner_model_param"], learner["objective"].get("label_weight_param")
    n_labels, n_before = data.Y.shape[1], int(param["num_target"])
    n_further = n_labels - n_before
    known = _numbers(param["base_score"])
    known = known if len(known) == n_before else known * n_before
    param["base_score"] = _text(known + _starts(data, params)[n_before:])
    param["num_target"] = str(n_labels)
    for name, text in (weights or {}).items():
        if numbers := _numbers(text):
            weights[name] = _text([*numbers, *["1E0"] * n_further])
    for tree in learner["gradient_booster"]["model"]["trees"]:
        _widen(tree, n_before, n_further)
    widened = xgb.Booster()
    widened.load_model(bytearray(json.dumps(model, ensure_ascii=False).encode()))
    return widened


def _starts(data: FitData, params: Mapping[str, Any]) -> list[str]:
    """Return where training starts the labels, as XGBoost writes it: X does not matter."""
    constant = data._replace(X=np.zeros((len(data.Y), 1), np.float32), input_form=None)
    of_start = {name: params[name] for name in _OF_START if name in params}
    booster = xgb.train(of_start, constant.matrix(params.get("nthread")), 1)
    learner = json.loads(booster.save_config())["learner"]
    return _numbers(learner["learner_model_param"]["base_score"])


def _widen(tree: dict[str, Any], n_before: int, n_further: int) -> None:
    """Add labels to the leaves of a tree in XGBoost's JSON."""
    if (
        n_before == 1
    ):  # a leaf's condition is its value; with several labels, its row is on its right
        leaves = [node for node, left in enumerate(tree["left_children"]) if left == -1]
        tree["leaf_weights"] = [tree["split_conditions"][leaf] for leaf in leaves]
        for row, leaf in enumerate(leaves):
            tree["right_children"][leaf], tree["split_conditions"][leaf] = row, 0.0
        tree["parents"][0] = -1
    tree["tree_param"]["size_leaf_vector"] = str(n_before + n_further)
    for name in ("leaf_weights", "base_weights"):
        values = np.array(tree[name]).reshape(-1, n_before)
        tree[name] = np.pad(values, ((0, 0), (0, n_further))).ravel().tolist()


def _numbers(text: str) -> list[str]:
    """Return the numbers in a list that XGBoost writes as text, as text."""
    inside = text.strip("[]")
    return inside.split(",") if inside else []


def _text(numbers: list[str]) -> str:
    return f"[{','.join(numbers)}]"
