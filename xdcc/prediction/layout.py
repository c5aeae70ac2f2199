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

import numpy as np
from numpy.typing import NDArray

from xdcc.prediction.propagation_rule import Cumulation, Prediction, PropagationRule

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int32]


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
    """The sum of linear models with the same columns; `Linear` in ``flat_model.h``."""

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
    """A model as flat arrays; `Compiled` in ``flat_model.h`` describes them."""

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
