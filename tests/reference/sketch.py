"""Sketched trees: those of `tests.reference.boosting`, grown on a few sketch dimensions.

The random numbers and the trees are those of the native updater.

- `random_bits`, `uniforms`, `normals`: random numbers by position, as the native updater draws
  them;
- `draw_groups`: the labels that each tree of a round is for;
- `coefficients`: each label's coefficient in each sketch dimension (Iosipoi and Vakhrushev,
  "SketchBoost: fast gradient boosted decision tree for multioutput problems", NeurIPS 2022);
- `combine`: gradients and Hessians of the sketch dimensions;
- `grow_sketched_tree`: splits found on the sketch, leaf values from all labels.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.reference.boosting import (
    Floats,
    ReferenceTree,
    SplitMethod,
    documented,
    grow_tree,
    label_weights_and_gains,
)

SketchMethod = Literal["projection", "sampling", "top"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_GROUPS, _DIRECTIONS = 0, 1  # what the numbers of a tree are drawn for


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(key: Sequence[int], index: ArrayLike) -> NDArray[np.uint64]:
    """Random numbers by position: a hash of a key and an index (SplitMix64's finaliser).

    Parameters
    ----------
    key : sequence of int
        What the numbers are for: seed, round and so on.
    index : array-like of int
        Which of them.

    Returns
    -------
    uint64 array, of the shape of `index`
    """
    with np.errstate(over="ignore"):  # uint64 wraps around
        state = np.zeros((), dtype=np.uint64)
        for part in key:
            state = _mix(state + _GOLDEN * (np.uint64(part) + np.uint64(1)))
        return _mix(state + _GOLDEN * (np.asarray(index, dtype=np.uint64) + np.uint64(1)))


def uniforms(key: Sequence[int], index: ArrayLike) -> Floats:
    """Draw numbers uniform in the open interval (0, 1) by position, see `random_bits`."""
    return ((random_bits(key, index) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normals(key: Sequence[int], index: ArrayLike) -> Floats:
    """Draw standard normal numbers by position (Box and Muller's transform), see `random_bits`."""
    index = np.asarray(index, dtype=np.uint64)
    radius = np.sqrt(-2 * np.log(uniforms(key, 2 * index)))
    return radius * np.cos(2 * np.pi * uniforms(key, 2 * index + np.uint64(1)))


def draw_groups(
    seed: int, iteration: int, n_labels: int, labels_per_tree: int, tree: int = 0
) -> list[NDArray[np.intp]]:
    """Deal out the labels of a round to trees.

    Parameters
    ----------
    seed, iteration, tree : int
        The booster's seed, the number of rounds before this one, and which of the parallel trees.
    n_labels, labels_per_tree : int
        How many labels there are and how many a tree has at most; 0: all.

    Returns
    -------
    list of int arrays
        The labels of each tree, ascending.
    """
    n_groups = -(-n_labels // labels_per_tree) if labels_per_tree else 1
    order = np.arange(n_labels)
    if n_groups > 1:
        key = (seed, iteration, tree, _GROUPS)
        order = np.argsort(random_bits(key, order), kind="stable")
    ends = [n_labels * g // n_groups for g in range(n_groups + 1)]
    return [np.sort(order[a:b]) for a, b in pairwise(ends)]


def coefficients(
    grad: ArrayLike,
    labels: ArrayLike,
    sketch_size: int,
    method: SketchMethod,
    seed: int,
    iteration: int,
    *,
    tree: int = 0,
    group: int = 0,
) -> Floats:
    """Draw the coefficients of the labels in the sketch dimensions of one tree.

    Parameters
    ----------
    grad : array-like, shape (n_rows, n_labels)
        Gradients of all labels.
    labels : array-like of int, shape (n_tree_labels,)
        The tree's labels, ascending.
    sketch_size : int
        Number of sketch dimensions k; 0, or at least as many as labels: the labels themselves.
    method : {"projection", "sampling", "top"}
        N(0, 1/k) entries; k labels drawn in proportion to their sum of squared gradients and
        weighted against that; the k labels with the largest such sum.
    seed, iteration, tree, group : int
        Which tree: the booster's seed, the number of rounds before, which of the parallel trees and
        of the groups of labels.

    Returns
    -------
    float64 array, shape (n_tree_labels, n_dimensions)
    """
    labels = np.asarray(labels)
    n, k = len(labels), sketch_size
    if k == 0 or k >= n:
        return np.eye(n)
    if method == "projection":
        index = labels[:, np.newaxis] * k + np.arange(k)
        return normals((seed, iteration, tree, _DIRECTIONS), index) / np.sqrt(k)
    norms = np.sum(np.asarray(grad, np.float64)[:, labels] ** 2, axis=0)
    result = np.zeros((n, k))
    if method == "sampling":
        cumulated, total = np.cumsum(norms), norms.sum()
        draws = uniforms((seed, iteration, tree, _DIRECTIONS, group), np.arange(k)) * total
        chosen = np.minimum(np.searchsorted(cumulated, draws, side="right"), n - 1)
        result[chosen, np.arange(k)] = np.sqrt(total / (k * norms[chosen])) if total > 0 else 1.0
    else:
        chosen = np.argsort(-norms, kind="stable")[:k]
        result[chosen, np.arange(k)] = 1.0
    return result


def combine(
    grad: ArrayLike, hess: ArrayLike, labels: ArrayLike, matrix: Floats
) -> tuple[Floats, Floats]:
    """Gradients and Hessians of the sketch dimensions.

    Parameters
    ----------
    grad, hess : array-like, shape (n_rows, n_labels)
        Derivatives of all labels, 0 where unknown or masked.
    labels : array-like of int, shape (n_tree_labels,)
        Which of them are combined.
    matrix : array, shape (n_tree_labels, n_dimensions)
        As from `coefficients`.

    Returns
    -------
    grad, hess : float64 arrays, shape (n_rows, n_dimensions)
        sum_j C_jd g_ij, and sum_j C_jd² h_ij.
    """
    labels = np.asarray(labels)
    return np.asarray(grad)[:, labels] @ matrix, np.asarray(hess)[:, labels] @ matrix**2


@documented
def grow_sketched_tree(
    X: ArrayLike,
    grad: ArrayLike,
    hess: ArrayLike,
    labels: ArrayLike,
    matrix: Floats,
    cuts: Sequence[ArrayLike],
    max_depth: int,
    learning_rate: float,
    method: SplitMethod = "sumGain",
    **options: Any,
) -> ReferenceTree:
    """Find splits on the sketch, and give the leaves values for the labels.

    Parameters
    ----------
    {rows}
    {derivatives}
    labels, matrix
        As for `combine`. Other labels have the value 0 in every leaf.
    cuts, max_depth, learning_rate, method, **options
        As for `tests.reference.boosting.grow_tree`.

    Returns
    -------
    ReferenceTree
        With gains on the sketch, and values of all labels.
    """
    grad, hess = np.asarray(grad, dtype=np.float64), np.asarray(hess, dtype=np.float64)
    labels = np.asarray(labels)
    tree = grow_tree(
        X, *combine(grad, hess, labels, matrix), cuts, method, max_depth, learning_rate, **options
    )
    options.pop("gamma", None)
    rows = [np.arange(len(grad))] * len(tree.feature)
    values = np.zeros((len(tree.feature), grad.shape[1]))
    for node, feature in enumerate(tree.feature):
        own = rows[node]
        if feature < 0:
            weights, _ = label_weights_and_gains(
                grad[own].sum(axis=0), hess[own].sum(axis=0), **options
            )
            values[node, labels] = learning_rate * weights[labels]
        else:
            left = tree.goes_left(node, np.asarray(X)[own])
            rows[tree.left[node]], rows[tree.right[node]] = own[left], own[~left]
    return replace(tree, leaf_value=values)
