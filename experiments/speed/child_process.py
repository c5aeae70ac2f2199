"""Measures a job in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments import ROOT
from experiments.speed.goals import Goal
from experiments.speed.job import Job

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def measure_in_child(job: Job, file: Path, goal: Goal) -> tuple[str, dict[str, Any]]:
    """Measure a job in a fresh process with the job's number of threads.

    Parameters
    ----------
    job : Job
    file : Path
        The job's arrays.
    goal : Goal

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
