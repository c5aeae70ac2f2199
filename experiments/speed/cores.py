"""Measures how far a training, and what is around it, makes use of any number of cores.

The structure of the work allows a speed-up: the time of one thread, over that of a schedule
(`schedule.py`) of the recorded tasks (`spans.py`). It is compared with real threads, as many as the
machine has. A recording of P threads has the tasks that these would have, but runs them on one.

What is measured is a stage: the boosting rounds, the building of a `DMatrix` or `QuantileDMatrix`,
the bins of a `DMatrix`, prediction, or the metrics of all rows.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import count, islice
from typing import Any

import xgboost as xgb
from threadpoolctl import threadpool_limits

from experiments.speed.candidates import make_candidate
from experiments.speed.data import Features, Labels
from experiments.speed.schedule import Part, Schedule, schedule
from experiments.speed.spans import record, region_cost
from experiments.speed.suites import Job
from xdcc.boosting.eval_metric import MULTI_LABEL_METRICS

THREADS = (2, 4, 8, 16, 32, 64)
"""Numbers of threads that are scheduled."""

_NAMED = 16  # threads of the schedule whose parts are listed
TURNS = 3
"""Recordings and trainings of each number of threads, of which the fastest counts."""

_PARTS = 8

type _Stage = Callable[[], Callable[[], Any]]
"""Prepares a call, and returns it: only the call is measured."""


def measure_cores(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Record a stage for each number of threads; run it on real threads, in turns with one thread.

    Returns
    -------
    dict
        By number of threads: `allowed`, the speed-ups of the schedules; `inflation`, CPU time of
        all tasks on one thread over that of a single one; `real`, the speed-ups of real threads
        (wall time). `allowed_16`, `inflation_16`, `real_2` and `predicted_2` (the schedule's
        speed-up over the real one): single numbers. `parts`: the parts that lose most on 16
        threads. `cost`: the seconds by which each further thread delays the beginning of a region.
        `cpu_seconds`, `wall_seconds` and `peak_bytes` of one thread.
    """
    prepare = _STAGES.get(job.candidate, _rounds)
    matrix = xgb.DMatrix(X, Y)
    cost = region_cost()
    result: dict[str, Any] = {"allowed": {}, "inflation": {}, "real": {}, "cost": cost}
    for n in THREADS:
        alone, stage = (prepare(job, X, Y, matrix, k) for k in (1, n))
        ones, many = [], []
        for _ in range(TURNS):
            ones.append(record(alone(), 1).total)
            many.append(schedule(record(stage(), n), n, cost))
        one, best = min(ones), min(many, key=lambda of: of.seconds)
        result["allowed"][str(n)] = one / best.seconds
        result["inflation"][str(n)] = min(of.work for of in many) / one
        if n == _NAMED:
            result["cpu_seconds"] = one
            result["parts"] = [_described(part, best) for part in best.parts[:_PARTS]]
        if n <= (os.cpu_count() or 1):
            result["wall_seconds"], seconds = _wall_times(alone, stage, n)
            result["real"][str(n)] = result["wall_seconds"] / seconds
    for name in ("allowed", "inflation"):
        result[f"{name}_{_NAMED}"] = result[name][str(_NAMED)]
    if "2" in result["real"]:
        result |= {
            "real_2": result["real"]["2"],
            "predicted_2": result["allowed"]["2"] / result["real"]["2"],
        }
    return {"peak_bytes": 0, "wall_seconds": result["cpu_seconds"]} | result


def _described(part: Part, whole: Schedule) -> dict[str, Any]:
    return asdict(part) | {"lost": whole.lost(part) / whole.seconds}


def _wall_times(alone: _Stage, stage: _Stage, n_threads: int) -> tuple[float, float]:
    """Return the shortest wall time of one thread and of a number of real threads."""
    taken: tuple[list[float], list[float]] = [], []
    with threadpool_limits(n_threads, user_api="openmp"):
        for _ in range(TURNS):
            for of, times in zip((alone, stage), taken, strict=True):
                call = of()
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
    return min(taken[0]), min(taken[1])


def _booster(job: Job, matrix: xgb.DMatrix, n_threads: int, **parameters: Any) -> xgb.Booster:
    """Return a booster that has had a round."""
    candidate = job.candidate if job.candidate not in _STAGES else "sketched"
    own = make_candidate(replace(job, candidate=candidate, threads=n_threads))
    booster = xgb.Booster(own.parameters | parameters, [matrix])
    record(lambda: booster.update(matrix, 0), n_threads)  # with the working memory of all threads
    return booster


def _rounds(job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int) -> _Stage:
    booster = _booster(job, matrix, n_threads)
    numbers = count(1)

    def update() -> None:
        for number in islice(numbers, job.rounds):
            booster.update(matrix, number)

    return lambda: update


def _build(job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int) -> _Stage:
    return lambda: lambda: xgb.DMatrix(X, Y, nthread=n_threads)


def _build_quantile(
    job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int
) -> _Stage:
    return lambda: lambda: xgb.QuantileDMatrix(X, Y, nthread=n_threads)


def _bin(job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int) -> _Stage:
    """Prepare the first round of a shallow tree: it makes the bins."""
    own = make_candidate(replace(job, candidate="sketched", threads=n_threads))

    def prepare() -> Callable[[], Any]:
        fresh = xgb.DMatrix(X, Y, nthread=n_threads)
        booster = xgb.Booster(own.parameters | {"max_depth": 1}, [fresh])
        return lambda: booster.update(fresh, 0)

    return prepare


def _predict(job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int) -> _Stage:
    booster = _booster(job, matrix, n_threads)
    for number in range(1, job.rounds):
        booster.update(matrix, number)
    return lambda: lambda: booster.inplace_predict(X)


def _evaluate(job: Job, X: Features, Y: Labels, matrix: xgb.DMatrix, n_threads: int) -> _Stage:
    booster = _booster(job, matrix, n_threads, eval_metric=list(MULTI_LABEL_METRICS))
    return lambda: lambda: booster.eval(matrix)


_STAGES: dict[str, Callable[[Job, Features, Labels, xgb.DMatrix, int], _Stage]] = {
    "DMatrix": _build,
    "QuantileDMatrix": _build_quantile,
    "bins": _bin,
    "inplace_predict": _predict,
    "metrics": _evaluate,
}
"""Stages that are not the boosting rounds of a candidate, which has one sketch dimension there."""
