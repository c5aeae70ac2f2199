"""Carries out one job, in a process of its own.

What is measured of a suite is a function of the job, its arrays X and Y (float32, of shape
(n_samples, n_features) and (n_samples, n_labels); X may be a CSR matrix) and the CPU seconds after
which the process is ended; it returns a dict with at least the fields of `Cost`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments import ROOT
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

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_SPECIAL: dict[str, Callable[..., dict[str, Any]]] = {
    "chain": measure_chain,
    "memory": measure_memory,
    "pass": measure_passes,
    "roofline": measure_roofline,
    "workers": measure_workers,
}


def measure_in_child(job: Job, file: Path, goal: Goal) -> tuple[str, dict[str, Any]]:
    """Measure a job on its file of arrays, in a fresh process with the job's number of threads.

    Returns
    -------
    outcome : {"measured", "longer than", "ended"}
        Whether the training came to its goal, reached the time limit, or was ended by another
        signal (by the system, for example, that had no memory left).
    result : dict
        What was measured, or the signal.

    Raises
    ------
    RuntimeError
        If the process fails.
    """
    texts = [json.dumps(asdict(job)), str(file.resolve()), json.dumps(asdict(goal))]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.speed", "measure", *texts],
        cwd=ROOT,
        env=os.environ | dict.fromkeys(_THREAD_VARIABLES, str(job.threads)),
        capture_output=True,
        text=True,
    )
    if done.returncode == -signal.SIGPROF:
        return "longer than", {}
    if done.returncode < 0:
        return "ended", {"signal": signal.Signals(-done.returncode).name}
    if done.returncode:
        raise RuntimeError(
            f"{job.candidate} failed on {job.data} in the suite {job.suite}:\n{done.stderr.strip()}"
        )
    result = json.loads(done.stdout.splitlines()[-1])
    return result.pop("outcome", "measured"), result


def measure(job: Job, file: Path, goal: Goal) -> dict[str, Any]:
    """Carry out a job on its file of arrays or parts, here; say which library was there.

    A training that is not watched on held-out rows is ended by SIGPROF at the goal's time limit,
    and this process with it.
    """
    if job.phase == "to quality":
        measured = measure_time_to_quality(job, read_parts(file), goal)
    elif job.phase == "to the end":
        measured = measure_end(job, read_parts(file), goal)
    else:
        special = _SPECIAL.get(job.suite, measure_boosting)
        measured = special(job, *read_arrays(file), goal.time_limit)
    return measured | {"library": library_digest()}
