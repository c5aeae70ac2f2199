"""Reference implementation of LaCovaC trees by plain recursion.

The scores of each split are computed from its rows, from whole numbers and with the formulas of the
kernels, and entropies are summed in the same order. So both agree exactly, including ties.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from xdcc.comparators.lacovac.clustering import cluster_labels, correlation_threshold
from xdcc.comparators.lacovac.tree import GrowthRules

type _Side = NDArray[np.bool_]


@dataclass
class ReferenceNode:
    """A node with its labels, training rows, split and children."""

    labels: list[int]
    rows: NDArray[np.intp]
    kind: str = "leaf"  # or "vertical", "numeric", "nominal"
    feature: int = -1
    threshold: float = 0.0
    children: list["ReferenceNode"] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # categories of the children
    default_child: int = -1  # for missing values


@dataclass
class _Split:
    score: float
    gain: float
    gain_ratio: float
    feature: int
    threshold: float
    sides: list[_Side]
    values: list[float]
    default_child: int


def grow(
    X: NDArray[np.float32],
    Y: NDArray[np.floating],
    categorical: NDArray[np.bool_],
    rules: GrowthRules,
) -> ReferenceNode:
    """Grow a tree on all features without pruning (Algorithm 1), and return its root."""

    def below(node: ReferenceNode, depth: int, clustered: bool) -> ReferenceNode:
        y = Y[np.ix_(node.rows, node.labels)].astype(np.int64)
        varying = y.min(axis=0) < y.max(axis=0)
        if not varying.any() or len(y) < rules.min_samples_split or depth == rules.max_depth:
            return node
        if not clustered:
            clusters = _clusters(y, len(Y) if rules.threshold_size == "train" else len(y), rules)
            if len(clusters) > 1:
                node.kind = "vertical"
                parts = [ReferenceNode([node.labels[j] for j in c], node.rows) for c in clusters]
                node.children = [below(part, depth, True) for part in parts]
                return node
        split = _best_split(X[node.rows], y[:, varying], categorical, X, rules)
        if split is not None:
            node.kind = "nominal" if categorical[split.feature] else "numeric"
            node.feature, node.threshold = split.feature, split.threshold
            node.values, node.default_child = split.values, split.default_child
            parts = [ReferenceNode(node.labels, node.rows[side]) for side in split.sides]
            node.children = [below(part, depth + 1, False) for part in parts]
        return node

    return below(ReferenceNode([*range(Y.shape[1])], np.arange(len(Y))), 0, False)


def _clusters(y: NDArray[np.int64], n: int, rules: GrowthRules) -> list[list[int]]:
    labels = [*range(y.shape[1])]
    if rules.clustering is None or (rules.clustering == "all_or_none" and _is_together(y, n)):
        return [labels]
    if rules.clustering == "all_or_none":
        return [[j] for j in labels]
    threshold = correlation_threshold(n)
    return [cluster.tolist() for cluster in cluster_labels(y, threshold=threshold)]


def _is_together(y: NDArray[np.int64], n: int) -> bool:
    """Compare Σ|cov| with its mean and deviation for independent labels (LaCova, folded normal)."""
    rows, (a, b) = len(y), np.triu_indices(y.shape[1], 1)
    p = y.mean(axis=0)
    absolute = np.abs(y.T @ y / rows - np.outer(p, p))[a, b]
    variance = (p * (1 - p))[a] * (p * (1 - p))[b] / (n - 1)
    mean = np.sqrt(2 / np.pi * variance).sum()
    deviation = np.sqrt(((1 - 2 / np.pi) * variance).sum())
    return bool(absolute.sum() > mean + 1.96 * deviation)


def score(y: NDArray[np.int64], rules: GrowthRules) -> float:
    """Compute the score of a child from its labels `y` that vary in the node.

    It is n times the smaller of the summed variances and the summed absolute covariances, or n
    times the summed variances, depending on the criterion.
    """
    n, n_labels = y.shape
    count = y.sum(axis=0)
    variances = int((count * (n - count)).sum())
    pairs = np.triu_indices(n_labels, 1)
    covariances = int(np.abs(n * (y.T @ y) - np.outer(count, count))[pairs].sum())
    if rules.criterion == "variance" or n_labels == 1:
        total = variances
    else:
        total = min(variances, covariances)
    return total / (n - 1) if n > 1 else 0.0


def entropy(y: NDArray[np.int64]) -> float:
    """Compute the sum of the label entropies in bits, times the number of rows."""
    n, total = len(y), 0.0
    for count in y.sum(axis=0).tolist():
        total += _nlogn(n) - _nlogn(count) - _nlogn(n - count)
    return total


def _nlogn(n: int) -> float:
    return float(n * np.log2(max(n, 1)))


def _best_split(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    categorical: NDArray[np.bool_],
    training_X: NDArray[np.float32],
    rules: GrowthRules,
) -> _Split | None:
    count = y.sum(axis=0)
    y = y[:, np.argsort(-count * (len(y) - count), kind="stable")]
    best = []
    for feature in range(X.shape[1]):
        values = np.unique(training_X[:, feature])
        values = values[~np.isnan(values)]
        candidates = _numeric(X, feature)
        if categorical[feature] and len(values) > 2:
            candidates = _nominal(X, feature, values, rules)
        scored = [_scored(split, y, rules) for split in candidates if _is_allowed(split, rules)]
        if scored:
            # Ties go to the smaller threshold, then to missing values on the left.
            best.append(min(scored, key=lambda s: s.score))
    if categorical.any():
        for split in best:
            if categorical[split.feature] and not split.values:
                column = training_X[:, split.feature]
                split.values = np.unique(column[~np.isnan(column)]).tolist()
                split.threshold = 0.0
    if rules.criterion == "gain_ratio":
        best = [split for split in best if split.gain > 0]
        if not best:
            return None
        mean = 0.0
        for split in best:
            mean += split.gain
        mean /= len(best)
        best = [split for split in best if split.gain >= mean * (1 - 1e-9)]
        # Ties go to the last feature.
        return max(reversed(best), key=lambda s: s.gain_ratio)
    return min(reversed(best), key=lambda s: s.score) if best else None


def _is_allowed(split: _Split, rules: GrowthRules) -> bool:
    return len(split.sides) > 1 and all(
        side.sum() >= rules.min_samples_leaf for side in split.sides
    )


def _scored(split: _Split, y: NDArray[np.int64], rules: GrowthRules) -> _Split:
    if rules.criterion != "gain_ratio":
        split.score = 0.0
        for side in split.sides:
            split.score += score(y[side], rules)
        return split
    below = nlogn = 0.0
    for side in split.sides:
        below += entropy(y[side])
        nlogn += _nlogn(int(side.sum()))
    split.gain = entropy(y) - below
    split.gain_ratio = split.gain / (_nlogn(len(y)) - nlogn)
    split.score = -split.gain
    return split


def _numeric(X: NDArray[np.float32], feature: int) -> Iterator[_Split]:
    column = X[:, feature]
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    for low, high in pairwise(values.tolist()):
        middle = np.float32((low + high) / 2)
        threshold = middle if middle < high else np.float32(low)
        for missing_right in (False, True) if missing.any() else (None,):
            right = column > threshold
            if missing_right:
                right |= missing
            larger = int(right.sum() > (~right).sum())
            default = larger if missing_right is None else int(missing_right)
            yield _Split(0.0, 0.0, 0.0, feature, float(threshold), [~right, right], [], default)


def _nominal(
    X: NDArray[np.float32], feature: int, values: NDArray[np.float32], rules: GrowthRules
) -> Iterator[_Split]:
    column = X[:, feature]
    sides = [column == value for value in values]
    sizes = [int(side.sum()) for side in sides]
    kept = [k for k, size in enumerate(sizes) if size >= rules.min_samples_leaf]
    largest = int(np.argmax(sizes))
    if largest not in kept:
        return
    rest = ~np.any([sides[k] for k in kept], axis=0)
    sides[largest] = sides[largest] | rest
    yield _Split(
        0.0,
        0.0,
        0.0,
        feature,
        0.0,
        [sides[k] for k in kept],
        [float(values[k]) for k in kept],
        kept.index(largest),
    )


def reached_leaves(node: ReferenceNode, x: NDArray[np.float32]) -> list[ReferenceNode]:
    """Find the leaves below a node that an instance reaches, one for each cluster of labels."""
    if node.kind == "leaf":
        return [node]
    if node.kind == "vertical":
        return [leaf for child in node.children for leaf in reached_leaves(child, x)]
    branch = node.default_child
    if node.kind == "nominal" and x[node.feature] in node.values:
        branch = node.values.index(x[node.feature])
    elif node.kind == "numeric" and not np.isnan(x[node.feature]):
        branch = int(x[node.feature] > node.threshold)
    return reached_leaves(node.children[branch], x)


def predicted_labelset(leaf: ReferenceNode, Y: NDArray[np.floating]) -> tuple[int, ...]:
    """Find the most frequent labelset of a leaf, as zeros and ones for its labels.

    Ties go to the more frequent one in the training labels Y, then to the smaller one.
    """
    of_leaf = [tuple(row) for row in Y[np.ix_(leaf.rows, leaf.labels)].astype(int).tolist()]
    training = [tuple(row) for row in Y[:, leaf.labels].astype(int).tolist()]
    return min(set(of_leaf), key=lambda s: (-of_leaf.count(s), -training.count(s), s))
