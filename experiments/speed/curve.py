"""Held-out log-loss against the seconds of a training: the curve of one candidate and setting.

The seconds are those of boosting alone, added up from round to round: building the matrix and its
bins is `setup_seconds`, evaluating is not counted.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from experiments.speed.boosting import log_loss
from experiments.speed.candidates import make_candidate
from experiments.speed.job import Job
from experiments.speed.parts import Parts
from experiments.speed.setting import Setting

_PATIENCE_ROUNDS = 10
_PATIENCE_SHARE = 0.3


class Point(NamedTuple):
    """A moment of a training: seconds so far, log-loss of the held-out and of the test rows."""

    rounds: int
    cpu_seconds: float
    wall_seconds: float
    held_out: float
    test: float


@dataclass(frozen=True)
class Curve:
    """The points of a training, at least one."""

    setting: Setting
    setup_seconds: float  # CPU, of building the matrix and its bins
    points: list[Point]

    def best(self) -> Point:
        """Return the point with the least held-out log-loss."""
        return min(self.points, key=lambda point: point.held_out)

    def first_within(self, target: float) -> Point | None:
        """Return the first point whose held-out log-loss is at most the target, if there is one."""
        return next((point for point in self.points if point.held_out <= target), None)


def train_curve(
    job: Job, setting: Setting, parts: Parts, target: float | None, limit: float
) -> Curve:
    """Train until the held-out log-loss is the target, in any case so many CPU seconds at most.

    Without a target it goes on until the least held-out log-loss is ten rounds old, and as many as
    30 % of the rounds that it took.
    """
    candidate = make_candidate(job, setting)
    form = sp.csr_matrix if setting.csr else np.asarray
    start = time.process_time()
    matrix = candidate.build(form(parts.fit.X), parts.fit.Y)
    candidate.quantise(matrix)
    setup_seconds = time.process_time() - start
    points: list[Point] = []
    least = None
    held = [form(parts.held_out.X), form(parts.test.X)]
    for step in candidate.steps(matrix, held, evaluated_rounds(), limit):
        losses = [
            log_loss(Y, Y_proba)
            for Y, Y_proba in zip((parts.held_out.Y, parts.test.Y), step.predictions, strict=True)
        ]
        point = Point(step.rounds, step.cpu_seconds, step.wall_seconds, *losses)
        points.append(point)
        if least is None or point.held_out < least.held_out:
            least = point
        patience = max(_PATIENCE_ROUNDS, _PATIENCE_SHARE * least.rounds)
        enough = (
            point.rounds > least.rounds + patience if target is None else point.held_out <= target
        )
        if enough or point.cpu_seconds >= limit:
            break
    return Curve(setting, setup_seconds, points)


def evaluated_rounds() -> Iterator[int]:
    """Yield the numbers of rounds after which a training is evaluated: later ones a 20th apart."""
    rounds = 0
    while True:
        rounds = max(rounds + 1, rounds + rounds // 20)
        yield rounds


def as_json(curve: Curve) -> dict[str, Any]:
    """Return a curve as it stands in the results."""
    points = [[p.rounds, *(round(value, 6) for value in p[1:])] for p in curve.points]
    return {
        "setting": vars(curve.setting),
        "setup_seconds": curve.setup_seconds,
        "points": points,
    }


def from_json(curve: dict[str, Any]) -> Curve:
    """Return a curve of the results."""
    points = [Point(*values) for values in curve["points"]]
    return Curve(Setting(**curve["setting"]), curve["setup_seconds"], points)
