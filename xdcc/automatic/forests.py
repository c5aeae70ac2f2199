"""Extra trees on sketches, which help most where X is dense."""

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
from sklearn.base import clone

from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.shape import Shape
from xdcc.automatic.trial import Trial
from xdcc.forest import SketchedExtraTreesClassifier

_TREES = ((200, 4.0), (100, 12.0), (60, np.inf))
"""Trees of a forest for each fold, and the seconds up to which it has that many."""

_TREES_IN_TIME = (200, 100, 60, 30, 15)
"""The same where trees were timed: the most for which there is time."""

_TIMED = 5
"""Trees of a trial."""

_PER_DRAW = 6e-9
"""Seconds for a row and a feature that a node of a forest draws."""


class ExtraTreesForests(MemberFamily):
    """Forests; none where one fold is enough and time is not limited, as rows are many then."""

    name = "extra trees"
    draws = 1

    def __init__(self) -> None:
        self._slowness: float | None = None

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List a forest."""
        is_left_out = shape.n_folds == 1 and longest == np.inf
        return [] if is_left_out else [forest(shape, self._sizes(longest))]

    def measure(self, trial: Trial) -> tuple[Candidate, float]:
        """Time a few trees, and what a forest takes whatever the number of trees."""
        candidate = forest(trial.shape)
        few, one = (
            trial.seconds(
                replace(candidate, model=clone(candidate.model).set_params(n_estimators=n_trees))
            )
            for n_trees in (_TIMED, 1)
        )
        per_tree = max(few - one, 0.0) / (_TIMED - 1)
        seconds = one + (candidate.model.n_estimators - 1) * per_tree
        self._slowness = seconds / candidate.seconds
        return candidate, seconds

    def draw(self, shape: Shape, random: np.random.Generator, longest: float) -> Candidate:
        """Draw a forest."""
        return forest(
            shape,
            self._sizes(longest),
            max_features=random.choice([0.1, 0.3, 0.6]),
            min_samples_leaf=int(random.choice([1, 2, 3, 5])),
        )

    def _sizes(self, longest: float) -> Sequence[tuple[int, float]]:
        """List numbers of trees, and the estimated seconds up to which a forest has so many."""
        if self._slowness is None:
            return _TREES
        return [(n_trees, longest / self._slowness) for n_trees in _TREES_IN_TIME]


def forest(shape: Shape, sizes: Sequence[tuple[int, float]] = _TREES, **params: Any) -> Candidate:
    """Describe a forest of extra trees."""
    share = shape.n_entries / (shape.n_rows * shape.n_features)
    drawn = min(2 * shape.n_features**0.5, shape.n_features * max(share, 0.01))
    depth = log2(max(shape.n_rows, 2))
    for n_trees, longest in sizes:
        seconds = _PER_DRAW * shape.n_folds * n_trees * shape.n_rows * depth * drawn
        if seconds <= longest:
            break
    model = SketchedExtraTreesClassifier(n_estimators=n_trees, **params)
    return Candidate("extra trees", model, seconds)
