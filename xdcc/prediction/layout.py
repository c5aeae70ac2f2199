"""``Layout``: a model as flat arrays, which the loops of ``walk.h`` read.

Boosters, forests and linear models are *parts*; a member of a mixture has one or several. Trees of
all parts share their arrays. A tree's tests lie in the order in which rows visit them, depth first:
after each test comes the child that is visited more often. Leaves lie apart. Equal leaves of a
forest, of which there are many, are stored once.

What a node tests is a *slot* (``walk.h``): a feature, the infinity that stands for a
missing value, and what an entry is that a sparse row does not store: missing for a booster, 0 for a
forest.
"""

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from xdcc.base.state_checks import check_indices, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, Finite, Of, Shape, Starts, Within
from xdcc.prediction.propagation_rule import Cumulation, Prediction, PropagationRule

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int32]

_BLOCK = 2**14
"""Nodes that are checked at a time."""


@stored
@dataclass(frozen=True)
class TreePart:
    """A booster or a forest: its trees; margins to start from, or frequencies of the labels."""

    begin: int
    end: int
    start: Annotated[NDArray[np.float32], Shape(None)] = field(
        default_factory=lambda: np.empty(0, np.float32)
    )
    mean: Annotated[Floats, Shape(None)] = field(default_factory=lambda: np.empty(0))
    has_unknown: bool = False

    @property
    def is_forest(self) -> bool:
        """Whether it is a forest; a booster starts from margins."""
        return self.start.size == 0


@stored
@dataclass(frozen=True)
class LinearPart:
    """The sum of linear models with the same columns; `Linear` in ``flat_model.h``."""

    column: Annotated[Ints, Shape(None)]
    n_values: Annotated[Ints, Shape("column")]
    indicator: Annotated[Ints, Shape("column")]
    fill: Annotated[Floats, Shape("column")]
    weight: Annotated[Floats, Shape(None)]
    square: Annotated[Floats, Shape(None)]
    intercept: Annotated[Floats, Shape(None)]
    text_like: bool

    def _check_state(self) -> None:
        n_columns = len(self.square)
        require(len(self.weight) == n_columns * len(self.intercept), "weight")
        check_indices(self.n_values, n_columns + 1, "n_values")
        last = n_columns + 1 - np.maximum(self.n_values, 1)
        check_indices(self.column.astype(np.int64), last, "column")
        check_indices(self.indicator.astype(np.int64) + 1, n_columns + 1, "indicator")


@stored
@dataclass(frozen=True)
class MemberPart:
    """A member of a mixture: the ranges of its parts, and what is done with their sum."""

    trees: tuple[int, int]
    linear: tuple[int, int]
    n_estimators: Annotated[int, Within(1, 2**31 - 1)]
    share: Annotated[float, Finite()]
    slope: Annotated[Floats, Shape(None)]
    intercept: Annotated[Floats, Shape(None)]


@stored
@dataclass(frozen=True)
class ChainPart:
    """How a dynamic chain goes from round to round; the rounds are members.

    The last features are those of the labels. `end_label`: whether the last output is one.
    """

    rule: PropagationRule
    end_label: bool
    prediction: Prediction
    cumulation: Cumulation


@stored
@dataclass(frozen=True)
class Layout:
    """A model as flat arrays; `Compiled` in ``flat_model.h`` describes them."""

    n_labels: Annotated[int, Within(1)]
    width: int
    is_single: bool
    slot_feature: Annotated[Ints, Shape(None), Below("n_features")]
    slot_start: Annotated[Ints, Starts("slot_feature")]
    slot_missing: Annotated[NDArray[np.float32], Shape("slot_feature")]
    slot_absent: Annotated[NDArray[np.float32], Shape("slot_feature")]
    nodes: Annotated[Ints, Shape(None, 4)]
    root: Annotated[Ints, Shape(None)]
    sets: Annotated[Ints, Shape(None)]
    leaf_value: Annotated[NDArray[np.float32], Shape(None)]
    leaf_start: Annotated[NDArray[np.int64], Starts("leaf_label")]
    leaf_label: Annotated[Ints, Shape(None)]
    leaf_share: Annotated[Floats, Shape("leaf_label")]
    trees: list[TreePart]
    linear: Annotated[list[LinearPart], Of(column="n_features", intercept="n_labels")]
    members: Annotated[list[MemberPart], Of(slope="n_labels", intercept="n_labels")]
    slope: Annotated[Floats, Shape("n_labels")]
    intercept: Annotated[Floats, Shape("n_labels")]
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

    def _check_state(self) -> None:
        """Check what the loops of ``walk.h`` rely on: they follow all indices."""
        require(self.width == -(-self.n_labels // 4) * 4, "width")
        features = np.repeat(np.arange(self.n_features), np.diff(self.slot_start))
        require(np.array_equal(self.slot_feature, features), "slot_feature")
        require(len(self.leaf_value) % self.width == 0, "leaf_value")
        check_indices(self.leaf_label, 2 * self.n_labels, "leaf_label")
        self._check_trees()
        self._check_nodes()
        for member in self.members:
            for (begin, end), parts in ((member.trees, self.trees), (member.linear, self.linear)):
                require(0 <= begin <= end <= len(parts), "members")
        of_boosters = not any(part.is_forest for part in self.trees)
        if self.is_single:
            require(len(self.trees) == 1 and of_boosters, "is_single")
        if self.starts_from_features:
            require(self.is_single and self.n_features == 2 * self.n_labels, "starts_from_features")
        if self.chain is not None:
            require(of_boosters and not self.is_single, "chain")
            require(self.n_given > 0 and self.n_outputs > 0, "chain")
            require(0 < self.chain.rule.labels_per_round <= self.n_labels, "chain")

    def _check_trees(self) -> None:
        """Check that boosters and forests have all trees, one after the other."""
        end = 0
        for part in self.trees:
            require(part.begin == end and part.begin <= part.end, "trees")
            end = part.end
            require(len(part.start) == (0 if part.is_forest else self.width), "start")
            require(len(part.mean) == (self.n_labels if part.is_forest else 0), "mean")
        require(len(self.root) == end, "root")

    def _check_nodes(self) -> None:
        """Check that a tree's tests are together, each before those below, and its leaves exist."""
        nodes, root, sets = self.nodes, self.root, self.sets
        n_trees = [part.end - part.begin for part in self.trees]
        is_forest = np.repeat([part.is_forest for part in self.trees], n_trees).astype(bool)
        n_leaves = np.where(is_forest, len(self.leaf_start) - 1, len(self.leaf_value) // self.width)
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
            check_indices(np.where(slot < 0, ~slot, slot), len(self.slot_feature), "nodes")
            require(not (np.isnan(threshold.view(np.float32)) & (slot >= 0)).any(), "nodes")
        of_set = np.flatnonzero(nodes[:, 1] < 0)
        place = nodes[of_set, 0].astype(np.int64)
        check_indices(place, len(sets), "sets")
        n_values = sets[place].astype(np.int64)
        require((n_values >= 0).all() and (place - n_values // -32 < len(sets)).all(), "sets")
