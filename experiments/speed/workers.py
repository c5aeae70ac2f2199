"""Measures training by two worker processes of one thread each, joined by XGBoost's collective.

Each has half of the rows. What is measured is the CPU time of both. Features have few levels, so
that bins do not depend on how rows are shared out, and models can be compared bit for bit.
"""

import hashlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import xgboost as xgb
from xgboost.collective import CommunicatorContext
from xgboost.tracker import RabitTracker

from experiments.speed.candidates import XGBoost, make_candidate
from experiments.speed.data import Labels
from experiments.speed.job import Job
from experiments.speed.stopwatch import Cost, measure_cost
from experiments.speed.variants import levels

_WORKERS = 2

type _Half = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def measure_workers(job: Job, X: Any, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train rounds of an XGBoost on two workers, and compare their model with that of one.

    `cpu_seconds` and `peak_bytes` are those of both workers, `wall_seconds` of the slower;
    `differs` is 0 if one worker's model is the same bit for bit, else 1.
    """
    X = levels(X)
    halves = list(zip(np.array_split(X, _WORKERS), np.array_split(Y, _WORKERS), strict=True))
    alone, _ = _train(job, (X, Y), time_limit)
    together = _train_together(job, halves, time_limit)
    costs = [cost for _, cost in together]
    return {
        "cpu_seconds": sum(cost.cpu_seconds for cost in costs),
        "wall_seconds": max(cost.wall_seconds for cost in costs),
        "peak_bytes": sum(cost.peak_bytes for cost in costs),
        "differs": int(any(digest != alone for digest, _ in together)),
    }


def _train_together(job: Job, halves: list[_Half], time_limit: float) -> list[tuple[str, Cost]]:
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=_WORKERS, sortby="task")
    tracker.start()
    arguments = tracker.worker_args()
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as processes:
        tasks = [
            processes.submit(_work, arguments | {"dmlc_task_id": str(k)}, job, half, time_limit)
            for k, half in enumerate(halves)
        ]
        results = [task.result() for task in tasks]
    tracker.wait_for()
    return results


def _work(arguments: dict[str, Any], job: Job, half: _Half, time_limit: float) -> tuple[str, Cost]:
    with CommunicatorContext(**arguments):
        return _train(job, half, time_limit)


def _train(job: Job, rows: _Half, time_limit: float) -> tuple[str, Cost]:
    """Return a digest of the model, and what its rounds cost."""
    candidate = make_candidate(job)
    assert isinstance(candidate, XGBoost)
    matrix = candidate.build(*rows)
    candidate.quantise(matrix)
    booster: xgb.Booster
    booster, cost = measure_cost(lambda: candidate.train(matrix), time_limit)
    return hashlib.sha256(booster.save_raw()).hexdigest(), cost
