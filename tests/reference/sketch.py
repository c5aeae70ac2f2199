"""Reference implementation of sketched trees, based on `tests.reference.boosting`.

The random numbers and the trees equal those of the native updater.

- `random_bits`, `uniforms`, `normals`: random numbers by position;
- `draw_groups`: the labels of each tree of a boosting round;
- `coefficients`: coefficients of the labels in the sketch dimensions (Iosipoi and Vakhrushev,
  "SketchBoost: fast gradient boosted decision tree for multioutput problems", NeurIPS 2022);
- `combine`: gradients and Hessians of the sketch dimensions;
- `grow_sketched_tree`: splits on the sketch, leaf values of all labels.
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
_GROUPS, _DIRECTIONS = 0, 1  # purposes of the random numbers of a tree


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(key: Sequence[int], index: ArrayLike) -> NDArray[np.uint64]:
    """Hash a key (seed, boosting round and so on) and an index by the finaliser of splitmix64."""
    with np.errstate(over="ignore"):  # uint64 wraps around
        state = np.zeros((), dtype=np.uint64)
        for part in key:
            state = _mix(state + _GOLDEN * (np.uint64(part) + np.uint64(1)))
        return _mix(state + _GOLDEN * (np.asarray(index, dtype=np.uint64) + np.uint64(1)))


def uniforms(key: Sequence[int], index: ArrayLike) -> Floats:
    """Draw uniform numbers from the open interval (0, 1) by position; see `random_bits`."""
    return ((random_bits(key, index) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normals(key: Sequence[int], index: ArrayLike) -> Floats:
    """Draw standard normal numbers by position (Box-Muller transform); see `random_bits`."""
    index = np.asarray(index, dtype=np.uint64)
    radius = np.sqrt(-2 * np.log(uniforms(key, 2 * index)))
    return radius * np.cos(2 * np.pi * uniforms(key, 2 * index + np.uint64(1)))


def draw_groups(
    seed: int, iteration: int, n_labels: int, labels_per_tree: int, tree: int = 0
) -> list[NDArray[np.intp]]:
    """Divide the labels of a boosting round among trees; return the sorted labels of each.

    `iteration` is the number of previous rounds, `tree` the index among parallel trees. A tree has
    at most `labels_per_tree` labels, or all with 0.
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
    """Return the coefficients of the labels in the sketch dimensions of one tree.

    Their shape is (n_tree_labels, n_dimensions).

    Parameters
    ----------
    grad : array-like, shape (n_rows, n_labels)
        Gradients of all labels.
    labels : array-like of int, shape (n_tree_labels,)
        The sorted labels of the tree.
    sketch_size : int
        Number of sketch dimensions k. With 0, or at least the number of labels, the dimensions are
        the labels.
    method : {"projection", "sampling", "top"}
        Entries from N(0, 1/k); k labels sampled in proportion to their sums of squared gradients,
        with inverse weights; or the k labels with the largest sums.
    seed, iteration, tree, group : int
        Seed of the booster, number of previous rounds, and indices of the parallel tree and of the
        group of labels.
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
    """Compute gradients sum_j C_jd g_ij and Hessians sum_j C_jd² h_ij of the sketch dimensions.

    C is `matrix` (n_tree_labels, n_dimensions), the result of `coefficients` for `labels`.
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
    """Grow a tree with splits on the sketch and leaf values for the labels.

    Parameters
    ----------
    {rows}
    {derivatives}
    labels, matrix
        As for `combine`. Other labels have the leaf value 0.
    cuts, max_depth, learning_rate, method, **options
        As for `tests.reference.boosting.grow_tree`.

    Returns
    -------
    ReferenceTree
        The gains are those on the sketch.
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
