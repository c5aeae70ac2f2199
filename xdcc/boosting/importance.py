"""Feature importance by XGBoost's own metrics, for columns by position.

A booster may have names for its columns; `nameless` makes a copy without them.
"""

import json
from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray


def nameless(booster: xgb.Booster) -> xgb.Booster:
    """Copy a booster without the names of its features: they become `f0`, `f1` and so on.

    Our matrices have no names: XGBoost would refuse some that columns of a DataFrame may have.

    Examples
    --------
    >>> X = pd.DataFrame({"height": [1.5, 1.6, 1.8, 1.9]})
    >>> booster = xgb.train({"min_child_weight": 0}, xgb.DMatrix(X, label=[0, 0, 1, 1]), 1)
    >>> booster.get_score(importance_type="weight")
    {'height': 1.0}
    >>> nameless(booster).get_score(importance_type="weight")
    {'f0': 1.0}
    """
    copy = booster.copy()
    copy.feature_names = None
    return copy


ImportanceType = Literal["gain", "weight", "cover", "total_gain", "total_cover"]

IMPORTANCE_TYPES: tuple[str, ...] = get_args(ImportanceType)
"""The metrics, by the names of `xgboost.Booster.get_score`."""


def column_importance(
    boosters: Iterable[xgb.Booster], n_columns: int, importance_type: ImportanceType
) -> NDArray[np.float64]:
    """Measure how much boosters together use each column.

    Parameters
    ----------
    boosters : iterable of xgboost.Booster
        Boosters of trees.
    n_columns : int
        Number of columns that they were trained on.
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}
        As in `xgboost.Booster.get_score`: ``"weight"`` is the number of splits on a column,
        ``"total_gain"`` the sum of their gains by the boosters' split method, ``"total_cover"``
        that of the Hessians of the nodes that they split, averaged over the labels; ``"gain"``
        and ``"cover"`` are these sums divided by the number of splits.

    Returns
    -------
    float array of shape (n_columns,)
        NaN where no split uses the column.

    Examples
    --------
    >>> X = np.array([[1.5, 0], [1.6, 0], [1.8, 0], [1.9, 0]])
    >>> booster = xgb.train({"min_child_weight": 0}, xgb.DMatrix(X, label=[0, 0, 1, 1]), 1)
    >>> column_importance([booster, booster], 2, "weight")
    array([ 2., nan])
    """
    boosters = list(boosters)
    n_splits = _summed(boosters, n_columns, "weight")
    divisor: NDArray[np.float64] | float = 1.0
    summed, of_sum = n_splits, importance_type
    if importance_type != "weight":
        if not importance_type.startswith("total_"):
            of_sum, divisor = f"total_{importance_type}", n_splits  # type: ignore[assignment]
        summed = _summed(boosters, n_columns, of_sum)
    return np.divide(summed, divisor, out=np.full(n_columns, np.nan), where=n_splits > 0)


def label_gains(booster: xgb.Booster, n_features: int, n_labels: int) -> NDArray[np.float64]:
    """Sum up how much the tests of each feature change the margins of each label.

    A node's margin is the mean of its leaves, weighted by their Hessians. What a test contributes
    to a label is the variance between its children, times their weight.

    Parameters
    ----------
    booster : xgboost.Booster
        A booster of trees with vector leaves, or of one label.
    n_features, n_labels : int
        Numbers of features and labels.

    Returns
    -------
    float64 array of shape (n_labels, n_features)
        Not negative.
    """
    content = json.loads(booster.save_raw("json"))
    gains = np.zeros((n_features, n_labels))
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        weight = np.array(tree["sum_hessian"], dtype=np.float64)
        margins = np.zeros((len(left), n_labels))
        is_leaf = left == -1
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            leaves = np.array(tree["leaf_weights"], dtype=np.float64).reshape(-1, n_labels)
            margins[is_leaf] = leaves[right[is_leaf]]
        else:
            margins[is_leaf, 0] = np.array(tree["split_conditions"])[is_leaf]
        # Children come after their parents.
        for node in np.flatnonzero(~is_leaf)[::-1]:
            children = [left[node], right[node]]
            share = weight[children] / max(weight[children].sum(), np.finfo(np.float64).tiny)
            margins[node] = share @ margins[children]
            between = (margins[children] - margins[node]) ** 2
            gains[tree["split_indices"][node]] += weight[children] @ between
    return gains.T


def _summed(boosters: list[xgb.Booster], n_columns: int, kind: str) -> NDArray[np.float64]:
    total = np.zeros(n_columns)
    for booster in boosters:
        # By position: two columns may have the same name.
        for name, score in nameless(booster).get_score(importance_type=kind).items():
            total[int(name[1:])] += score
    return total
