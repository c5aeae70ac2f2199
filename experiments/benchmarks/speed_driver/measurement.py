"""Carries out one job: what a child process of the benchmark does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from speed_driver.boosting import measure_boosting
from speed_driver.chain_comparison import measure_chain
from speed_driver.data import read_arrays
from speed_driver.job import Job
from speed_driver.machine import library_digest
from speed_driver.roofline import measure_roofline

_SPECIAL: dict[str, Callable[..., dict[str, Any]]] = {
    "chain": measure_chain,
    "roofline": measure_roofline,
}


def measure(job: Job, file: Path, time_limit: float) -> dict[str, Any]:
    """Carry out a job.

    Parameters
    ----------
    job : Job
    file : Path
        The job's arrays, see `speed_driver.data`.
    time_limit : float
        CPU seconds of training after which this process is ended by SIGPROF.

    Returns
    -------
    dict
        What was measured, and the digest of the library that was there.
    """
    measured = _SPECIAL.get(job.suite, measure_boosting)(job, *read_arrays(file), time_limit)
    return measured | {"library": library_digest()}
