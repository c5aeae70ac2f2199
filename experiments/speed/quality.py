"""Measures the time to quality, and the quality at the end.

What is enough is 1 % above the least held-out log-loss of stock XGBoost with a booster per label,
the reference, over its settings; its own trainings go on until they get worse. The others train
until they have it. A setting that has used more time than the fastest so far is given up.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.speed.boosting import log_loss, warm_up
from experiments.speed.candidates import make_candidate
from experiments.speed.curve import Curve, as_json, train_curve
from experiments.speed.goals import Goal
from experiments.speed.job import Job
from experiments.speed.parts import Parts
from experiments.speed.setting import LIKE_FOR_LIKE, Setting, grid, storages
from experiments.speed.suites import GROUPS

_NEARLY = 1.01


def measure_time_to_quality(job: Job, parts: Parts, goal: Goal) -> dict[str, Any]:
    """Train with each setting until the target is reached, and return how long the fastest took.

    Each has the goal's CPU seconds of boosting. Without a target of held-out log-loss one is made,
    of trainings as long as they get better.

    Returns
    -------
    dict
        `target`, `curves`; of the fastest `setting`, `rounds`, `cpu_seconds`, `wall_seconds`,
        `setup_seconds`, and its `test` log-loss at that moment. If none got there, `outcome` is
        "longer than", and the first two are all.
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
    """Let held-out rows say how many rounds to train, and return how good so many are.

    The model that counts is trained anew, on these rows too: whoever has found the number of rounds
    needs them for nothing else. After the goal's CPU seconds the best number so far is taken.

    Returns
    -------
    dict
        `test`, its log-loss of the test rows; `rounds`; `cpu_seconds` and `wall_seconds` of so many
        without the held-out rows, `setup_seconds`, and `curves` with the one that they are of.
    """
    warm_up(job)
    curve = train_curve(job, LIKE_FOR_LIKE, parts, None, goal.time_limit)
    best = curve.best()
    candidate = make_candidate(replace(job, rounds=best.rounds), LIKE_FOR_LIKE)
    X = np.concatenate((parts.fit.X, parts.held_out.X))
    Y = np.concatenate((parts.fit.Y, parts.held_out.Y))
    model = candidate.train(candidate.build(X, Y))
    test = log_loss(parts.test.Y, candidate.predict(model, parts.test.X))
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
