"""Carries out one job: what a child process of the benchmark does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.speed.boosting import measure_boosting, measure_memory
from experiments.speed.chain_comparison import measure_chain
from experiments.speed.data import read_arrays
from experiments.speed.goals import Goal
from experiments.speed.job import Job
from experiments.speed.machine import library_digest
from experiments.speed.one_pass import measure_passes
from experiments.speed.parts import read_parts
from experiments.speed.quality import measure_end, measure_time_to_quality
from experiments.speed.roofline import measure_roofline
from experiments.speed.workers import measure_workers

_SPECIAL: dict[str, Callable[..., dict[str, Any]]] = {
    "chain": measure_chain,
    "memory": measure_memory,
    "pass": measure_passes,
    "roofline": measure_roofline,
    "workers": measure_workers,
}


def measure(job: Job, file: Path, goal: Goal) -> dict[str, Any]:
    """Carry out a job.

    Parameters
    ----------
    job : Job
    file : Path
        The job's arrays, see `experiments.speed.data` and `experiments.speed.parts`.
    goal : Goal
        A training that is not watched on held-out rows is ended by SIGPROF at the time limit, and
        this process with it.

    Returns
    -------
    dict
        What was measured, and the digest of the library that was there.
    """
    if job.phase == "to quality":
        measured = measure_time_to_quality(job, read_parts(file), goal)
    elif job.phase == "to the end":
        measured = measure_end(job, read_parts(file), goal)
    else:
        special = _SPECIAL.get(job.suite, measure_boosting)
        measured = special(job, *read_arrays(file), goal.time_limit)
    return measured | {"library": library_digest()}
