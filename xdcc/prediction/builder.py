"""``LayoutBuilder``: makes the flat arrays of a model (:class:`~xdcc.prediction.layout.Layout`).

Estimators that have a flat form add themselves to a builder, by a method ``_add_to``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.libraries import sparse, xgb
from xdcc.prediction.booster_trees import read_trees, start_margins
from xdcc.prediction.layout import (
    ChainPart,
    Floats,
    Ints,
    Layout,
    LinearPart,
    MemberPart,
    TreePart,
)

_NODE = np.dtype([("threshold", "f4"), ("slot", "i4"), ("smaller", "i4"), ("other", "i4")])

MISSING_RIGHT, ABSENT_IS_ZERO = 2, 1
"""Bits of a slot before slots are numbered; above them is the feature."""


class NotFlat(TypeError):
    """An estimator has no flat form; the message says which and why."""


class Nodes(NamedTuple):
    """Nodes of some trees, an entry of each array for a node.

    Attributes
    ----------
    left, right : int arrays
        Children; anything for a leaf.
    threshold : float32 array
        Values that are not less go to the right; of a test for categories, the bits of the place
        of its set.
    slot : int32 array
        ``feature << 2``, plus `MISSING_RIGHT`, plus `ABSENT_IS_ZERO`; ``~slot`` for categories.
    leaf : int array
        Number of a leaf.
    is_leaf : bool array
    """

    left: NDArray[Any]
    right: NDArray[Any]
    threshold: NDArray[np.float32]
    slot: Ints
    leaf: NDArray[np.intp]
    is_leaf: NDArray[np.bool_]


class LayoutBuilder:
    """Collects the parts of a model.

    Parameters
    ----------
    n_features, n_labels : int
        Numbers of the model's features and labels.
    """

    def __init__(self, n_features: int, n_labels: int) -> None:
        self._n_features = n_features
        self._n_labels = n_labels
        self._width = -(-n_labels // 4) * 4
        self._trees: list[TreePart] = []
        self._linear: list[LinearPart] = []
        self._members: list[MemberPart] = []
        self._nodes: list[NDArray[Any]] = []
        self._root: list[int] = []
        self._n_nodes = 0
        self._sets: list[NDArray[np.uint32]] = []
        self._n_words = 0
        self._leaf_values: list[NDArray[np.float32]] = []
        self._n_leaves = 0
        self._forest_leaves: list[Any] = []
        self._n_forest_leaves = 0

    def add_member(
        self, estimators: Sequence[Any], share: float, slope: Floats, intercept: Floats
    ) -> None:
        """Add a member: the mean of fitted estimators, times `slope`, plus `intercept`.

        Raises a `NotFlat` that names the class of an estimator that has no flat form.
        """
        first_tree, first_linear = len(self._trees), len(self._linear)
        for estimator in estimators:
            add_to = getattr(estimator, "_add_to", None)
            if add_to is None:
                raise NotFlat(f"{type(estimator).__module__}.{type(estimator).__name__}")
            add_to(self)
        self._linear[first_linear:] = _joined(self._linear[first_linear:])
        trees, linear_parts = (first_tree, len(self._trees)), (first_linear, len(self._linear))
        self._members.append(
            MemberPart(trees, linear_parts, len(estimators), share, slope, intercept)
        )

    def add_boosters(self, boosters: "Sequence[xgb.Booster]") -> None:
        """Add the boosters of a round of a chain, or a single one."""
        first = len(self._trees)
        for booster in boosters:
            self.add_booster(booster)
        nothing = np.zeros(self._n_labels)
        trees = first, len(self._trees)
        self._members.append(MemberPart(trees, (0, 0), len(boosters), 1.0, nothing, nothing))

    def add_booster(self, booster: "xgb.Booster") -> None:
        """Add a booster to the member that is made."""
        found = read_trees(booster, self._n_labels)
        slot = found.feature << 2
        slot += np.where(found.default_left, 0, MISSING_RIGHT).astype(np.int32)
        threshold = found.condition.copy()
        of_sets = found.category_node
        slot[of_sets] = ~slot[of_sets]
        threshold[of_sets] = self._add_sets(found.category_count, found.category).view(np.float32)
        begin = len(self._root)
        leaf = self._n_leaves + found.leaf
        nodes = Nodes(found.left, found.right, threshold, slot, leaf, found.left < 0)
        self._add_nodes(nodes, found.root, found.cover)
        values = np.zeros((len(found.leaf_value), self._width), np.float32)
        values[:, : self._n_labels] = found.leaf_value
        self._leaf_values.append(values.ravel())
        self._n_leaves += len(values)
        start = np.zeros(self._width, np.float32)
        start[: self._n_labels] = start_margins(booster, self._n_features)
        self._trees.append(TreePart(begin, len(self._root), start))

    def add_forest(
        self,
        nodes: Nodes,
        root: NDArray[np.intp],
        cover: Floats,
        leaves: "sparse.csr_array",
        mean: Floats,
        *,
        has_unknown: bool,
    ) -> None:
        """Add a forest to the member that is made.

        Parameters
        ----------
        nodes : Nodes
            Nodes of all trees.
        root : int array of shape (n_trees,)
            Their roots.
        cover : float64 array of shape (n_nodes,)
            Weight of the training rows in each leaf.
        leaves : CSR array of shape (n_leaves, 2 * n_labels)
            Frequencies of the labels, then shares in which they are unknown.
        mean : float64 array of shape (n_labels,)
            Frequencies of the labels in training.
        has_unknown : bool
            Whether a label is unknown somewhere.
        """
        begin = len(self._root)
        leaf = np.where(nodes.is_leaf, self._n_forest_leaves + nodes.leaf, 0)
        self._add_nodes(nodes._replace(leaf=leaf), root, cover)
        self._forest_leaves.append(leaves)
        self._n_forest_leaves += leaves.shape[0]
        self._trees.append(TreePart(begin, len(self._root), mean=mean, has_unknown=has_unknown))

    def add_linear(self, part: LinearPart) -> None:
        """Add a linear model to the member that is made."""
        self._linear.append(part)

    def add_set(self, is_in: NDArray[np.bool_]) -> int:
        """Add a set of categories, (n_categories,), and return its place."""
        members = np.flatnonzero(is_in)
        return int(self._add_sets(np.array([len(members)]), members)[0])

    def _add_sets(self, count: NDArray[np.intp], members: NDArray[np.intp]) -> Ints:
        """Add sets of this many members, one after the other, and return their places.

        A set is a number of categories, beyond which none is in it, and then a bit for each.
        """
        number = np.repeat(np.arange(len(count)), count)
        size = np.ones(len(count), np.intp)
        np.maximum.at(size, number, members + 1)
        length = 1 + -(-size // 32)
        begin = np.cumsum(length) - length
        words = np.zeros(length.sum(), np.uint32)
        words[begin] = size
        bits = np.uint32(1) << (members % 32).astype(np.uint32)
        np.bitwise_or.at(words, begin[number] + 1 + members // 32, bits)
        places = (self._n_words + begin).astype(np.int32)
        self._sets.append(words)
        self._n_words += len(words)
        return places

    def build(
        self,
        calibration: tuple[Floats, Floats] | None,
        *,
        starts_from_features: bool = False,
        chain: ChainPart | None = None,
    ) -> Layout:
        """Make the arrays.

        `calibration` has slopes and intercepts of the whole; None for a single booster, which may
        start from margins that are its first features, or for a chain.
        """
        nodes = np.concatenate([np.empty(0, _NODE), *self._nodes])
        is_set = nodes["slot"] < 0
        keys, slot = np.unique(np.where(is_set, ~nodes["slot"], nodes["slot"]), return_inverse=True)
        nodes["slot"] = np.where(is_set, ~slot, slot)
        feature = keys >> 2
        missing = np.where(keys & MISSING_RIGHT, np.inf, -np.inf).astype(np.float32)
        leaves = sparse.vstack([sparse.csr_array((0, 2 * self._n_labels)), *self._forest_leaves])
        leaves = sparse.csr_array(leaves)
        constant_slope, constant = np.ones(self._n_labels), np.zeros(self._n_labels)
        if calibration is not None:
            constant_slope, constant = calibration
        return Layout(
            n_labels=self._n_labels,
            width=self._width,
            is_single=calibration is None and chain is None,
            slot_feature=feature.astype(np.int32),
            slot_start=np.searchsorted(feature, np.arange(self._n_features + 1)).astype(np.int32),
            slot_missing=missing,
            slot_absent=np.where(keys & ABSENT_IS_ZERO, np.float32(0), missing),
            nodes=nodes.view(np.int32).reshape(-1, 4),
            root=np.array(self._root, np.int32),
            sets=np.concatenate([np.empty(0, np.uint32), *self._sets]).view(np.int32),
            leaf_value=np.concatenate([np.empty(0, np.float32), *self._leaf_values]),
            leaf_start=leaves.indptr.astype(np.int64),
            leaf_label=leaves.indices.astype(np.int32),
            leaf_share=leaves.data.astype(np.float64),
            trees=self._trees,
            linear=self._linear,
            members=self._members,
            slope=constant_slope,
            intercept=constant,
            starts_from_features=starts_from_features,
            chain=chain,
        )

    def _add_nodes(self, nodes: Nodes, root: NDArray[np.intp], cover: Floats) -> None:
        """Add trees in the order of visits; a reference to a leaf is ~ its number."""
        tests = np.flatnonzero(~nodes.is_leaf)
        place = self._n_nodes + _visit_order(nodes, root, cover)
        reference = np.where(nodes.is_leaf, ~nodes.leaf, place)
        made = np.empty(len(tests), _NODE)
        at = place[tests] - self._n_nodes
        made["threshold"][at], made["slot"][at] = nodes.threshold[tests], nodes.slot[tests]
        made["smaller"][at] = reference[nodes.left[tests]]
        made["other"][at] = reference[nodes.right[tests]]
        self._root += reference[root].tolist()
        self._nodes.append(made)
        self._n_nodes += len(made)


def _visit_order(nodes: Nodes, root: NDArray[np.intp], cover: Floats) -> NDArray[np.intp]:
    """Give numbers to the tests of trees: below each, first what most rows visit.

    `cover` has the number of rows in each leaf.
    """
    levels = []
    level = root[~nodes.is_leaf[root]]
    while len(level):
        levels.append(level)
        below = np.concatenate((nodes.left[level], nodes.right[level]))
        level = below[~nodes.is_leaf[below]]
    size, cover = np.zeros(len(cover), np.intp), cover.astype(np.float64)
    for level in reversed(levels):
        left, right = nodes.left[level], nodes.right[level]
        size[level] = 1 + size[left] + size[right]
        cover[level] = cover[left] + cover[right]
    place = np.zeros(len(cover), np.intp)
    place[root] = np.cumsum(size[root]) - size[root]
    for level in levels:
        left, right = nodes.left[level], nodes.right[level]
        is_first = cover[left] >= cover[right]
        first, second = np.where(is_first, left, right), np.where(is_first, right, left)
        place[first] = place[level] + 1
        place[second] = place[first] + size[first]
    return place


def _joined(parts: Sequence[LinearPart]) -> list[LinearPart]:
    """Add up linear models that have the same columns."""
    groups: list[list[LinearPart]] = []
    for part in parts:
        for group in groups:
            if _have_same_columns(group[0], part):
                group.append(part)
                break
        else:
            groups.append([part])
    return [
        replace(
            group[0],
            weight=np.sum([part.weight for part in group], axis=0),
            intercept=np.sum([part.intercept for part in group], axis=0),
        )
        for group in groups
    ]


def _have_same_columns(one: LinearPart, other: LinearPart) -> bool:
    return one.text_like == other.text_like and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("column", "n_values", "indicator", "fill", "square")
    )
