"""Extra trees on sketches, which help most where X is dense."""

from collections.abc import Sequence
from math import log2
from typing import Any

import numpy as np

from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.shape import Shape
from xdcc.forest import SketchedExtraTreesClassifier

_TREES = ((200, 4.0), (100, 12.0), (60, np.inf))
"""Trees of a forest for each fold, and the seconds up to which it has that many."""

_PER_DRAW = 6e-9
"""Seconds for a row and a feature that a node of a forest draws."""


class ExtraTreesForests(MemberFamily):
    """Forests; none where one fold is enough and time is not limited, as rows are many then."""

    name = "extra trees"
    draws = 1

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List a forest."""
        return [] if shape.n_folds == 1 and longest == np.inf else [forest(shape)]

    def draw(self, shape: Shape, random: np.random.Generator, longest: float) -> Candidate:
        """Draw a forest."""
        return forest(
            shape,
            max_features=random.choice([0.1, 0.3, 0.6]),
            min_samples_leaf=int(random.choice([1, 2, 3, 5])),
        )


def forest(shape: Shape, **params: Any) -> Candidate:
    """Describe a forest of extra trees."""
    share = shape.n_entries / (shape.n_rows * shape.n_features)
    drawn = min(2 * shape.n_features**0.5, shape.n_features * max(share, 0.01))
    depth = log2(max(shape.n_rows, 2))
    for n_trees, longest in _TREES:
        seconds = _PER_DRAW * shape.n_folds * n_trees * shape.n_rows * depth * drawn
        if seconds <= longest:
            break
    model = SketchedExtraTreesClassifier(n_estimators=n_trees, **params)
    return Candidate("extra trees", model, seconds)
