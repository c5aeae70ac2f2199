"""Extra trees on sketches, which help most where X is dense."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
from sklearn.base import clone

from xdcc.automatic.family import Candidate, MemberFamily, Training
from xdcc.automatic.shape import Shape
from xdcc.automatic.trial import Trial
from xdcc.base.workers import largest
from xdcc.forest import SketchedExtraTreesClassifier

_TREES = ((200, 4.0), (100, 12.0), (60, np.inf))
"""Trees of a forest for each fold, and the seconds up to which it has that many."""

_TREES_IN_TIME = (200, 100, 60, 30, 15)
"""The same in a time budget: the most of which it lasts for."""

_PER_DRAW = 6e-9
"""Seconds for a row and a feature that a node of a forest draws."""

_FOREVER = np.finfo(np.float64).max

_TIMED = 5
"""Trees of a trial."""


class ExtraTreesForests(MemberFamily):
    """Forests; none where one fold is enough and time is not limited, as rows are many then."""

    name = "extra trees"
    draws = 1

    def __init__(self) -> None:
        self._slowness = 1.0

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List a forest."""
        if shape.n_folds == 1 and longest == np.inf:
            return []
        return [forest(shape, longest / self._slowness)]

    def measure(self, trial: Trial) -> Iterator[tuple[Candidate, float]]:
        """Time a few trees, and what a forest takes whatever the number of trees."""
        candidate = forest(trial.shape)
        n_trees = candidate.model.n_estimators
        few, one = (
            trial.seconds(
                replace(candidate, model=clone(candidate.model).set_params(n_estimators=n))
            )
            for n in (_TIMED, 1)
        )
        per_tree = max(few - one, 0.0) / (_TIMED - 1)
        seconds = one + (n_trees - 1) * per_tree
        self._slowness = seconds / candidate.seconds
        yield candidate, seconds

    def learn(self, training: Training) -> float:
        """Learn how long others take."""
        seconds = largest(training.seconds)
        self._slowness = seconds / training.candidate.seconds
        return seconds

    def draw(self, shape: Shape, random: np.random.Generator, longest: float) -> Candidate:
        """Draw a forest."""
        return forest(
            shape,
            longest / self._slowness,
            max_features=random.choice([0.1, 0.3, 0.6]),
            min_samples_leaf=int(random.choice([1, 2, 3, 5])),
        )


def forest(shape: Shape, longest: float = np.inf, **params: Any) -> Candidate:
    """Describe a forest of extra trees that takes at most as long, if that is possible."""
    share = shape.n_entries / (shape.n_rows * shape.n_features)
    drawn = min(2 * shape.n_features**0.5, shape.n_features * max(share, 0.01))
    depth = log2(max(shape.n_rows, 2))
    per_tree = _PER_DRAW * shape.n_folds * shape.n_rows * depth * drawn
    sizes: Sequence[tuple[int, float]] = _TREES
    if longest < _FOREVER:
        sizes = [(n_trees, longest) for n_trees in _TREES_IN_TIME]
    n_trees = next((n for n, most in sizes if n * per_tree <= most), sizes[-1][0])
    model = SketchedExtraTreesClassifier(n_estimators=n_trees, **params)
    return Candidate("extra trees", model, n_trees * per_tree)
