"""Measures one booster: end to end, or its rounds alone."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.speed.candidates import make_candidate
from experiments.speed.data import Features, Labels, next_to_nothing
from experiments.speed.job import Job
from experiments.speed.stopwatch import Cost, measure_cost

_BYTES_OF_FLOAT = 4


def measure_boosting(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train; add `log_loss` of the training rows, and the booster's `parameters`."""
    model, cost = train_timed(job, X, Y, time_limit)
    candidate = make_candidate(job)
    loss = log_loss(Y, candidate.predict(model, X))
    return asdict(cost) | {"log_loss": loss, "parameters": candidate.parameters}


def measure_memory(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train; add `beyond_gib`, the memory beyond what nobody can do without.

    That is the peak less one copy of X, Y, margins and gradients in single precision.
    """
    measured = measure_boosting(job, X, Y, time_limit)
    needed = _BYTES_OF_FLOAT * (X.size + 3 * Y.size)
    return measured | {"beyond_gib": (measured["peak_bytes"] - needed) / 2**30}


def train_timed(job: Job, X: Features, Y: Labels, time_limit: float) -> tuple[Any, Cost]:
    """Train, with the clock on what the job's phase says; return the model and what it cost."""
    warm_up(job)
    candidate = make_candidate(job)
    if job.phase == "rounds":
        matrix = candidate.build(X, Y)
        candidate.quantise(matrix)
        return measure_cost(lambda: candidate.train(matrix), time_limit)
    return measure_cost(lambda: candidate.train(candidate.build(X, Y)), time_limit)


def log_loss(Y: Labels, Y_proba: NDArray[np.floating]) -> float:
    """Return the mean over all entries of minus the logarithm of the true value's probability.

    Probabilities are kept away from 0 by the resolution of float32.
    """
    of_truth = np.where(Y == 1, Y_proba, 1 - Y_proba)
    smallest = np.finfo(np.float32).eps
    return float(-np.log(np.clip(of_truth, smallest, 1)).mean(dtype=np.float64))


def warm_up(job: Job) -> None:
    """Train once on next to nothing: what a process does only once is not part of a training."""
    candidate = make_candidate(replace(job, rounds=1))
    candidate.train(candidate.build(*next_to_nothing()))
