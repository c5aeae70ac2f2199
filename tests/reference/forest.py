"""The reference implementations of ``xdcc/forest``'s kernels, in plain NumPy.

Growing: every node looks at the bins of all its rows again and sums up their values; sparse
features are dense here. Random numbers are drawn in the kernel's order and sums are whole numbers,
so both grow the same forest. Prediction averages the frequencies of whole leaves.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.bins import MISSING, BinnedFeatures
from xdcc.forest.forest import Forest, LabelRows, TreeShape
from xdcc.kernels.reference import Random

LARGEST = 2.0**31 - 1
"""The largest sum."""


def bin_values(
    values: NDArray[np.float32], max_bin: int, *, zero_apart: bool = False
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Divide the values of a feature into bins; return the bins, and their ranges.

    If zero is to be apart, values of either sign have bins of their own, and zero has one.
    """
    known = np.sort(values[~np.isnan(values)])
    if zero_apart:
        signed = known[known != 0]
        parts = [signed[signed < 0], np.zeros(1, np.float32), signed[signed > 0]]
        most = [max((max_bin - 1) * len(part) // max(len(signed), 1), 1) for part in parts]
    else:
        parts, most = [known], [max_bin]
    low: list[float] = []
    high: list[float] = []
    for part, n_bins in zip(parts, most, strict=True):
        if not len(part):
            continue
        distinct = np.unique(part)
        if len(distinct) > n_bins:
            distinct = np.unique(part[[b * len(part) // n_bins for b in range(n_bins)]])
        low += distinct.tolist()
        high += [part[part < above].max() for above in distinct[1:]] + [part.max()]
    bins = np.full(len(values), MISSING, np.uint8)
    is_known = ~np.isnan(values)
    bins[is_known] = (np.array(low)[:, np.newaxis] <= values[is_known]).sum(axis=0) - 1
    return bins, np.array(low, np.float32), np.array(high, np.float32)


def grow_forest(
    bins: BinnedFeatures, labels: LabelRows, shape: TreeShape, seeds: NDArray[np.uint64]
) -> Forest:
    """Grow a forest."""
    growth = _Growth(bins, labels, shape)
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
    def __init__(self, bins: BinnedFeatures, labels: LabelRows, shape: TreeShape) -> None:
        self.bins, self.labels, self.shape = bins, labels, shape
        self.n_dense, self.n_sparse = len(bins.dense), len(bins.default)
        n_rows = len(labels.positive_start) - 1
        self.columns = np.empty((self.n_dense + self.n_sparse, n_rows), np.uint8)
        self.columns[: self.n_dense] = bins.dense
        self.columns[self.n_dense :] = bins.default[:, np.newaxis]
        for feature in range(self.n_sparse):
            part = slice(*bins.column_start[feature : feature + 2])
            self.columns[self.n_dense + feature, bins.column_row[part]] = bins.column_bin[part]
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
        self.label: list[int] = []
        self.share: list[float] = []

    @staticmethod
    def _of_row(start: NDArray[Any], values: NDArray[Any], row: int) -> NDArray[Any]:
        return values[start[row] : start[row + 1]]

    def forest(self) -> Forest:
        return Forest(
            start=np.array(self.start, np.int64),
            kind=np.array(self.kind, np.int8),
            missing=np.array(self.missing, np.int8),
            feature=np.array(self.feature, np.int32),
            threshold=np.array(self.threshold, np.float32),
            child=np.array(self.child, np.int32),
            category_set=np.array(self.category_set, np.uint64),
            row_start=np.array(self.row_start, np.int64),
            row=np.array(self.row, np.int32),
            label_start=np.array(self.label_start, np.int64),
            label=np.array(self.label, np.int32),
            share=np.array(self.share, np.float32),
            labels=self.labels,
            category_value=self.bins.category_value,
            category_start=self.bins.category_start,
            category_bin=self.bins.category_bin,
        )

    def grow_tree(self, random: Random) -> None:
        self.random = random
        rows = self._sample()
        self._project(rows)
        self._cut_sparse_features()
        self.order = list(range(self.n_dense))
        root = self._add_node()
        self._grow(root, rows)
        self.start.append(len(self.kind))

    def _sample(self) -> list[int]:
        n_rows, n_wanted, rows = self.columns.shape[1], self.shape.n_sampled, []
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
                for label in np.flatnonzero(self.Y[row] == 1):
                    value += projection[label, k]
                for label in np.flatnonzero(np.isnan(self.Y[row])):
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

    def _cut_sparse_features(self) -> None:
        """Cut the sparse features; most rows are not on."""
        bins = self.bins
        self.cut = [0] * self.n_sparse
        self.missing_right = [False] * self.n_sparse
        for feature in range(0 if bins.is_binary else self.n_sparse):
            number = self.n_dense + feature
            n_bins = bins.start[number + 1] - bins.start[number]
            if n_bins > 2:
                self.cut[feature], _ = self._draw_cut(number, 0, n_bins - 1)
            if bins.has_missing[number]:
                self.missing_right[feature] = self.random.uniform() < 0.5

    def _sparse_right(self, feature: int, rows: list[int]) -> NDArray[np.bool_]:
        bins = self.columns[self.n_dense + feature, rows]
        return np.where(bins == MISSING, self.missing_right[feature], bins > self.cut[feature])

    def _draw_cut(self, number: int, least: int, largest: int) -> tuple[int, float]:
        first = self.bins.start[number]
        low = [float(v) for v in self.bins.low[first : first + largest + 1]]
        high = [float(v) for v in self.bins.high[first : first + largest + 1]]
        value = high[least] + self.random.uniform() * (low[largest] - high[least])
        cut = max(b for b in range(least, largest) if b == least or high[b] <= value)
        if value >= low[cut + 1]:
            value = (high[cut] + low[cut + 1]) / 2
        threshold = float(np.float32(value))
        return cut, high[cut] if threshold >= low[cut + 1] else threshold

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
        best, n_varied = None, 0
        varied = [
            feature
            for feature in range(self.n_sparse)
            if len(set(self._sparse_right(feature, rows).tolist())) == 2
        ]
        n_left, n_wanted = self.n_sparse, self.shape.n_drawn_sparse
        for feature in varied:
            if n_wanted and self.random.uniform() * n_left < n_wanted:
                best = self._better(best, self._sparse_split(feature, rows))
                n_varied += 1
                n_wanted -= 1
            n_left -= 1
            if not n_wanted:
                break
        for i in range(self.n_dense):
            if i >= self.shape.n_drawn_dense and n_varied:
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
            cut = self.cut[feature]
            _, best.threshold = self._draw_cut(best.feature, cut, cut + 1)
            best.has_missing = bool(self.bins.has_missing[best.feature])
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
        bins = self.columns[feature, rows]
        present, known = set(bins.tolist()), bins[bins != MISSING].tolist()
        if len(present) == 1:
            return None
        split = _Split(0, feature, bins > MISSING)
        split.has_missing = MISSING in present
        if self.bins.is_category[feature]:
            inside: set[int] = set()
            while not inside or inside == present:
                split.words = [self.random.draw() for _ in range(4)]
                inside = {b for b in present if split.words[b // 64] >> b % 64 & 1}
            split.right = np.isin(bins, list(inside))
        elif min(known) == max(known):
            cut = min(known)
            split.threshold = float(self.bins.high[self.bins.start[feature] + cut])
            split.missing_right = True
            split.right = bins == MISSING
        else:
            if split.has_missing:
                split.missing_right = self.random.uniform() < 0.5
            cut, split.threshold = self._draw_cut(feature, min(known), max(known))
            split.right = np.where(bins == MISSING, split.missing_right, bins > cut)
        split.score = self._score(rows, split.right)
        return split

    def _set_test(self, node: int, split: _Split) -> None:
        self.feature[node] = int(self.bins.feature[split.feature])
        self.child[node] = len(self.kind)
        missing_right = split.missing_right
        if not split.has_missing:
            missing_right = bool(2 * split.right.sum() > len(split.right))
        if split.feature < self.n_dense and self.bins.is_category[split.feature]:
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
        if is_less and 2 * len(seen) < len(rows):
            self.label += list(seen)
            self.share += [weight / total for weight in seen.values()]
        else:
            self.row += rows
        self.row_start.append(len(self.row))
        self.label_start.append(len(self.label))


def leaf_of(forest: Forest, tree: int, x: NDArray[np.float32]) -> int:
    """Number of the leaf that a row reaches."""
    node = int(forest.start[tree])
    while forest.kind[node] != KINDS["leaf"]:
        feature = forest.feature[node]
        right = bool(forest.missing[node])
        if forest.kind[node] == KINDS["categories"]:
            part = slice(*forest.category_start[feature : feature + 2])
            equal = np.flatnonzero(forest.category_value[part] == x[feature])
            bin_ = int(forest.category_bin[part][equal[0]]) if len(equal) else MISSING
            number = int((forest.kind[:node] == KINDS["categories"]).sum())
            right = bool(int(forest.category_set[4 * number + bin_ // 64]) >> bin_ % 64 & 1)
        elif not np.isnan(x[feature]):
            right = bool(x[feature] > forest.threshold[node])
        node = int(forest.child[node]) + right
    return int(forest.child[node])


def mean_proba(
    forest: Forest, Y: NDArray[np.float32], X: NDArray[np.float32]
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
