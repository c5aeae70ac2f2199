"""Shapley values by their definition, over all sets of features."""

from collections.abc import Callable
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tests.reference.forest import branch, leaf_of
from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.forest import ExtraTrees

type Value = Callable[[frozenset[int]], NDArray[np.float64]]
"""From a set of features to what is gained with it."""


def shapley_values(value: Value, n_features: int) -> NDArray[np.float64]:
    """Average the gains of each feature, [n_features, ...]."""
    found = []
    for feature in range(n_features):
        others = [f for f in range(n_features) if f != feature]
        gain = np.zeros_like(value(frozenset()))
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for given in combinations(others, size):
                with_feature, without = frozenset((*given, feature)), frozenset(given)
                gain += weight * (value(with_feature) - value(without))
        found.append(gain)
    return np.array(found)


def forest_value(
    forest: ExtraTrees,
    leaf_values: sparse.csr_array,
    x: NDArray[np.float32],
    given: frozenset[int],
) -> NDArray[np.float64]:
    """Sum up trees for a row of which only some features are given, [n_labels].

    A test of another feature takes both branches, weighted by the training rows.
    """
    values = leaf_values.toarray()

    def weight(node: int) -> float:
        child = int(forest.child[node])
        if forest.kind[node] == KINDS["leaf"]:
            return float(forest.leaf_weight[child])
        return weight(child) + weight(child + 1)

    def expected(node: int) -> Any:
        child = int(forest.child[node])
        if forest.kind[node] == KINDS["leaf"]:
            return values[child]
        if int(forest.feature[node]) in given:
            return expected(child + branch(forest, node, x))
        of_both = [weight(child) * expected(child), weight(child + 1) * expected(child + 1)]
        return (of_both[0] + of_both[1]) / weight(node)

    return np.asarray(sum(expected(int(root)) for root in forest.start[:-1]))


def leaf_means(
    forest: ExtraTrees, X: NDArray[np.float32], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average the values of the training rows in each leaf, [n_leaves, ...]."""
    total = np.zeros((len(forest.leaf_weight), *values.shape[1:]))
    for row, x in enumerate(X):
        for tree in range(len(forest.start) - 1):
            total[leaf_of(forest, tree, x)] += values[row]
    return total / forest.leaf_weight[:, np.newaxis]
