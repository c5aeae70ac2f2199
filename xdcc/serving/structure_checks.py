"""Checks of objects from a model file: their types, and whether they are consistent.

:func:`check_type` compares a value with an annotation of the package's own classes: plain types,
arrays of a type, lists, dictionaries and tuples of types, unions.

Kernels follow the indices in trees and rules without checking them. So every index is checked here
once, when a model is loaded: children, starts of lists, features, labels. The types of all
attributes have been checked before. Every check raises a ValueError that says what does not fit.
"""

import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin

import numpy as np
import pandas as pd
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
from xdcc.prediction.layout import Layout, LinearPart


def check_type(value: object, annotation: Any, place: str) -> None:
    """Raise a TypeError, which says what `place` is, unless a value has a type.

    A whole number counts as a float, a truth value as neither.

    Examples
    --------
    >>> check_type([1, 2.5], list[float], "x")
    >>> check_type(np.arange(3.0), np.ndarray[Any, np.dtype[np.int64]], "x")
    Traceback (most recent call last):
    TypeError: x is an array of float64
    """
    if not _fits(value, annotation):
        what = type(value).__name__
        if isinstance(value, np.ndarray):
            what = f"array of {value.dtype}"
        elif isinstance(value, list | tuple | dict):
            what = f"{what} with entries of another type"
        raise TypeError(f"{place} is {'an' if what[0] in 'aeiou' else 'a'} {what}")


def _fits(value: Any, annotation: Any) -> bool:
    annotation = _without_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if annotation is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return isinstance(value, np.ndarray) and (
            scalar is Any or issubclass(value.dtype.type, scalar)
        )
    if origin in (list, Sequence):
        return isinstance(value, list) and all(_fits(entry, arguments[0]) for entry in value)
    if origin is tuple:
        return _is_tuple(value, arguments)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            _fits(key, arguments[0]) and _fits(entry, arguments[1]) for key, entry in value.items()
        )
    if annotation is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, annotation)


def _without_alias(annotation: Any) -> Any:
    if isinstance(annotation, TypeAliasType):
        return _without_alias(annotation.__value__)
    origin = get_origin(annotation)
    if isinstance(origin, TypeAliasType):
        return _without_alias(origin.__value__[get_args(annotation)])
    return annotation


