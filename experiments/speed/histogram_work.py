"""Counts the additions and bytes that the histograms of a trained model need, by `CONVENTION`."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

CONVENTION = """\
What is counted is what histograms need that are built as follows, whether or not the updater builds
them so everywhere:

- A tree builds the histogram of the root and, of the two children of a split that are evaluated
  themselves (those above the largest depth), of the one with fewer rows, the left one if both have
  as many. The other child's is the parent's less this one and is free, and so is every scan.
- A row of a node adds each of its entries: gradient and Hessian of every label, one addition each.
- An entry is a feature's value that is not missing. If a feature has no missing values, those in
  its most frequent bin over all training rows are no entries: that bin's sums are the node's less
  those of the other bins.
- Bytes: of each row of a node the gradients and Hessians of all labels in single precision, read
  once, and four bytes for each entry, the number of its bin. Histograms stay in a cache.
"""
"""The convention of the count, in words."""

_GRADIENT_BYTES = 8  # a gradient and a Hessian in single precision
_BIN_BYTES = 4


@dataclass(frozen=True)
class HistogramWork:
    """What the histograms of a model need."""

    additions: int
    read_bytes: int
    nodes: int  # whose histogram is built from rows
    rows: int  # of these nodes, added up
    entries: int  # of these rows, added up


def histogram_work(
    booster: xgb.Booster,
    X: NDArray[np.float32],
    n_labels: int,
    max_depth: int,
    max_bin: int,
) -> HistogramWork:
    """Count what the histograms of a model need, by the convention.

    It was trained on X, in which NaN is missing, without sampling, with these largest numbers.
    """
    entries_of_row = count_entries(X, max_bin)
    leaves = booster.predict(xgb.DMatrix(X), pred_leaf=True)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    leaves = leaves.reshape(len(X), len(trees)).astype(np.int64)
    built = [
        node
        for tree, leaf in zip(trees, leaves.T, strict=True)
        for node in _built_nodes(tree, leaf, entries_of_row, max_depth)
    ]
    rows, entries = (sum(counts) for counts in zip(*built, strict=True))
    additions = entries * 2 * n_labels
    read_bytes = rows * n_labels * _GRADIENT_BYTES + entries * _BIN_BYTES
    return HistogramWork(additions, read_bytes, len(built), rows, entries)


def count_entries(X: NDArray[np.float32], max_bin: int) -> NDArray[np.int64]:
    """Return the number of each row's entries: what has to be added up of it."""
    matrix = xgb.QuantileDMatrix(X, max_bin=max_bin)
    begins, cuts = matrix.get_quantile_cut()
    counts = np.zeros(len(X), dtype=np.int64)
    for feature, x in enumerate(X.T):
        missing = np.isnan(x)
        if missing.any():
            counts += ~missing
            continue
        of_feature = cuts[begins[feature] : begins[feature + 1]]
        bins = np.searchsorted(of_feature, x, side="right")
        counts += bins != np.bincount(bins).argmax()
    return counts


def _built_nodes(
    tree: dict[str, Any],
    leaf: NDArray[np.int64],
    entries_of_row: NDArray[np.int64],
    max_depth: int,
) -> list[tuple[int, int]]:
    """Return the rows, and the entries of these rows, of each node that a tree builds."""
    left, right = tree["left_children"], tree["right_children"]
    rows_of_leaf = np.bincount(leaf, minlength=len(left))
    entries_of_leaf = np.zeros(len(left), dtype=np.int64)
    np.add.at(entries_of_leaf, leaf, entries_of_row)
    built = []

    def visit(node: int, depth: int) -> tuple[int, int]:
        """Return a node's rows and entries; note which nodes below it are built."""
        if left[node] < 0:
            return int(rows_of_leaf[node]), int(entries_of_leaf[node])
        children = visit(left[node], depth + 1), visit(right[node], depth + 1)
        if depth + 1 < max_depth:
            built.append(min(children, key=lambda child: child[0]))
        return children[0][0] + children[1][0], children[0][1] + children[1][1]

    built.append(visit(0, 0))
    return built
