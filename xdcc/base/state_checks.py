"""Checks for the method ``_check_state`` of a class: what its declarations cannot say.

Kernels follow the indices in trees and rules without checking them. So every index is checked once,
when a model is loaded: children, starts of lists, features, labels. The types of all attributes
have been checked before. Every check raises a ValueError that says what does not fit.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def require(fits: bool | np.bool_, what: str) -> None:
    """Raise a ValueError about `what` unless it fits.

    Examples
    --------
    >>> require(1 > 2, "the order")
    Traceback (most recent call last):
    ValueError: the order does not fit the rest of the model
    """
    if not fits:
        raise ValueError(f"{what} does not fit the rest of the model")


def check_indices(
    indices: NDArray[np.integer], limit: int | NDArray[np.integer], what: str
) -> None:
    """Check that all indices are at least 0 and below a limit, or each below its own.

    Examples
    --------
    >>> check_indices(np.array([0, 3]), 3, "child")
    Traceback (most recent call last):
    ValueError: child does not fit the rest of the model
    """
    require(indices.ndim == 1, what)
    require(((indices >= 0) & (indices < limit)).all(), what)


def check_counts(
    count: NDArray[np.int32], most: NDArray[np.int32], start: NDArray[np.int64], what: str
) -> None:
    """Check that the counts in each piece of an array are at most what the piece holds.

    Examples
    --------
    >>> check_counts(np.array([1, 2]), np.array([2]), np.array([0, 2]), "count")
    """
    require(count.shape == (start[-1],), what)
    require(((count >= 0) & (count <= np.repeat(most, np.diff(start)))).all(), what)


def check_tree(
    start: NDArray[np.int64],
    is_leaf: NDArray[np.bool_],
    child: NDArray[np.int32],
    n_children: NDArray[np.int32],
) -> NDArray[np.intp]:
    """Check that all nodes of each tree are below its first; return each node's parent, or -1.

    `start` has the first node of each tree and the number of nodes; the children of a node lie one
    after the other.

    Examples
    --------
    >>> is_leaf = np.array([False, True, True])
    >>> check_tree(np.array([0, 3]), is_leaf, np.array([1, -1, -1]), np.array([2, 0, 0]))
    array([-1,  0,  0])
    """
    n_nodes = len(is_leaf)
    require((np.diff(start) > 0).all() and len(start) > 1, "start")
    inner = np.flatnonzero(~is_leaf)
    number = n_children[inner].astype(np.int64)
    first = child[inner].astype(np.int64)
    end_of_tree = start[np.searchsorted(start, inner, side="right")]
    require((number > 0).all(), "number of children")
    require((first > inner).all() and (first + number <= end_of_tree).all(), "child")
    require(number.sum() == n_nodes - (len(start) - 1), "number of children")
    offset = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    below = np.repeat(first, number) + offset
    once = np.bincount(np.concatenate((start[:-1], below)), minlength=n_nodes) == 1
    require(once.all(), "child")
    parent = np.full(n_nodes, -1)
    parent[below] = np.repeat(inner, number)
    return parent


def check_categories(categories: NDArray[Any], what: str) -> None:
    """Check that categories are unique.

    Examples
    --------
    >>> check_categories(np.array(["a", "b"]), "categories_")
    """
    require(categories.ndim == 1 and len(set(categories.tolist())) == len(categories), what)


def check_boosters(
    boosters: Sequence[Any], n_features: int, n_outputs: int, *, of_classes: bool = False
) -> None:
    """Check the numbers of features and outputs of boosters, and what these are.

    Examples
    --------
    >>> import xgboost as xgb
    >>> booster = xgb.train({}, xgb.DMatrix([[0.0], [1.0]], [0, 1]), 1)
    >>> check_boosters([booster], 1, 1)
    """
    for booster in boosters:
        require(booster.num_features() == n_features, "a booster's number of features")
        learner = json.loads(booster.save_config())["learner"]
        # "multi:softmax" does not predict a number for each output.
        objective = learner["objective"]["name"]
        fits = objective == "multi:softprob" if of_classes else not objective.startswith("multi:")
        found = {int(learner["learner_model_param"][name]) for name in ("num_target", "num_class")}
        require(max(found) == n_outputs and fits, "a booster's number of outputs")
