"""Held-out log-loss against the seconds of a training: the curve of one candidate and setting.

The seconds are those of boosting alone, added up from round to round: building the matrix and its
bins is `setup_seconds`, evaluating is not counted.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.speed.boosting import log_loss
from experiments.speed.candidates import make_candidate
from experiments.speed.job import Job
from experiments.speed.parts import Parts, as_csr
from experiments.speed.setting import Setting

_PATIENCE_ROUNDS = 10
_PATIENCE_SHARE = 0.3


class Point(NamedTuple):
    """A moment of a training.

    Attributes
    ----------
    rounds : int
    cpu_seconds, wall_seconds : float
        Of the training so far.
    held_out, test : float
        Log-loss of the held-out and of the test rows.
    """

    rounds: int
    cpu_seconds: float
    wall_seconds: float
    held_out: float
    test: float


@dataclass(frozen=True)
class Curve:
    """The points of a training.

    Attributes
    ----------
    setting : Setting
    setup_seconds : float
        CPU seconds of building the matrix and its bins.
    points : list of Point
        At least one.
    """

    setting: Setting
    setup_seconds: float
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
    """Train until the target is reached, or as long as there is no target and it helps.

    Parameters
    ----------
    job : Job
    setting : Setting
    parts : Parts
    target : float, or None
        Held-out log-loss that is enough. None trains until the least held-out log-loss is ten
        rounds old, and as many as 30 % of the rounds that it took.
    limit : float
        CPU seconds of training after which it ends in any case.

    Returns
    -------
    Curve
    """
    candidate = make_candidate(job, setting)
    form = as_csr if setting.csr else lambda X: X
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
