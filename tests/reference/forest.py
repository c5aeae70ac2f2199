"""The reference implementations of ``xdcc/forest``'s kernels, in plain NumPy.

Growing: every node looks at the values of all its rows again and sums up their projections; sparse
features are dense here. Random numbers are drawn in the kernel's order and sums are whole numbers,
so both grow the same forest. Prediction averages the frequencies of whole leaves.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.random_numbers import Random
from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.columns import MISSING, FeatureColumns
from xdcc.forest.forest import ExtraTrees, LabelRows, TreeShape

LARGEST = 2.0**31 - 1
"""The largest sum."""


def bin_values(
    values: NDArray[np.float32], max_bin: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Divide the values of a feature into bins; return them and the edges between them."""
    known = np.sort(values[~np.isnan(values)])
    lows = np.unique(known)
    if len(lows) > max_bin:
        lows = np.unique(known[[b * len(known) // max_bin for b in range(max_bin)]])
    edges = []
    for low in lows[1:]:
        below = known[known < low].max()
        middle = np.float32((float(below) + float(low)) / 2)
        edges.append(middle if middle < low else below)
    bins = (np.array(edges, np.float32)[:, np.newaxis] < values).sum(axis=0)
    return np.where(np.isnan(values), MISSING, bins).astype(np.uint8), np.array(edges, np.float32)


def grow_forest(
    columns: FeatureColumns, labels: LabelRows, shape: TreeShape, seeds: NDArray[np.uint64]
) -> ExtraTrees:
    """Grow a forest."""
    growth = _Growth(columns, labels, shape)
    for seed in seeds.tolist():
        growth.grow_tree(Random(seed))
    return growth.forest()


class _Split:
    def __init__(self, score: float, feature: int, right: NDArray[np.bool_]) -> None:
        self.score, self.feature, self.right = score, feature, right
        self.threshold = 0.0
        self.words = [0, 0, 0, 0]
        self.has_missing = False
        self.missing_right = False


class _Growth:
    def __init__(self, columns: FeatureColumns, labels: LabelRows, shape: TreeShape) -> None:
        self.columns, self.labels, self.shape = columns, labels, shape
        self.n_dense, self.n_sparse = len(columns.dense), len(columns.least)
        n_rows = len(labels.positive_start) - 1
        self.values = np.zeros((self.n_dense + self.n_sparse, n_rows), np.float32)
        self.values[: self.n_dense] = np.where(columns.dense == MISSING, np.nan, columns.dense)
        for feature in range(self.n_sparse):
            part = slice(*columns.column_start[feature : feature + 2])
            self.values[self.n_dense + feature, columns.column_row[part]] = columns.column_value[
                part
            ]
        self.Y = np.zeros((n_rows, labels.n_labels))
        for row in range(n_rows):
            self.Y[row, self._of_row(labels.positive_start, labels.positive, row)] = 1
            self.Y[row, self._of_row(labels.unknown_start, labels.unknown, row)] = np.nan
        self.weight = labels.weight.tolist() or [1.0] * n_rows
        self.start, self.row_start, self.label_start = [0], [0], [0]
        self.kind: list[int] = []
        self.missing: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.child: list[int] = []
        self.category_set: list[int] = []
        self.row: list[int] = []
        self.leaf_weight: list[float] = []
        self.label: list[int] = []
        self.share: list[float] = []

    @staticmethod
    def _of_row(start: NDArray[Any], values: NDArray[Any], row: int) -> NDArray[Any]:
        return values[start[row] : start[row + 1]]

    def forest(self) -> ExtraTrees:
        return ExtraTrees(
            start=np.array(self.start, np.int64),
            kind=np.array(self.kind, np.int8),
            missing=np.array(self.missing, np.int8),
            feature=np.array(self.feature, np.int32),
            threshold=np.array(self.threshold, np.float32),
            child=np.array(self.child, np.int32),
            category_set=np.array(self.category_set, np.uint64),
            leaf_weight=np.array(self.leaf_weight, np.float64),
            row_start=np.array(self.row_start, np.int64),
            row=np.array(self.row, np.int32),
            label_start=np.array(self.label_start, np.int64),
            label=np.array(self.label, np.int32),
            share=np.array(self.share, np.float32),
            labels=self.labels,
            category_value=self.columns.category_value,
            category_start=self.columns.category_start,
            category_bin=self.columns.category_bin,
        )

    def grow_tree(self, random: Random) -> None:
        self.random = random
        rows = self._sample()
        self._project(rows)
        self._draw_sparse_thresholds()
        self.order = list(range(self.n_dense))
        root = self._add_node()
        self._grow(root, rows)
        self.start.append(len(self.kind))

    def _sample(self) -> list[int]:
        n_rows, n_wanted, rows = self.values.shape[1], self.shape.n_sampled, []
        for row in range(n_rows):
            if not n_wanted:
                break
            left = n_rows - row
            if n_wanted == left or self.random.uniform() * left < n_wanted:
                rows.append(row)
                n_wanted -= 1
        return rows

    def _project(self, rows: list[int]) -> None:
        """Values of the tree's rows on a grid, the weight behind them if rows have weights."""
        n_labels, n_values = self.labels.n_labels, self.shape.sketch_size or self.labels.n_labels
        mean = self.labels.mean
        projection = np.eye(n_labels)
        if self.shape.sketch_size:
            projection = np.array(
                [[self._normal() for _ in range(n_values)] for _ in range(n_labels)]
            )
        projected = np.zeros((len(rows), n_values))
        for i, row in enumerate(rows):
            if not self.shape.sketch_size:
                projected[i] = np.where(np.isnan(self.Y[row]), 0, self.Y[row] - mean)
                continue
            for k in range(n_values):
                centre = 0.0
                for label in range(n_labels):
                    centre += projection[label, k] * mean[label]
                value = -centre
                for label in np.flatnonzero(self.Y[row] == 1).tolist():
                    value += projection[label, k]
                for label in np.flatnonzero(np.isnan(self.Y[row])).tolist():
                    value += projection[label, k] * mean[label]
                projected[i, k] = value
        largest = total_weight = 0.0
        for k in range(n_values):
            total = 0.0
            for i, row in enumerate(rows):
                total += abs(projected[i, k]) * self.weight[row]
            largest = max(largest, total)
        for row in rows:
            total_weight += self.weight[row]
        scale = (LARGEST - len(rows)) / largest if largest else 0.0
        weight_scale = (LARGEST - len(rows)) / total_weight
        self.value: dict[int, list[int]] = {}
        self.n_values = n_values
        for i, row in enumerate(rows):
            weight = self.weight[row]
            self.value[row] = [math.floor(v * weight * scale + 0.5) for v in projected[i]]
            if len(self.labels.weight):
                self.value[row].append(max(math.floor(weight * weight_scale + 0.5), 1))

    def _normal(self) -> float:
        total = -2.0
        for _ in range(4):
            total += self.random.uniform()
        return total

    def _draw_sparse_thresholds(self) -> None:
        self.sparse_threshold: list[np.float32] = []
        self.missing_right: list[bool] = []
        for feature in range(self.n_sparse):
            least, largest = self.columns.least[feature], self.columns.largest[feature]
            self.sparse_threshold.append(self._draw_threshold(least, largest))
            has_missing = self.columns.has_missing[self.n_dense + feature]
            self.missing_right.append(bool(has_missing) and self.random.uniform() < 0.5)

    def _sparse_right(self, feature: int, rows: list[int]) -> NDArray[np.bool_]:
        values = self.values[self.n_dense + feature, rows]
        right = values > self.sparse_threshold[feature]
        return np.where(np.isnan(values), self.missing_right[feature], right)

    def _draw_threshold(self, least: np.float32, largest: np.float32) -> np.float32:
        drawn = float(least) + self.random.uniform() * (float(largest) - float(least))
        return np.float32(drawn) if np.float32(drawn) < largest else least

    def _add_node(self) -> int:
        self.kind.append(KINDS["leaf"])
        self.missing.append(0)
        self.feature.append(0)
        self.threshold.append(0)
        self.child.append(0)
        return len(self.kind) - 1

    def _grow(self, node: int, rows: list[int]) -> None:
        is_leaf = len(rows) < 2 * self.shape.min_samples_leaf
        values = {tuple(self.value[row]) for row in rows}
        split = None if is_leaf or len(values) == 1 else self._find_split(rows)
        if split is None:
            self._write_leaf(node, rows)
            return
        self._set_test(node, split)
        left, right = self._add_node(), self._add_node()
        of_left = [row for row, goes_right in zip(rows, split.right, strict=True) if not goes_right]
        of_right = [row for row, goes_right in zip(rows, split.right, strict=True) if goes_right]
        children = [(left, of_left), (right, of_right)]
        if len(of_right) < len(of_left):
            children.reverse()
        for child, of_child in children:
            self._grow(child, of_child)

    def _find_split(self, rows: list[int]) -> _Split | None:
        best, n_varied, any_sparse = None, 0, self.n_sparse > 0
        varied = [
            feature
            for feature in range(self.n_sparse)
            if len(set(self._sparse_right(feature, rows).tolist())) == 2
        ]
        n_drawn = 0
        if any_sparse:
            n_drawn = int(len(varied) * self.shape.sparse_share + self.random.uniform())
        for i in range(n_drawn):
            at = int((i + self.random.uniform()) * (len(varied) / n_drawn))
            feature = varied[min(at, len(varied) - 1)]
            best = self._better(best, self._sparse_split(feature, rows))
            n_varied += 1
            if len(rows) == 2:
                break
        for i in range(self.n_dense):
            enough = i >= self.shape.n_drawn_dense and n_varied > 0
            if enough or (len(rows) == 2 and best is not None):
                break
            other = i + self.random.below(self.n_dense - i)
            self.order[i], self.order[other] = self.order[other], self.order[i]
            split = self._dense_split(self.order[i], rows)
            n_varied += split is not None
            best = self._better(best, split)
        if not n_varied and varied:
            feature = varied[self.random.below(len(varied))]
            best = self._better(best, self._sparse_split(feature, rows))
        if best is not None and best.feature >= self.n_dense:
            feature = best.feature - self.n_dense
            best.threshold = float(self.sparse_threshold[feature])
            best.has_missing = bool(self.columns.has_missing[best.feature])
            best.missing_right = self.missing_right[feature]
        return best

    def _better(self, best: _Split | None, split: _Split | None) -> _Split | None:
        if split is None:
            return best
        n_right = int(split.right.sum())
        fewest = self.shape.min_samples_leaf
        if n_right < fewest or len(split.right) - n_right < fewest:
            return best
        return split if best is None or split.score > best.score else best

    def _score(self, rows: list[int], right: NDArray[np.bool_]) -> float:
        values = np.array([self.value[row] for row in rows])
        sums = values[right].sum(axis=0), values[~right].sum(axis=0)
        weights = int(right.sum()), int((~right).sum())
        if len(self.labels.weight):
            weights = int(sums[0][-1]), int(sums[1][-1])
        score = 0.0
        for k in range(self.n_values):
            one, other = float(sums[0][k]), float(sums[1][k])
            score += one * one / weights[0] + other * other / weights[1]
        return score

    def _sparse_split(self, feature: int, rows: list[int]) -> _Split:
        right = self._sparse_right(feature, rows)
        return _Split(self._score(rows, right), self.n_dense + feature, right)

    def _dense_split(self, feature: int, rows: list[int]) -> _Split | None:
        values = self.values[feature, rows]
        is_missing = np.isnan(values)
        known = values[~is_missing]
        has_missing = bool(is_missing.any())
        if len(np.unique(known)) + has_missing == 1:
            return None
        split = _Split(0, feature, is_missing)
        split.has_missing = has_missing
        if self.columns.is_category[feature]:
            numbers = np.where(is_missing, MISSING, values).astype(int).tolist()
            split.right = np.zeros(len(rows), bool)
            while split.right.all() or not split.right.any():
                split.words = [self.random.draw() for _ in range(4)]
                split.right = np.array([split.words[n // 64] >> n % 64 & 1 == 1 for n in numbers])
        elif known.min() == known.max():
            split.threshold = self._threshold(feature, int(known[0]))
            split.missing_right = True
        else:
            if has_missing:
                split.missing_right = self.random.uniform() < 0.5
            cut = int(known.min()) + self.random.below(int(known.max() - known.min()))
            split.threshold = self._threshold(feature, cut)
            split.right = np.where(is_missing, split.missing_right, values > cut)
        split.score = self._score(rows, split.right)
        return split

    def _threshold(self, feature: int, cut: int) -> float:
        if self.columns.is_category[feature]:
            return 0.0
        edges = self.columns.edge[slice(*self.columns.edge_start[feature : feature + 2])].tolist()
        return [*edges, float(np.finfo(np.float32).max)][cut]

    def _set_test(self, node: int, split: _Split) -> None:
        self.feature[node] = int(self.columns.feature[split.feature])
        self.child[node] = len(self.kind)
        missing_right = split.missing_right
        if not split.has_missing:
            missing_right = bool(2 * split.right.sum() > len(split.right))
        if split.feature < self.n_dense and self.columns.is_category[split.feature]:
            self.kind[node] = KINDS["categories"]
            if not split.has_missing:
                split.words[3] = split.words[3] & ~(1 << 63) | missing_right << 63
            self.category_set += split.words
        else:
            self.kind[node] = KINDS["numeric"]
            self.threshold[node] = split.threshold
            self.missing[node] = int(missing_right)

    def _write_leaf(self, node: int, rows: list[int]) -> None:
        self.child[node] = len(self.row_start) - 1
        seen: dict[int, float] = {}
        total, is_less = 0.0, True
        for row in rows:
            total += self.weight[row]
            for label in np.flatnonzero(self.Y[row] == 1).tolist():
                seen[label] = seen.get(label, 0.0) + self.weight[row]
            is_less &= not np.isnan(self.Y[row]).any()
        self.leaf_weight.append(total)
        if is_less and 2 * len(seen) < len(rows):
            self.label += list(seen)
            self.share += [weight / total for weight in seen.values()]
        else:
            self.row += rows
        self.row_start.append(len(self.row))
        self.label_start.append(len(self.label))


def leaf_of(forest: ExtraTrees, tree: int, x: NDArray[np.float32]) -> int:
    """Number of the leaf that a row reaches."""
    node = int(forest.start[tree])
    while forest.kind[node] != KINDS["leaf"]:
        node = int(forest.child[node]) + branch(forest, node, x)
    return int(forest.child[node])


def branch(forest: ExtraTrees, node: int, x: NDArray[np.float32]) -> int:
    """Child of a test that a row goes to, 0 or 1."""
    feature = forest.feature[node]
    if forest.kind[node] == KINDS["categories"]:
        part = slice(*forest.category_start[feature : feature + 2])
        equal = np.flatnonzero(forest.category_value[part] == x[feature])
        category = int(forest.category_bin[part][equal[0]]) if len(equal) else MISSING
        # The sets are in the order in which nodes became tests, and got their children.
        earlier = (forest.kind == KINDS["categories"]) & (forest.child < forest.child[node])
        word = forest.category_set[4 * int(earlier.sum()) + category // 64]
        return int(word) >> category % 64 & 1
    if np.isnan(x[feature]):
        return int(forest.missing[node])
    return int(x[feature] > forest.threshold[node])


def mean_proba(
    forest: ExtraTrees, Y: NDArray[np.float32], X: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Average the label frequencies of leaves; `Y` are the labels of the training rows."""
    labels = forest.labels
    weight = labels.weight if len(labels.weight) else np.ones(len(Y))
    proba = np.empty((len(X), labels.n_labels))
    for i, x in enumerate(X):
        positive, known = np.zeros(labels.n_labels), np.zeros(labels.n_labels)
        for tree in range(len(forest.start) - 1):
            leaf = leaf_of(forest, tree, x)
            rows = forest.row[slice(*forest.row_start[leaf : leaf + 2])]
            if len(rows):
                share = weight[rows, np.newaxis] / weight[rows].sum()
                positive += np.nansum(share * Y[rows], axis=0)
                known += (share * ~np.isnan(Y[rows])).sum(axis=0)
            else:
                part = slice(*forest.label_start[leaf : leaf + 2])
                positive[forest.label[part]] += forest.share[part]
                known += 1
        proba[i] = np.where(known > 1e-9, positive / np.maximum(known, 1e-9), labels.mean)
    return proba
