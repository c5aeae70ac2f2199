"""Checks of the structures in a model file: trees, rules and boosters.

Kernels follow the indices in trees and rules without checking them. So every index is checked here
once, when a model is loaded: children, starts of lists, features, labels. The types of all
attributes have been checked before. Every check raises a ValueError that says what does not fit.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.comparators.boomer.rule import RELATIONS, RuleList
from xdcc.comparators.ctbn.learner import EstimatorModels, LogisticModels
from xdcc.comparators.ctbn.mixture import Mixture
from xdcc.comparators.lacovac.tree import KINDS as LABEL_TREE_KINDS
from xdcc.comparators.lacovac.tree import LabelTrees
from xdcc.comparators.rdt._forest_growing import KINDS as FOREST_KINDS
from xdcc.comparators.rdt.forest import Forest
from xdcc.forest._sketched_growing import KINDS as EXTRA_TREE_KINDS
from xdcc.forest.forest import ExtraTrees, LabelRows
from xdcc.serving.part_checks import check_categories, check_indices, check_starts, require


def check_forest(forest: Forest, n_features: int) -> None:
    """Check the trees of a `RandomDecisionTreeClassifier`."""
    n_nodes, n_leaves = len(forest.kind), len(forest.leaf_size)
    for name in ("index", "threshold", "value", "child", "branches"):
        require(getattr(forest, name).shape == (n_nodes,), name)
    require(forest.leaf_size.ndim == 1 and (forest.leaf_size > 0).all(), "leaf_size")
    of_kind = {name: forest.kind == number for name, number in FOREST_KINDS.items()}
    require(np.isin(forest.kind, list(FOREST_KINDS.values())).all(), "kind")
    _check_tree(forest.start, of_kind["leaf"], forest.child, forest.branches)
    two = of_kind["numeric"] | of_kind["label"] | of_kind["disjunction"]
    require((forest.branches[two] == 2).all(), "branches")
    for kinds, limit in (
        (of_kind["leaf"], n_leaves),
        (of_kind["numeric"] | of_kind["discrete"], n_features),
        (of_kind["label"], forest.n_labels),
        (of_kind["disjunction"], len(forest.disjunction)),
    ):
        check_indices(forest.index[kinds], limit, "index")
    if len(forest.disjunction):
        check_indices(forest.disjunction + 1, n_features + 1, "disjunction")
        require(forest.disjunction[-1] == -1, "disjunction")
    for start, target, count, limit in (
        (forest.label_start, forest.label, forest.label_count, forest.n_labels),
        (forest.labelset_start, forest.labelset, forest.labelset_count, forest.n_labelsets),
    ):
        check_starts(start, n_leaves, len(target), "label_start")
        check_indices(target, limit, "label")
        _check_counts(count, forest.leaf_size, start, "label_count")


def check_extra_trees(forest: ExtraTrees, n_features: int) -> None:
    """Check the trees of a `SketchedExtraTreesClassifier`."""
    labels = forest.labels
    n_nodes, n_leaves = len(forest.kind), len(forest.leaf_weight)
    n_rows = _check_label_rows(labels)
    for name in ("missing", "feature", "threshold", "child"):
        require(getattr(forest, name).shape == (n_nodes,), name)
    require(np.isin(forest.kind, list(EXTRA_TREE_KINDS.values())).all(), "kind")
    require(np.isin(forest.missing, (0, 1)).all(), "missing")
    is_leaf = forest.kind == EXTRA_TREE_KINDS["leaf"]
    tests_categories = forest.kind == EXTRA_TREE_KINDS["categories"]
    _check_tree(forest.start, is_leaf, forest.child, np.where(is_leaf, 0, 2))
    check_indices(forest.child[is_leaf], n_leaves, "child")
    once = np.bincount(forest.child[is_leaf], minlength=n_leaves) == 1
    require(once.all() and not np.isnan(forest.threshold).any(), "child")
    check_indices(forest.feature[~is_leaf], n_features, "feature")
    require(forest.category_set.shape == (4 * int(tests_categories.sum()),), "category_set")
    require(forest.leaf_weight.ndim == 1 and (forest.leaf_weight > 0).all(), "leaf_weight")
    check_starts(forest.row_start, n_leaves, len(forest.row), "row_start")
    check_indices(forest.row, n_rows, "row")
    check_starts(forest.label_start, n_leaves, len(forest.label), "label_start")
    check_indices(forest.label, labels.n_labels, "label")
    require(forest.share.shape == forest.label.shape, "share")
    require(((forest.share >= 0) & (forest.share <= 1)).all(), "share")
    values = forest.category_value
    check_starts(forest.category_start, n_features, len(values), "category_start")
    require(values.ndim == 1 and forest.category_bin.shape == values.shape, "category_bin")


def _check_label_rows(labels: LabelRows) -> int:
    """Check the labels of training rows; return the number of rows."""
    n_rows, n_labels = len(labels.positive_start) - 1, labels.n_labels
    check_starts(labels.positive_start, n_rows, len(labels.positive), "positive_start")
    check_indices(labels.positive, n_labels, "positive")
    check_starts(labels.unknown_start, n_rows, len(labels.unknown), "unknown_start")
    check_indices(labels.unknown, n_labels, "unknown")
    require(labels.mean.ndim == 1 and ((labels.mean >= 0) & (labels.mean <= 1)).all(), "mean")
    require(labels.weight.shape in ((n_rows,), (0,)) and (labels.weight > 0).all(), "weight")
    for name in ("positive", "unknown"):
        share = getattr(labels, f"{name}_share")
        require(share.shape in (getattr(labels, name).shape, (0,)), f"{name}_share")
        require(((share >= 0) & (share <= 1)).all(), f"{name}_share")
    return n_rows


def check_label_trees(trees: LabelTrees) -> None:
    """Check the trees of a `LaCovaCClassifier` or of its forest."""
    n_nodes = len(trees.kind)
    for name in (
        *("feature", "threshold", "value", "child", "n_children", "default_child"),
        *("n_samples", "depth", "impurity", "label_list"),
    ):
        require(getattr(trees, name).shape == (n_nodes,), name)
    of_kind = {name: trees.kind == number for name, number in LABEL_TREE_KINDS.items()}
    require(np.isin(trees.kind, list(LABEL_TREE_KINDS.values())).all(), "kind")
    is_leaf = of_kind["leaf"]
    parent = _check_tree(trees.start, is_leaf, trees.child, trees.n_children)
    horizontal = ~is_leaf & ~of_kind["vertical"]
    check_indices(trees.feature[horizontal], trees.n_features, "feature")
    check_indices(trees.default_child[horizontal], trees.n_children[horizontal], "default_child")
    require((trees.n_children[of_kind["numeric"]] == 2).all(), "n_children")

    n_lists = len(trees.list_start) - 1
    check_starts(trees.list_start, n_lists, len(trees.list_label), "list_start")
    check_indices(trees.list_label, trees.n_labels, "list_label")
    check_indices(trees.label_list, n_lists, "label_list")
    check_starts(trees.count_start, n_nodes, len(trees.label_count), "count_start")
    require(trees.label_predicted.shape == trees.label_count.shape, "label_predicted")
    n_listed = np.diff(trees.list_start)[trees.label_list]
    require((np.diff(trees.count_start) == np.where(is_leaf, n_listed, 0)).all(), "count_start")
    require((trees.n_samples > 0).all(), "n_samples")
    _check_counts(trees.label_count, trees.n_samples, trees.count_start, "label_count")
    check_starts(trees.labelset_start, n_nodes, len(trees.labelset_count), "labelset_start")
    require((trees.labelset_count > 0).all(), "labelset_count")
    check_starts(trees.member_start, len(trees.labelset_count), len(trees.member), "member_start")
    check_indices(trees.member, trees.n_labels, "member")
    _check_labels_of_nodes(trees, parent, of_kind["vertical"])


def _check_labels_of_nodes(
    trees: LabelTrees, parent: NDArray[np.intp], vertical: NDArray[np.bool_]
) -> None:
    """Check that one leaf predicts each label, and that its labelsets have no other labels."""
    n_lists = len(trees.list_start) - 1
    # A label in a list, as one number.
    listed = np.repeat(np.arange(n_lists), np.diff(trees.list_start)) * trees.n_labels
    listed += trees.list_label
    require((np.diff(listed) > 0).all(), "list_label")
    for root in trees.start[:-1].tolist():
        require(np.array_equal(trees.labels(root), np.arange(trees.n_labels)), "list_label")
    below = (parent >= 0) & ~vertical[parent]
    require((trees.label_list[below] == trees.label_list[parent[below]]).all(), "label_list")
    for node in np.flatnonzero(vertical).tolist():
        parts = np.concatenate([trees.labels(child) for child in trees.children(node)])
        require(np.array_equal(np.sort(parts), trees.labels(node)), "label_list")
    leaf = np.repeat(np.arange(len(parent)), np.diff(trees.labelset_start))
    of_member = np.repeat(trees.label_list[leaf].astype(np.int64), np.diff(trees.member_start))
    require(np.isin(of_member * trees.n_labels + trees.member, listed).all(), "member")


def check_rules(rules: RuleList, n_features: int, n_labels: int) -> None:
    """Check the rules of a `BoomerClassifier`."""
    require(len(rules.attributes) == n_features, "attributes")
    require(len(rules.labels) == n_labels, "labels")
    check_starts(rules.condition_start, len(rules), len(rules.feature), "condition_start")
    for name in ("relation", "threshold"):
        require(getattr(rules, name).shape == rules.feature.shape, name)
    check_indices(rules.feature, n_features, "feature")
    check_indices(rules.relation, len(RELATIONS), "relation")
    for feature, categories in rules.categories.items():
        require(0 <= feature < n_features, "categories")
        check_categories(categories, "categories")
        positions = rules.threshold[rules.feature == feature]
        require(((positions >= 0) & (positions < len(categories))).all(), "threshold")
    check_starts(rules.head_start, len(rules), len(rules.head_label), "head_start")
    require(rules.head_score.shape == rules.head_label.shape, "head_score")
    check_indices(rules.head_label, n_labels, "head_label")


def check_mixture(mixture: Mixture, n_columns: int | None, n_labels: int) -> None:
    """Check the trees of a `CTBNMixtureClassifier` whose design, if any, has `n_columns`."""
    require(len(mixture.components) > 0, "components")
    require(mixture.weights.shape == (len(mixture.components),), "weights")
    for component in mixture.components:
        parents, models = component.parents, component.models
        require(parents.shape == (n_labels,), "parents")
        check_indices(parents + 1, n_labels + 1, "parents")
        above = parents
        for _ in range(n_labels.bit_length()):  # each step doubles the distance
            above = np.where(above >= 0, above[above], -1)
        require((above < 0).all(), "parents")
        require(isinstance(models, EstimatorModels) == (n_columns is None), "models")
        if isinstance(models, EstimatorModels):
            require(len(models.estimators) == n_labels, "estimators")
        elif isinstance(models, LogisticModels) and n_columns is not None:
            for solution in (models.off, models.on):
                require(solution.coef.shape == (n_columns + 2, n_labels), "coef")


def _check_tree(
    start: NDArray[np.int64],
    is_leaf: NDArray[np.bool_],
    child: NDArray[np.int32],
    n_children: NDArray[np.int32],
) -> NDArray[np.intp]:
    """Check that all nodes of a tree are below its first; return each node's parent, or -1."""
    n_nodes = len(is_leaf)
    require(len(start) > 1, "start")
    check_starts(start, len(start) - 1, n_nodes, "start")
    require((np.diff(start) > 0).all(), "start")
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


def _check_counts(
    count: NDArray[np.int32], most: NDArray[np.int32], start: NDArray[np.int64], what: str
) -> None:
    """Check that the counts in each piece are at most what the piece holds."""
    require(count.shape == (start[-1],), what)
    require(((count >= 0) & (count <= np.repeat(most, np.diff(start)))).all(), what)


def check_boosters(
    boosters: Sequence[Any], n_features: int, n_outputs: int, *, of_classes: bool = False
) -> None:
    """Check the numbers of features and outputs of boosters, and what these are."""
    for booster in boosters:
        require(booster.num_features() == n_features, "a booster's number of features")
        learner = json.loads(booster.save_config())["learner"]
        # "multi:softmax" does not predict a number for each output.
        objective = learner["objective"]["name"]
        fits = objective == "multi:softprob" if of_classes else not objective.startswith("multi:")
        found = {int(learner["learner_model_param"][name]) for name in ("num_target", "num_class")}
        require(max(found) == n_outputs and fits, "a booster's number of outputs")
