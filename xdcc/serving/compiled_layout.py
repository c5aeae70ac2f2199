"""``Layout``: a model as flat arrays, which the loops of ``compiled_walk.h`` read.

Boosters, forests and linear models are *parts*; a member of a mixture has one or several. Trees of
all parts share their arrays. A tree's tests are stored depth first, in the order in which rows
visit them: after each test comes the child that is visited more often. Leaves are stored
separately. Equal leaves of a forest, of which there are many, are stored once.

A node tests a *slot* (``compiled_walk.h``). A slot consists of a feature, the infinity that stands
for a missing value, and the meaning of an entry that a sparse row does not store: missing for a
booster, 0 for a forest.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import Categories
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain.loop import Cumulation, Prediction
from xdcc.chain.propagation import PropagationRule
from xdcc.decision.calibration import LabelCalibration
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.forest.forest import ExtraTrees
from xdcc.forest.leaves import leaf_shares
from xdcc.linear import LogisticLabels

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int32]

_NODE = np.dtype([("threshold", "f4"), ("slot", "i4"), ("smaller", "i4"), ("other", "i4")])

_LEAF = 0
"""Kinds of the nodes of a forest, as in ``_node.pxd``."""

_MISSING_BIN = 255
_MISSING_RIGHT, _ABSENT_IS_ZERO = 2, 1
"""Bits of a slot before slots are numbered; above them is the feature."""


@dataclass(frozen=True)
class TreePart:
    """A booster or a forest: its trees; margins to start from, or frequencies of the labels."""

    begin: int
    end: int
    start: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    mean: Floats = field(default_factory=lambda: np.empty(0))
    has_unknown: bool = False


@dataclass(frozen=True)
class LinearPart:
    """The sum of linear models with the same columns; `Linear` in ``compiled_walk.h``."""

    column: Ints
    n_values: Ints
    indicator: Ints
    fill: Floats
    weight: Floats
    square: Floats
    intercept: Floats
    text_like: bool


@dataclass(frozen=True)
class MemberPart:
    """A member of a mixture: the ranges of its parts, and what is done with their sum."""

    trees: tuple[int, int]
    linear: tuple[int, int]
    n_estimators: int
    share: float
    slope: Floats
    intercept: Floats


@dataclass(frozen=True)
class ChainPart:
    """How a dynamic chain goes from round to round; the rounds are members.

    The last features are those of the labels. `end_label`: whether the last output is one.
    """

    rule: PropagationRule
    end_label: bool
    prediction: Prediction
    cumulation: Cumulation


@dataclass(frozen=True)
class Layout:
    """A model as flat arrays; `Compiled` in ``compiled_walk.h`` describes them."""

    n_labels: int
    width: int
    is_single: bool
    slot_feature: Ints
    slot_start: Ints
    slot_missing: NDArray[np.float32]
    slot_absent: NDArray[np.float32]
    nodes: Ints
    root: Ints
    sets: Ints
    leaf_value: NDArray[np.float32]
    leaf_start: NDArray[np.int64]
    leaf_label: Ints
    leaf_share: Floats
    trees: list[TreePart]
    linear: list[LinearPart]
    members: list[MemberPart]
    slope: Floats
    intercept: Floats
    starts_from_features: bool = False
    chain: ChainPart | None = None

    @property
    def n_features(self) -> int:
        """Number of features, those of the labels in a chain included."""
        return len(self.slot_start) - 1

    @property
    def n_given(self) -> int:
        """Number of features of X."""
        return self.n_features - (0 if self.chain is None else self.n_labels)

    @property
    def n_outputs(self) -> int:
        """Number of labels, without the end label of a chain."""
        return self.n_labels - (self.chain is not None and self.chain.end_label)

    @property
    def kind(self) -> str:
        """The computation: "chain", "from features", "single" or "mixture"."""
        if self.chain is not None:
            return "chain"
        return (
            "from features"
            if self.starts_from_features
            else "single"
            if self.is_single
            else "mixture"
        )


class _Nodes(NamedTuple):
    """Nodes of some trees, an entry of each array for a node."""

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
    categories : dict
        Categories of the columns that have any, as estimators keep them.
    """

    def __init__(self, n_features: int, n_labels: int, categories: Categories) -> None:
        self._n_features = n_features
        self._n_labels = n_labels
        self._width = -(-n_labels // 4) * 4
        self._categories = categories
        self._trees: list[TreePart] = []
        self._linear: list[LinearPart] = []
        self._members: list[MemberPart] = []
        self._nodes: list[NDArray[Any]] = []
        self._root: list[int] = []
        self._n_nodes = 0
        self._sets: list[int] = []
        self._leaf_values: list[NDArray[np.float32]] = []
        self._n_leaves = 0
        self._forest_leaves: list[Any] = []
        self._n_forest_leaves = 0

    def add_member(
        self, estimators: Sequence[Any], share: float, slope: Floats, intercept: Floats
    ) -> None:
        """Add a member: the mean of fitted estimators, times `slope`, plus `intercept`.

        Raises a TypeError that names the class of an estimator that has no flat form.
        """
        first_tree, first_linear = len(self._trees), len(self._linear)
        linear: list[LogisticLabels] = []
        for estimator in estimators:
            if type(estimator) is MultiLabelXGBClassifier:
                self._add_booster(estimator._booster_that_predicts())
            elif type(estimator) is SketchedExtraTreesClassifier:
                self._add_forest(estimator.forest_)
            elif type(estimator) is LogisticLabels:
                linear.append(estimator)
            else:
                raise TypeError(
                    "CompiledModel serves ensembles of MultiLabelXGBClassifier, "
                    "SketchedExtraTreesClassifier and LogisticLabels, not of "
                    f"{type(estimator).__module__}.{type(estimator).__name__}."
                )
        self._add_linear(linear)
        trees, linear_parts = (first_tree, len(self._trees)), (first_linear, len(self._linear))
        self._members.append(
            MemberPart(trees, linear_parts, len(estimators), share, slope, intercept)
        )

    def add_boosters(self, boosters: Sequence[xgb.Booster]) -> None:
        """Add the boosters of a round of a chain, or a single one."""
        first = len(self._trees)
        for booster in boosters:
            self._add_booster(booster)
        nothing = np.zeros(self._n_labels)
        trees = first, len(self._trees)
        self._members.append(MemberPart(trees, (0, 0), len(boosters), 1.0, nothing, nothing))

    def build(
        self,
        calibration: LabelCalibration | None,
        *,
        starts_from_features: bool = False,
        chain: ChainPart | None = None,
    ) -> Layout:
        """Make the arrays.

        With a calibration of the whole, or None for a single booster, which may start from margins
        that are its first features, or for a chain.
        """
        nodes = np.concatenate([np.empty(0, _NODE), *self._nodes])
        is_set = nodes["slot"] < 0
        keys, slot = np.unique(np.where(is_set, ~nodes["slot"], nodes["slot"]), return_inverse=True)
        nodes["slot"] = np.where(is_set, ~slot, slot)
        feature = keys >> 2
        missing = np.where(keys & _MISSING_RIGHT, np.inf, -np.inf).astype(np.float32)
        leaves = sparse.vstack([sparse.csr_array((0, 2 * self._n_labels)), *self._forest_leaves])
        leaves = sparse.csr_array(leaves)
        constant_slope, constant = np.ones(self._n_labels), np.zeros(self._n_labels)
        if calibration is not None:
            constant_slope, constant = affine(calibration)
        return Layout(
            n_labels=self._n_labels,
            width=self._width,
            is_single=calibration is None and chain is None,
            slot_feature=feature.astype(np.int32),
            slot_start=np.searchsorted(feature, np.arange(self._n_features + 1)).astype(np.int32),
            slot_missing=missing,
            slot_absent=np.where(keys & _ABSENT_IS_ZERO, np.float32(0), missing),
            nodes=nodes.view(np.int32).reshape(-1, 4),
            root=np.array(self._root, np.int32),
            sets=np.array(self._sets, np.uint32).view(np.int32),
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

    def _add_booster(self, booster: xgb.Booster) -> None:
        model = json.loads(booster.save_raw("json"))
        holder = model["learner"]["gradient_booster"]["model"]
        begin = len(self._root)
        for tree, group in zip(holder["trees"], holder["tree_info"], strict=True):
            self._add_tree(tree, group)
        start = np.zeros(self._width, np.float32)
        start[: self._n_labels] = _start_margins(model, self._n_features)
        self._trees.append(TreePart(begin, len(self._root), start))

    def _add_tree(self, tree: dict[str, Any], group: int) -> None:
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        threshold = np.array(tree["split_conditions"], np.float32)
        slot = np.array(tree["split_indices"], np.int32) << 2
        slot += np.where(np.array(tree["default_left"], bool), 0, _MISSING_RIGHT)
        for node, place in self._add_sets(tree).items():
            slot[node], threshold[node] = ~slot[node], np.int32(place).view(np.float32)
        is_leaf = left < 0
        if "leaf_weights" in tree:  # the right child of a leaf is its row there
            leaf = np.where(is_leaf, right, 0)
            vectors = np.array(tree["leaf_weights"], np.float32).reshape(-1, self._n_labels)
            values = np.zeros((len(vectors), self._width), np.float32)
            values[:, : self._n_labels] = vectors
        else:  # a leaf's condition is its value
            leaf = np.cumsum(is_leaf) - 1
            values = np.zeros((is_leaf.sum(), self._width), np.float32)
            values[:, group] = threshold[is_leaf]
        nodes = _Nodes(left, right, threshold, slot, self._n_leaves + leaf, is_leaf)
        self._add_nodes(nodes, np.zeros(1, np.intp), np.array(tree["sum_hessian"]))
        self._leaf_values.append(values.ravel())
        self._n_leaves += len(values)

    def _add_nodes(self, nodes: "_Nodes", root: NDArray[np.intp], cover: Floats) -> None:
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

    def _add_sets(self, tree: dict[str, Any]) -> dict[int, int]:
        """Add the sets of categories that go to the right; return the place of each by its node."""
        places = {}
        for node, begin, size in zip(
            tree["categories_nodes"],
            tree["categories_segments"],
            tree["categories_sizes"],
            strict=True,
        ):
            members = np.array(tree["categories"][begin : begin + size])
            places[node] = self._add_set(np.isin(np.arange(members.max(initial=0) + 1), members))
        return places

    def _add_set(self, is_in: NDArray[np.bool_]) -> int:
        place = len(self._sets)
        packed = np.packbits(is_in, bitorder="little")
        words = np.zeros(-(-len(is_in) // 32), "<u4")
        words.view(np.uint8)[: len(packed)] = packed
        self._sets += [len(is_in), *words.tolist()]
        return place

    def _add_forest(self, forest: ExtraTrees) -> None:
        if not set(np.flatnonzero(np.diff(forest.category_start))) <= set(self._categories):
            raise TypeError(
                "CompiledModel serves forests whose discrete features are columns of the type "
                "category, not those that were named in `categorical_features`."
            )
        # Label frequencies, then the shares in which labels are unknown.
        shares = sparse.hstack(leaf_shares(forest), format="csr")
        leaves, number = _distinct_rows(sparse.csr_array(shares))
        is_leaf = forest.kind == _LEAF
        # value > threshold exactly where it is not less than the next number.
        threshold = np.nextafter(forest.threshold, np.float32(np.inf))
        goes_right = forest.missing.astype(np.int32)
        of_sets = forest.category_nodes
        places = np.zeros(len(of_sets), np.int32)
        for i, node in enumerate(of_sets.tolist()):
            words = forest.category_set[4 * i : 4 * i + 4].astype("<u8")
            bits = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
            places[i] = self._add_set(bits[self._bins(forest, int(forest.feature[node]))])
            goes_right[node] = bits[_MISSING_BIN]
        threshold[of_sets] = places.view(np.float32)
        slot = forest.feature << 2 | goes_right * _MISSING_RIGHT | _ABSENT_IS_ZERO
        slot[of_sets] = ~slot[of_sets]
        leaf, cover = np.zeros(len(slot), np.intp), np.zeros(len(slot))
        leaf[is_leaf] = self._n_forest_leaves + number[forest.child[is_leaf]]
        cover[is_leaf] = forest.leaf_weight[forest.child[is_leaf]]
        begin = len(self._root)
        nodes = _Nodes(forest.child, forest.child + 1, threshold, slot, leaf, is_leaf)
        self._add_nodes(nodes, forest.start[:-1], cover)
        self._forest_leaves.append(leaves)
        self._n_forest_leaves += leaves.shape[0]
        has_unknown = bool(len(forest.labels.unknown))
        mean = np.ascontiguousarray(forest.labels.mean)
        self._trees.append(TreePart(begin, len(self._root), mean=mean, has_unknown=has_unknown))

    def _bins(self, forest: ExtraTrees, feature: int) -> NDArray[np.uint8]:
        """Return the bin of each category; new ones are missing."""
        part = slice(forest.category_start[feature], forest.category_start[feature + 1])
        bins = np.full(len(self._categories[feature]), _MISSING_BIN, np.uint8)
        bins[forest.category_value[part].astype(np.intp)] = forest.category_bin[part]
        return bins

    def _add_linear(self, estimators: Sequence[LogisticLabels]) -> None:
        """Add linear models, those with the same columns as one."""
        groups: list[list[LogisticLabels]] = []
        for estimator in estimators:
            for group in groups:
                if _same_columns(group[0], estimator):
                    group.append(estimator)
                    break
            else:
                groups.append([estimator])
        for group in groups:
            columns = group[0]._columns
            first = columns._first_columns()
            numbers = np.cumsum(columns.has_indicator) - 1 + first[-1]
            weight = np.sum([model.coef_.T for model in group], axis=0)
            self._linear.append(
                LinearPart(
                    column=first[:-1].astype(np.int32),
                    n_values=columns.n_categories.astype(np.int32),
                    indicator=np.where(columns.has_indicator, numbers, -1).astype(np.int32),
                    fill=np.ascontiguousarray(columns.fill),
                    weight=np.ascontiguousarray(weight).ravel(),
                    square=columns.scale**2,
                    intercept=np.sum([model.intercept_ for model in group], axis=0),
                    text_like=columns.text_like,
                )
            )


def _visit_order(nodes: _Nodes, root: NDArray[np.intp], cover: Floats) -> NDArray[np.intp]:
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


def affine(calibration: LabelCalibration) -> tuple[Floats, Floats]:
    """Return the slope and the intercept of a calibration; constant labels have the slope 0."""
    varied = calibration.constant.varied
    slope = np.where(varied, calibration.slope, 0.0)
    zero = np.zeros((1, len(slope)))
    return slope, np.where(varied, calibration.intercept, calibration.margins(zero)[0])


def _start_margins(model: dict[str, Any], n_features: int) -> NDArray[np.float32]:
    """Ask XGBoost for the margins of the model without trees: with one whose leaves are zero."""
    holder = model["learner"]["gradient_booster"]["model"]
    tree = holder["trees"][0]
    for name in tree.keys() & {"leaf_weights", "split_conditions"}:
        tree[name] = [0.0] * len(tree[name])
    holder.update(trees=[tree], tree_info=holder["tree_info"][:1], iteration_indptr=[0, 1])
    holder["gbtree_model_param"].update(num_trees="1", num_parallel_tree="1")
    empty = xgb.Booster()
    empty.load_model(bytearray(json.dumps(model).encode()))
    row = np.zeros((1, n_features), np.float32)
    found = empty.inplace_predict(row, predict_type="margin", validate_features=False)
    return np.asarray(found, np.float32).reshape(-1)


def _distinct_rows(matrix: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Return the distinct rows, and the number of each row among them."""
    matrix.sort_indices()
    length = np.diff(matrix.indptr)
    number = np.empty(len(length), np.intp)
    kept: list[NDArray[np.intp]] = []
    n_kept = 0
    for size in np.unique(length).tolist():
        rows = np.flatnonzero(length == size)
        entries = matrix.indptr[rows][:, np.newaxis] + np.arange(size)
        content = np.hstack(
            (matrix.indices[entries].astype(np.int64), matrix.data[entries].view(np.int64))
        )
        if size == 0:
            first, inverse = np.zeros(1, np.intp), np.zeros(len(rows), np.intp)
        else:
            _, first, inverse = np.unique(content, axis=0, return_index=True, return_inverse=True)
        kept.append(rows[first])
        number[rows] = n_kept + inverse
        n_kept += len(first)
    return matrix[np.concatenate(kept)], number


def _same_columns(one: LogisticLabels, other: LogisticLabels) -> bool:
    first, second = one._columns, other._columns
    return first is second or (
        first.text_like == second.text_like
        and all(
            np.array_equal(getattr(first, name), getattr(second, name))
            for name in ("n_categories", "fill", "has_indicator", "scale")
        )
    )
