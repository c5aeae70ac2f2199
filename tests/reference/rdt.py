"""Reference implementation of random decision trees by plain recursion.

Training uses the random numbers of the kernel, so both grow the same forest. Each node lists the
available tests, which are pairs of a kind and a number. Prediction traverses all trees from their
roots in each step of a chain. Counts are whole numbers and means are summed in the same order, so
both agree exactly.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.random_numbers import Random
from xdcc.comparators.rdt._forest_growing import KINDS
from xdcc.comparators.rdt.chains import ChainRule, ChainTrace
from xdcc.comparators.rdt.forest import Forest, TreeShape, Weighting


def grow_forest(
    X: NDArray[np.float32],
    Y: NDArray[np.integer] | NDArray[np.floating],
    labelset: NDArray[np.int32],
    categorical: NDArray[np.bool_],
    shape: TreeShape,
    seeds: NDArray[np.uint64],
) -> Forest:
    """Grow a forest; see `xdcc.comparators.rdt.forest.grow_forest`. X is dense."""
    growth = _Growth(X, Y, labelset, categorical, shape)
    for seed in seeds.tolist():
        growth.grow_tree(Random(seed))
    return growth.forest()


class _Growth:
    def __init__(
        self,
        X: NDArray[np.float32],
        Y: NDArray[Any],
        labelset: NDArray[np.int32],
        categorical: NDArray[np.bool_],
        shape: TreeShape,
    ) -> None:
        self.X, self.Y, self.labelset, self.shape = X, Y, labelset, shape
        self.categories: list[list[float]] = [
            np.unique(column[~np.isnan(column)]).tolist() if discrete else []
            for column, discrete in zip(X.T, categorical, strict=True)
        ]
        self.sparse = [
            feature
            for feature, column in enumerate(X.T)
            if 2 * np.count_nonzero(column) < len(X) and len(self.categories[feature]) <= 2
        ]
        # The arrays of the forest.
        self.start, self.label_start, self.labelset_start = [0], [0], [0]
        self.kind: list[str] = []
        self.index: list[int] = []
        self.threshold: list[float] = []
        self.value: list[float] = []
        self.child: list[int] = []
        self.branches: list[int] = []
        self.disjunction: list[int] = []
        self.leaf_size: list[int] = []
        self.label: list[tuple[int, int]] = []
        self.labelsets: list[tuple[int, int]] = []

    def forest(self) -> Forest:
        label = np.array(self.label, np.int32).reshape(-1, 2)
        labelset = np.array(self.labelsets, np.int32).reshape(-1, 2)
        return Forest(
            start=np.array(self.start, np.int64),
            kind=np.array([KINDS[kind] for kind in self.kind], np.int8),
            index=np.array(self.index, np.int32),
            threshold=np.array(self.threshold, np.float32),
            value=np.array(self.value, np.float32),
            child=np.array(self.child, np.int32),
            branches=np.array(self.branches, np.int32),
            disjunction=np.array(self.disjunction, np.int32),
            leaf_size=np.array(self.leaf_size, np.int32),
            label_start=np.array(self.label_start, np.int64),
            label=label[:, 0],
            label_count=label[:, 1],
            labelset_start=np.array(self.labelset_start, np.int64),
            labelset=labelset[:, 0],
            labelset_count=labelset[:, 1],
            n_labels=self.Y.shape[1],
            n_labelsets=int(self.labelset.max()) + 1,
        )

    def grow_tree(self, random: Random) -> None:
        self.root = len(self.kind)
        self._add_node(0)
        self._grow(self.root, list(range(len(self.X))), 0, frozenset(), random)
        self.start.append(len(self.kind))

    def _add_node(self, value: float) -> None:
        self.kind.append("leaf")
        self.index.append(0)
        self.threshold.append(0)
        self.value.append(value)
        self.child.append(self.root)  # of a leaf, whose child is never read
        self.branches.append(0)

    def _grow(
        self,
        node: int,
        rows: list[int],
        depth: int,
        used: frozenset[tuple[str, int]],
        random: Random,
    ) -> None:
        while len(rows) >= self.shape.min_samples_split and depth < self.shape.max_depth:
            test = self._draw_test(used, random)
            if test is None:
                break
            kind, number, joined = test
            values = self._values(kind, number, joined, rows)
            known = [value for value in values if not math.isnan(value)]
            threshold = math.nan
            constant = len(set(known)) < 2
            if kind == "numeric" and not constant:
                threshold = known[random.below(len(known))]
                values = [v if math.isnan(v) else float(v > threshold) for v in values]
            outcomes = self.categories[number] if kind == "discrete" else [0.0, 1.0]
            splits = len({v for v in values if not math.isnan(v)}) > 1
            if kind in ("label", "discrete") or (
                kind == "numeric" and constant and self.shape.retry
            ):
                used |= {("label" if kind == "label" else "feature", number)}
            if splits:
                self._replace_missing(values, outcomes, random)
                self._set_test(node, kind, number, joined, threshold, random)
                children = self._add_children(node, rows, values, outcomes)
                # The last child is grown first.
                for child, of_child in reversed(children):
                    self._grow(child, of_child, depth + 1, used, random)
                return
            if not self.shape.retry or kind == "disjunction":
                depth += 1
        self._count(node, rows)

    def _draw_test(
        self, used: frozenset[tuple[str, int]], random: Random
    ) -> tuple[str, int, list[int]] | None:
        labels = self._available("label", self.Y.shape[1], used)
        features = self._available("feature", self.X.shape[1], used)
        fraction = self.shape.label_test_fraction
        any_label, any_feature = bool(labels) and fraction > 0, bool(features) and fraction < 1
        if not any_label and not any_feature:
            return None
        if any_label and (random.uniform() < fraction or not any_feature):
            return "label", self._draw_available(labels, self.Y.shape[1], random), []
        feature = self._draw_available(features, self.X.shape[1], random)
        if self.shape.disjunction_size > 1 and feature in self.sparse:
            further = [
                self.sparse[random.below(len(self.sparse))]
                for _ in range(self.shape.disjunction_size - 1)
            ]
            return "disjunction", feature, [feature, *further]
        return "discrete" if self.categories[feature] else "numeric", feature, []

    @staticmethod
    def _available(what: str, n: int, used: frozenset[tuple[str, int]]) -> list[int]:
        return [number for number in range(n) if (what, number) not in used]

    @staticmethod
    def _draw_available(tests: list[int], n: int, random: Random) -> int:
        """Draw one of the available tests, by rejection if at least half of `n` are available."""
        if 2 * len(tests) < n:
            return tests[random.below(len(tests))]
        while True:
            test = random.below(n)
            if test in tests:
                return test

    def _values(self, kind: str, number: int, joined: list[int], rows: list[int]) -> list[float]:
        if kind == "label":
            return [float(self.Y[row, number]) for row in rows]
        if kind == "disjunction":
            return [self._any_not_zero([float(self.X[row, f]) for f in joined]) for row in rows]
        return [float(self.X[row, number]) for row in rows]

    @staticmethod
    def _any_not_zero(values: list[float]) -> float:
        if any(value != 0 and not math.isnan(value) for value in values):
            return 1.0
        return math.nan if any(math.isnan(value) for value in values) else 0.0

    @staticmethod
    def _replace_missing(values: list[float], outcomes: list[float], random: Random) -> None:
        known = sorted(outcomes.index(value) for value in values if not math.isnan(value))
        for i, value in enumerate(values):
            if math.isnan(value):
                values[i] = outcomes[known[random.below(len(known))]]

    def _set_test(
        self,
        node: int,
        kind: str,
        number: int,
        joined: list[int],
        threshold: float,
        random: Random,
    ) -> None:
        self.kind[node] = kind
        self.index[node] = number
        self.child[node] = len(self.kind)
        if kind == "numeric":
            self.threshold[node] = threshold
        elif kind == "label":
            activity = np.float32(random.uniform())
            self.threshold[node] = 0.0 if activity >= 1 else float(activity)
        elif kind == "disjunction":
            self.index[node] = len(self.disjunction)
            self.disjunction += [*joined, -1]

    def _add_children(
        self, node: int, rows: list[int], values: list[float], outcomes: list[float]
    ) -> list[tuple[int, list[int]]]:
        children = []
        for outcome in outcomes:
            of_child = [row for row, value in zip(rows, values, strict=True) if value == outcome]
            if of_child:
                children.append((len(self.kind), of_child))
                self._add_node(outcome)
        self.branches[node] = len(children)
        return children

    def _count(self, node: int, rows: list[int]) -> None:
        self.index[node] = len(self.leaf_size)
        self.leaf_size.append(len(rows))
        counts = self.Y[rows].sum(axis=0)
        self.label += [(label, int(counts[label])) for label in np.flatnonzero(counts).tolist()]
        self.label_start.append(len(self.label))
        labelsets = self.labelset[rows].tolist()
        self.labelsets += [(one, labelsets.count(one)) for one in dict.fromkeys(labelsets)]
        self.labelset_start.append(len(self.labelsets))


def reached_leaves(
    forest: Forest,
    tree: int,
    x: NDArray[np.float32],
    known: NDArray[np.int8],
    sigma: float,
) -> list[int]:
    """Find the leaves of a tree that an instance reaches, q of equation 1.

    `known` (n_labels,) is 0, 1, or -1 for labels that are not known.
    """

    def below(node: int) -> list[int]:
        kind, index = forest.kind[node], forest.index[node]
        if kind == KINDS["leaf"]:
            return [int(index)]
        children = [int(forest.child[node]) + b for b in range(forest.branches[node])]
        if kind == KINDS["numeric"] and not np.isnan(x[index]):
            children = [children[int(x[index] > forest.threshold[node])]]
        elif kind == KINDS["discrete"]:
            children = [c for c in children if forest.value[c] == x[index]] or children
        elif kind == KINDS["disjunction"]:
            holds = _disjunction(forest, int(index), x)
            children = children if holds is None else [children[int(holds)]]
        elif kind == KINDS["label"] and forest.threshold[node] < sigma and known[index] >= 0:
            children = [children[known[index]]]
        return [leaf for child in children for leaf in below(child)]

    return below(int(forest.start[tree]))


def _disjunction(forest: Forest, begin: int, x: NDArray[np.float32]) -> bool | None:
    end = begin + int(np.argmax(forest.disjunction[begin:] < 0))
    values = x[forest.disjunction[begin:end]]
    if ((values != 0) & ~np.isnan(values)).any():
        return True
    return None if np.isnan(values).any() else False


def posteriors(
    forest: Forest,
    x: NDArray[np.float32],
    known: NDArray[np.int8],
    weighting: Weighting,
    sigma: float,
    *,
    labelsets: bool = False,
) -> tuple[NDArray[np.float64], float]:
    """Compute the posteriors of the labels or labelsets of an instance, and R (equations 1 to 4).

    `known` is as in `reached_leaves`; R is not rounded.
    """
    if labelsets:
        start, target, count = forest.labelset_start, forest.labelset, forest.labelset_count
        n_targets = forest.n_labelsets
    else:
        start, target, count = forest.label_start, forest.label, forest.label_count
        n_targets = forest.n_labels
    trees = []
    for tree in range(len(forest.start) - 1):
        size, positives = 0, np.zeros(n_targets)
        for leaf in reached_leaves(forest, tree, x, known, sigma):
            size += int(forest.leaf_size[leaf])
            for k in range(start[leaf], start[leaf + 1]):
                positives[target[k]] += count[k]
        proba = positives / size
        trees.append((_weight(proba, size, weighting), proba, positives.sum() / size))
    if not any(weight for weight, _, _ in trees):
        trees = [(1.0, proba, number) for _, proba, number in trees]
    total, mean, number = 0.0, np.zeros(n_targets), 0.0
    for weight, proba, expected in trees:
        total += weight
        mean += weight * proba
        number += weight * expected
    return mean / total, number / total


def _weight(proba: NDArray[np.float64], size: int, weighting: Weighting) -> float:
    weight = 1.0
    if weighting.gini:
        impurity = 0.0
        for p in proba.tolist():
            impurity += p * (1 - p)
        weight = max(1 - 4 * impurity / len(proba), 0.0)
    if weighting.size_exponent:
        weight *= math.pow(size, weighting.size_exponent)
    return weight


def run_chain(
    forest: Forest,
    X: NDArray[np.float32],
    rule: ChainRule,
    weighting: Weighting,
    *,
    sigma: float,
) -> ChainTrace:
    """Decide the labels of each row one after another (equations 5 and 6)."""
    shape = (len(X), forest.n_labels)
    trace = ChainTrace(
        np.full(shape, -1, np.int8),
        np.empty(shape),
        np.full(shape, -1, np.int64),
        np.full(shape, np.nan),
    )
    for row, x in enumerate(X):
        known = trace.Y_pred[row]
        rest = 0
        for step in range(forest.n_labels):
            proba, number = posteriors(forest, x, known, weighting, sigma)
            open_labels = int((known < 0).sum())
            wanted = math.floor(number + 0.5) - int((known == 1).sum())
            if rule.early_stop and (wanted <= 0 or open_labels <= wanted):
                rest = int(wanted > 0)
                break
            label = _next_label(proba, known, rule, step)
            positive = proba[label] >= 0.5
            if rule.threshold == "label" and rule.candidates == "positive":
                positive = wanted > 0
            elif rule.threshold == "label":
                positive = (positive and wanted > 0) or open_labels <= wanted
            if rule.candidates == "positive" and not positive:
                break
            trace.labels[row, step] = label
            trace.numbers[row, step] = number
            trace.Y_proba[row, label] = proba[label]
            known[label] = positive
        proba, _ = posteriors(forest, x, known, weighting, sigma)
        trace.Y_proba[row, known < 0] = proba[known < 0]
        known[known < 0] = rest
    return trace


def _next_label(
    proba: NDArray[np.float64], known: NDArray[np.int8], rule: ChainRule, step: int
) -> int:
    if rule.order is not None:
        return int(rule.order[step])
    certainty = proba if rule.candidates == "positive" else np.abs(0.5 - proba)
    return int(np.where(known < 0, certainty, -1).argmax())
