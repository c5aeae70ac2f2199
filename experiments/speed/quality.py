"""Measures the time to quality, and the quality at the end.

The target is 1 % above the lowest held-out log-loss of stock XGBoost with a booster per label, the
reference, over its settings; the reference trains until it gets worse. The others train until they
reach the target. A setting that has used more time than the fastest so far is stopped.

A `Curve` is the held-out log-loss of one candidate and setting against the seconds of its training.
These are the seconds of boosting alone: building the matrix and its bins is `setup_seconds`, and
evaluation is not counted. A `Goal` is the target and the time limit of a training; both depend on
the results of other candidates.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from experiments.speed.candidates import LIKE_FOR_LIKE, Setting, grid, make_candidate, storages
from experiments.speed.data import Parts
from experiments.speed.results import Results
from experiments.speed.suites import GROUPS, REFERENCE, SUITES, Job
from experiments.speed.trainings import loss_of, warm_up

_PATIENCE_ROUNDS = 10
_PATIENCE_SHARE = 0.3


class Point(NamedTuple):
    """A point of a training: seconds so far, log-loss of the held-out and of the test rows."""

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
        """Return the first point whose held-out log-loss is at most the target, or None."""
        return next((point for point in self.points if point.held_out <= target), None)


def train_curve(
    job: Job, setting: Setting, parts: Parts, target: float | None, limit: float
) -> Curve:
    """Train until the held-out log-loss reaches the target, at most `limit` CPU seconds.

    Without a target, training stops when the lowest held-out log-loss is ten rounds old, and at
    least 30 % of its rounds.
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
            loss_of(job.data)(Y, predicted)
            for Y, predicted in zip((parts.held_out.Y, parts.test.Y), step.predictions, strict=True)
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
    """Yield the numbers of rounds for evaluation: consecutive at first, later 5 % apart."""
    rounds = 0
    while True:
        rounds = max(rounds + 1, rounds + rounds // 20)
        yield rounds


def as_json(curve: Curve) -> dict[str, Any]:
    """Return a curve as JSON for the results."""
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


_OF_OURS = {"catboost": 200.0}


@dataclass(frozen=True)
class Goal:
    """The end of a training."""

    time_limit: float  # CPU seconds
    target: float | None = None  # held-out log-loss


def find_goal(job: Job, repeat: int, results: Results, time_limit: float) -> Goal | None:
    """Return the goal of a training, None if the measurements that it depends on are missing.

    In the suites of time to quality, the limit for each setting is the reference's time, and for
    CatBoost two hundred times ours. The reference has the whole time, and sets the target in its
    first repeat.
    """
    if target := SUITES[job.suite].target:
        return Goal(time_limit, target)
    if job.phase != "to quality" or (job.candidate == REFERENCE and repeat == 0):
        return Goal(time_limit)
    reference = results.measured(replace(job, candidate=REFERENCE))
    if reference is None:
        return None
    target = reference["target"]
    if job.candidate == REFERENCE:
        return Goal(time_limit, target)
    seconds = reference["cpu_seconds"]
    if job.candidate in _OF_OURS:
        ours = [
            result["cpu_seconds"]
            for name in GROUPS["all of ours"]
            if (result := results.measured(replace(job, candidate=name)))
        ]
        seconds = _OF_OURS[job.candidate] * min(ours) if ours else seconds
    return Goal(min(time_limit, seconds), target)


_NEARLY = 1.01


def measure_time_to_quality(job: Job, parts: Parts, goal: Goal) -> dict[str, Any]:
    """Train with each setting until the target is reached, and return the time of the fastest.

    Each has the goal's CPU seconds of boosting. Without a target, it is computed from trainings
    that continue while they improve.

    Returns
    -------
    dict
        `target`, `curves`; of the fastest `setting`, `rounds`, `cpu_seconds`, `wall_seconds`,
        `setup_seconds`, and its `test` log-loss at that point. If none reached it, `outcome` is
        "longer than", and only the first two are returned.
    """
    warm_up(job)
    target, limit = goal.target, goal.time_limit
    curves: list[Curve] = []
    for setting in _settings(job, parts):
        curve = train_curve(job, setting, parts, target, limit)
        curves.append(curve)
        if target is not None and (point := curve.first_within(target)):
            limit = min(limit, point.cpu_seconds)
    if target is None:
        target = _NEARLY * min(curve.best().held_out for curve in curves)
    return {"target": target, "curves": [as_json(curve) for curve in curves]} | _fastest(
        curves, target
    )


def measure_end(job: Job, parts: Parts, goal: Goal) -> dict[str, Any]:
    """Choose the number of rounds on held-out rows, and return the quality of that model.

    The final model is trained again on all rows, including the held-out rows. After the goal's CPU
    seconds, the best number of rounds so far is used.

    Returns
    -------
    dict
        `test`, its log-loss of the test rows; `rounds`; their `cpu_seconds` and `wall_seconds`
        without the held-out rows, `setup_seconds`, and `curves` with the curve of these.
    """
    warm_up(job)
    curve = train_curve(job, LIKE_FOR_LIKE, parts, None, goal.time_limit)
    best = curve.best()
    candidate = make_candidate(replace(job, rounds=best.rounds), LIKE_FOR_LIKE)
    X = np.concatenate((parts.fit.X, parts.held_out.X))
    Y = np.concatenate((parts.fit.Y, parts.held_out.Y))
    model = candidate.train(candidate.build(X, Y))
    test = loss_of(job.data)(parts.test.Y, candidate.predict(model, parts.test.X))
    return {"curves": [as_json(curve)]} | _moment(curve, best.held_out) | {"test": test}


def _settings(job: Job, parts: Parts) -> Sequence[Setting]:
    sparse = parts.sparse and job.candidate not in GROUPS["peers"]
    if job.suite == "quality":
        return grid(parts.fit.X, sparse)
    return storages(LIKE_FOR_LIKE, sparse)


def _fastest(curves: Sequence[Curve], target: float) -> dict[str, Any]:
    there = [
        (point.cpu_seconds, curve) for curve in curves if (point := curve.first_within(target))
    ]
    if not there:
        return {"outcome": "longer than"}
    return _moment(min(there, key=lambda pair: pair[0])[1], target)


def _moment(curve: Curve, target: float) -> dict[str, Any]:
    point = curve.first_within(target)
    assert point is not None
    return {
        "setting": vars(curve.setting),
        "rounds": point.rounds,
        "cpu_seconds": point.cpu_seconds,
        "wall_seconds": point.wall_seconds,
        "setup_seconds": curve.setup_seconds,
        "test": point.test,
    }