def _is_tuple(value: Any, arguments: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if arguments[-1] is Ellipsis:
        return all(_fits(entry, arguments[0]) for entry in value)
    return len(value) == len(arguments) and all(map(_fits, value, arguments))


def require(fits: bool | np.bool_, what: str) -> None:
    """Raise a ValueError about `what` unless it fits."""
    if not fits:
        raise ValueError(f"{what} does not fit the rest of the model")


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
        _check_indices(forest.index[kinds], limit, "index")
    if len(forest.disjunction):
        _check_indices(forest.disjunction + 1, n_features + 1, "disjunction")
        require(forest.disjunction[-1] == -1, "disjunction")
    for start, target, count, limit in (
        (forest.label_start, forest.label, forest.label_count, forest.n_labels),
        (forest.labelset_start, forest.labelset, forest.labelset_count, forest.n_labelsets),
    ):
        _check_starts(start, n_leaves, len(target), "label_start")
        _check_indices(target, limit, "label")
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
    _check_indices(forest.child[is_leaf], n_leaves, "child")
    once = np.bincount(forest.child[is_leaf], minlength=n_leaves) == 1
    require(once.all() and not np.isnan(forest.threshold).any(), "child")
    _check_indices(forest.feature[~is_leaf], n_features, "feature")
    require(forest.category_set.shape == (4 * int(tests_categories.sum()),), "category_set")
    require(forest.leaf_weight.ndim == 1 and (forest.leaf_weight > 0).all(), "leaf_weight")
    _check_starts(forest.row_start, n_leaves, len(forest.row), "row_start")
    _check_indices(forest.row, n_rows, "row")
    _check_starts(forest.label_start, n_leaves, len(forest.label), "label_start")
    _check_indices(forest.label, labels.n_labels, "label")
    require(forest.share.shape == forest.label.shape, "share")
    require(((forest.share >= 0) & (forest.share <= 1)).all(), "share")
    values = forest.category_value
    _check_starts(forest.category_start, n_features, len(values), "category_start")
    require(values.ndim == 1 and forest.category_bin.shape == values.shape, "category_bin")


def _check_label_rows(labels: LabelRows) -> int:
    """Check the labels of training rows; return the number of rows."""
    n_rows, n_labels = len(labels.positive_start) - 1, labels.n_labels
    _check_starts(labels.positive_start, n_rows, len(labels.positive), "positive_start")
    _check_indices(labels.positive, n_labels, "positive")
    _check_starts(labels.unknown_start, n_rows, len(labels.unknown), "unknown_start")
    _check_indices(labels.unknown, n_labels, "unknown")
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
    _check_indices(trees.feature[horizontal], trees.n_features, "feature")
    _check_indices(trees.default_child[horizontal], trees.n_children[horizontal], "default_child")
    require((trees.n_children[of_kind["numeric"]] == 2).all(), "n_children")

    n_lists = len(trees.list_start) - 1
    _check_starts(trees.list_start, n_lists, len(trees.list_label), "list_start")
    _check_indices(trees.list_label, trees.n_labels, "list_label")
    _check_indices(trees.label_list, n_lists, "label_list")
    _check_starts(trees.count_start, n_nodes, len(trees.label_count), "count_start")
    require(trees.label_predicted.shape == trees.label_count.shape, "label_predicted")
    n_listed = np.diff(trees.list_start)[trees.label_list]
    require((np.diff(trees.count_start) == np.where(is_leaf, n_listed, 0)).all(), "count_start")
    require((trees.n_samples > 0).all(), "n_samples")
    _check_counts(trees.label_count, trees.n_samples, trees.count_start, "label_count")
    _check_starts(trees.labelset_start, n_nodes, len(trees.labelset_count), "labelset_start")
    require((trees.labelset_count > 0).all(), "labelset_count")
    _check_starts(trees.member_start, len(trees.labelset_count), len(trees.member), "member_start")
    _check_indices(trees.member, trees.n_labels, "member")
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
    _check_starts(rules.condition_start, len(rules), len(rules.feature), "condition_start")
    for name in ("relation", "threshold"):
        require(getattr(rules, name).shape == rules.feature.shape, name)
    _check_indices(rules.feature, n_features, "feature")
    _check_indices(rules.relation, len(RELATIONS), "relation")
    for feature, categories in rules.categories.items():
        require(0 <= feature < n_features, "categories")
        check_categories(categories, "categories")
        positions = rules.threshold[rules.feature == feature]
        require(((positions >= 0) & (positions < len(categories))).all(), "threshold")
    _check_starts(rules.head_start, len(rules), len(rules.head_label), "head_start")
    require(rules.head_score.shape == rules.head_label.shape, "head_score")
    _check_indices(rules.head_label, n_labels, "head_label")


def check_layout(layout: Layout) -> None:
    """Check the arrays of a compiled model: `walk.h` follows all indices in them."""
    n_features, n_slots, n_labels = (
        len(layout.slot_start) - 1,
        len(layout.slot_feature),
        layout.n_labels,
    )
    require(n_labels > 0 and layout.width == -(-n_labels // 4) * 4, "width")
    _check_indices(layout.slot_feature, n_features, "slot_feature")
    _check_starts(layout.slot_start, n_features, n_slots, "slot_start")
    features = np.repeat(np.arange(n_features), np.diff(layout.slot_start))
    require(np.array_equal(layout.slot_feature, features), "slot_feature")
    require(layout.slot_missing.shape == layout.slot_absent.shape == (n_slots,), "slot_missing")
    require(layout.slope.shape == layout.intercept.shape == (n_labels,), "slope")
    require(
        layout.leaf_value.ndim == 1 and len(layout.leaf_value) % layout.width == 0, "leaf_value"
    )
    _check_starts(
        layout.leaf_start, len(layout.leaf_start) - 1, len(layout.leaf_label), "leaf_start"
    )
    _check_indices(layout.leaf_label, 2 * n_labels, "leaf_label")
    require(layout.leaf_share.shape == layout.leaf_label.shape, "leaf_share")
    _check_tree_parts(layout)
    _check_nodes(layout)
    for part in layout.linear:
        _check_linear_part(part, n_features, n_labels)
    for member in layout.members:
        for (begin, end), n in (
            (member.trees, len(layout.trees)),
            (member.linear, len(layout.linear)),
        ):
            require(0 <= begin <= end <= n, "members")
        require(0 < member.n_estimators < 2**31 and np.isfinite(member.share), "members")
        require(member.slope.shape == member.intercept.shape == (n_labels,), "members")
    of_boosters = all(part.start.size > 0 for part in layout.trees)
    if layout.is_single:
        require(len(layout.trees) == 1 and of_boosters, "is_single")
    if layout.starts_from_features:
        require(layout.is_single and n_features == 2 * n_labels, "starts_from_features")
    if layout.chain is not None:
        require(of_boosters and not layout.is_single, "chain")
        require(layout.n_given > 0 and layout.n_outputs > 0, "chain")
        require(0 < layout.chain.rule.labels_per_round <= n_labels, "chain")


def _check_tree_parts(layout: Layout) -> None:
    """Check that boosters and forests have all trees, one after the other."""
    end = 0
    for part in layout.trees:
        require(part.begin == end and part.begin <= part.end, "trees")
        end = part.end
        is_forest = part.start.size == 0
        require(part.start.shape == (0 if is_forest else layout.width,), "start")
        require(part.mean.shape == (layout.n_labels if is_forest else 0,), "mean")
    require(layout.root.shape == (end,), "root")


_BLOCK = 2**14
"""Nodes that are checked at a time."""


def _check_nodes(layout: Layout) -> None:
    """Check that tests of a tree are together, each before those below it, and its leaves exist."""
    nodes, root, sets = layout.nodes, layout.root, layout.sets
    require(nodes.ndim == 2 and nodes.shape[1] == 4 and sets.ndim == 1, "nodes")
    is_forest = np.repeat(
        [part.start.size == 0 for part in layout.trees],
        [part.end - part.begin for part in layout.trees],
    ).astype(bool)
    n_leaves = np.where(
        is_forest, len(layout.leaf_start) - 1, len(layout.leaf_value) // layout.width
    )
    require(max(len(nodes), n_leaves.max(initial=0)) < 2**31, "nodes")
    require((root >= -n_leaves).all(), "root")
    tested = np.flatnonzero(root >= 0)
    begin = np.append(root[tested], len(nodes))
    require(begin[0] == 0 and (np.diff(begin) > 0).all(), "root")
    size = np.diff(begin)
    least = np.repeat(-n_leaves[tested].astype(np.int32), size)
    end = np.repeat(begin[1:].astype(np.int32), size)
    for first in range(0, len(nodes), _BLOCK):  # which stays in the cache
        part = slice(first, first + _BLOCK)
        threshold, slot, *children = np.ascontiguousarray(nodes[part].T)
        own = np.arange(first, first + len(slot), dtype=np.int32)
        for child in children:
            require(((child > own) | (child < 0)).all(), "nodes")
            require(((child >= least[part]) & (child < end[part])).all(), "nodes")
        _check_indices(np.where(slot < 0, ~slot, slot), len(layout.slot_feature), "nodes")
        require(not (np.isnan(threshold.view(np.float32)) & (slot >= 0)).any(), "nodes")
    of_set = np.flatnonzero(nodes[:, 1] < 0)
    place = nodes[of_set, 0].astype(np.int64)
    _check_indices(place, len(sets), "sets")
    n_values = sets[place].astype(np.int64)
    require((n_values >= 0).all() and (place - n_values // -32 < len(sets)).all(), "sets")


def _check_linear_part(part: LinearPart, n_features: int, n_labels: int) -> None:
    """Check the columns of linear models."""
    n_columns = len(part.square)
    for name in ("column", "n_values", "indicator", "fill"):
        require(getattr(part, name).shape == (n_features,), name)
    require(part.weight.shape == (n_columns * n_labels,), "weight")
    require(part.square.ndim == 1 and part.intercept.shape == (n_labels,), "intercept")
    _check_indices(part.n_values, n_columns + 1, "n_values")
    _check_indices(
        part.column.astype(np.int64), n_columns + 1 - np.maximum(part.n_values, 1), "column"
    )
    _check_indices(part.indicator.astype(np.int64) + 1, n_columns + 1, "indicator")


def check_mixture(mixture: Mixture, n_columns: int | None, n_labels: int) -> None:
    """Check the trees of a `CTBNMixtureClassifier` whose design, if any, has `n_columns`."""
    require(len(mixture.components) > 0, "components")
    require(mixture.weights.shape == (len(mixture.components),), "weights")
    for component in mixture.components:
        parents, models = component.parents, component.models
        require(parents.shape == (n_labels,), "parents")
        _check_indices(parents + 1, n_labels + 1, "parents")
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


def check_categories(categories: NDArray[Any], what: str) -> None:
    """Check that categories are unique."""
    require(categories.ndim == 1 and pd.Index(categories).is_unique, what)


def check_permutation(order: NDArray[np.integer], n: int, what: str) -> None:
    """Check that an order is a permutation of the numbers below n."""
    require(np.array_equal(np.sort(order), np.arange(n)), what)


def _check_tree(
    start: NDArray[np.int64],
    is_leaf: NDArray[np.bool_],
    child: NDArray[np.int32],
    n_children: NDArray[np.int32],
) -> NDArray[np.intp]:
    """Check that all nodes of a tree are below its first; return each node's parent, or -1."""
    n_nodes = len(is_leaf)
    require(len(start) > 1, "start")
    _check_starts(start, len(start) - 1, n_nodes, "start")
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


def _check_starts(start: NDArray[np.integer], n: int, end: int, what: str) -> None:
    """Check the starts of the n pieces of an array."""
    require(start.shape == (n + 1,), what)
    require(start[0] == 0 and start[-1] == end and (np.diff(start) >= 0).all(), what)


def _check_counts(
    count: NDArray[np.int32], most: NDArray[np.int32], start: NDArray[np.int64], what: str
) -> None:
    """Check that the counts in each piece are at most what the piece holds."""
    require(count.shape == (start[-1],), what)
    require(((count >= 0) & (count <= np.repeat(most, np.diff(start)))).all(), what)


def _check_indices(
    indices: NDArray[np.integer], limit: int | NDArray[np.integer], what: str
) -> None:
    require(indices.ndim == 1, what)
    require(((indices >= 0) & (indices < limit)).all(), what)


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
