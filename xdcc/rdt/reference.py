"""The slow twin of the prediction kernels: plain recursion over the same trees.

Every posterior walks every tree from its root again; a chain does so in each iteration. Counts
are whole numbers and means are summed in the same order, so twin and kernel agree exactly.
"""

import math

import numpy as np
from numpy.typing import NDArray

from xdcc.rdt._forest_growing import KINDS
from xdcc.rdt.chains import ChainRule, ChainTrace
from xdcc.rdt.documentation import documented_tree
from xdcc.rdt.forest import Forest, Weighting


@documented_tree
def reached_leaves(
    forest: Forest,
    tree: int,
    x: NDArray[np.float32],
    known: NDArray[np.int8],
    sigma: float,
) -> list[int]:
    """Leaves of a tree that an instance reaches: q of equation 1.

    Parameters
    ----------
    {forest}
    tree : int
        Number of the tree.
    x : float32 array of shape (n_features,)
        Features of the instance, NaN where missing.
    known : int8 array of shape (n_labels,)
        Its labels: 0, 1, or -1 where not known.
    {sigma}

    Returns
    -------
    list of int
        Numbers of the leaves.
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


@documented_tree
def posteriors(
    forest: Forest,
    x: NDArray[np.float32],
    known: NDArray[np.int8],
    weighting: Weighting,
    sigma: float,
    *,
    labelsets: bool = False,
) -> tuple[NDArray[np.float64], float]:
    """Posteriors of an instance's labels or labelsets, and R (equations 1 to 4).

    Parameters
    ----------
    {forest}
    x : float32 array of shape (n_features,)
        Features of the instance, NaN where missing.
    known : int8 array of shape (n_labels,)
        Its labels: 0, 1, or -1 where not known.
    {weighting}
    {sigma}
    labelsets : bool, default=False
        Whether the posteriors are those of labelsets.

    Returns
    -------
    proba : float64 array of shape (n_labels or n_labelsets,)
        Posteriors.
    number : float
        R, not rounded.
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


@documented_tree
def run_chain(
    forest: Forest,
    X: NDArray[np.float32],
    rule: ChainRule,
    weighting: Weighting,
    *,
    sigma: float,
) -> ChainTrace:
    """Decide the labels of every row one after the other (equations 5 and 6).

    Parameters
    ----------
    {forest}
    X : float32 array of shape (n_samples, n_features)
        Features.
    {rule}
    {weighting}
    {sigma}

    Returns
    -------
    ChainTrace
    """
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
        for iteration in range(forest.n_labels):
            proba, number = posteriors(forest, x, known, weighting, sigma)
            open_labels = int((known < 0).sum())
            wanted = math.floor(number + 0.5) - int((known == 1).sum())
            if rule.early_stop and (wanted <= 0 or open_labels <= wanted):
                rest = int(wanted > 0)
                break
            label = _next_label(proba, known, rule, iteration)
            positive = proba[label] >= 0.5
            if rule.threshold == "label" and rule.candidates == "positive":
                positive = wanted > 0
            elif rule.threshold == "label":
                positive = (positive and wanted > 0) or open_labels <= wanted
            if rule.candidates == "positive" and not positive:
                break
            trace.labels[row, iteration] = label
            trace.numbers[row, iteration] = number
            trace.Y_proba[row, label] = proba[label]
            known[label] = positive
        proba, _ = posteriors(forest, x, known, weighting, sigma)
        trace.Y_proba[row, known < 0] = proba[known < 0]
        known[known < 0] = rest
    return trace


def _next_label(
    proba: NDArray[np.float64], known: NDArray[np.int8], rule: ChainRule, iteration: int
) -> int:
    if rule.order is not None:
        return int(rule.order[iteration])
    certainty = proba if rule.candidates == "positive" else np.abs(0.5 - proba)
    return int(np.where(known < 0, certainty, -1).argmax())
