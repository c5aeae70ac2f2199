"""Measures the jobs of a plan. Jobs on the same data take turns, one at a time.

Each job runs in a process of its own (`measure_in_child`). A suite is measured by a function of the
job, its arrays X and Y (float32, of shape (n_samples, n_features) and (n_samples, n_labels); X may
be a CSR matrix) and the CPU seconds after which the process is ended. The function returns a dict
with at least the fields of `Cost`.
"""

import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from experiments.engine.process import CallInProcess, process_environment
from experiments.engine.records import only_writer
from experiments.speed.busy import measure_busy
from experiments.speed.cores import measure_cores
from experiments.speed.data import (
    read_arrays,
    read_parts,
    synthetic_shape,
    write_arrays,
    write_parts,
)
from experiments.speed.limits import measure_passes, measure_roofline
from experiments.speed.machine import library_digest
from experiments.speed.prediction import measure_prediction
from experiments.speed.quality import Goal, find_goal, measure_end, measure_time_to_quality
from experiments.speed.results import Results
from experiments.speed.side import measure_side
from experiments.speed.stock import measure_stock
from experiments.speed.suites import GROUPS, REFERENCE, Job
from experiments.speed.trainings import (
    measure_boosting,
    measure_chain,
    measure_memory,
    measure_workers,
)


def run(groups: Sequence[Sequence[Job]], repeats: int, time_limit: float, results: Results) -> None:
    """Measure the jobs of a plan that have no result yet, and add their results.

    A training is ended after `time_limit` CPU seconds. It is not repeated then, and in the suite
    `scaling` its candidate is not measured on larger data, except for the end points.

    Raises
    ------
    RuntimeError
        If a measurement fails, or the library has changed meanwhile. Earlier measurements are
        kept.
    StorageError
        If the results cannot be written, or another process is writing there.
    ValueError, FileNotFoundError
        If a data set cannot be loaded.
    """
    total = repeats * sum(len(group) for group in groups)
    with (
        only_writer(results.store.folder),
        tqdm(total=total, unit="measurement", file=sys.stderr) as progress,
        TemporaryDirectory() as folder,
    ):
        for number, group in enumerate(groups):
            file = Path(folder, f"{number}.npz")
            for job, repeat in _turns(group, repeats):
                progress.set_description(f"{job.suite} {job.data} {job.candidate}")
                goal = find_goal(job, repeat, results, time_limit)
                if goal is None:
                    reason = {"why": f"{REFERENCE} has not set a goal"}
                    results.add(job, repeat, "skipped", time_limit, reason)
                elif not _is_done(results, job, repeat, goal.time_limit):
                    if why := _reason_to_skip(results, job, repeat, goal.time_limit):
                        results.add(job, repeat, "skipped", goal.time_limit, {"why": why})
                    else:
                        if not file.exists():
                            _write(job, file)
                        outcome, result = measure_in_child(job, file, goal)
                        _check_library(results, outcome, result)
                        results.add(job, repeat, outcome, goal.time_limit, result)
                progress.update()
            file.unlink(missing_ok=True)


def _write(job: Job, file: Path) -> None:
    if job.phase in ("to quality", "to the end"):
        write_parts(job.data, job.storage, job.seed, file)
    else:
        write_arrays(job.data, job.storage, job.seed, file)


def _turns(group: Sequence[Job], repeats: int) -> Iterator[tuple[Job, int]]:
    for repeat in range(repeats):
        for job in group:
            yield job, repeat


def _is_done(results: Results, job: Job, repeat: int, time_limit: float) -> bool:
    record = results.find(job, repeat)
    if record is None or record["outcome"] in ("ended", "skipped"):
        return False
    return record["outcome"] == "measured" or record["time_limit"] >= time_limit


def _check_library(results: Results, outcome: str, result: dict[str, Any]) -> None:
    expected = results.header["versions"]["library"]
    if outcome == "measured" and result["library"] != expected:
        raise RuntimeError(
            f"the compiled XGBoost was {expected} when the run began, and now it is "
            f"{result['library']}: measure again into another folder"
        )


def _reason_to_skip(results: Results, job: Job, repeat: int, time_limit: float) -> str | None:
    for record in results.records:
        other = Job(**record["job"])
        if record["outcome"] != "longer than" or record["time_limit"] < time_limit:
            continue
        if other == job and repeat > 0:
            return "an earlier repeat took longer than the time limit"
        if _is_smaller(other, job) and job.data not in GROUPS["end points"]:
            return f"{other.data} took longer than the time limit"
    return None


def _is_smaller(other: Job, job: Job) -> bool:
    """Return whether another job is the same on synthetic data that are not larger."""
    if job.suite != "scaling" or (other.suite, other.candidate) != (job.suite, job.candidate):
        return False
    sizes, own = synthetic_shape(other.data), synthetic_shape(job.data)
    if sizes is None or own is None or sizes == own:
        return False
    return all(size <= own_size for size, own_size in zip(sizes, own, strict=True))


_SPECIAL: dict[str, Callable[..., dict[str, Any]]] = {
    "busy": measure_busy,
    "chain": measure_chain,
    "cores": measure_cores,
    "memory": measure_memory,
    "pass": measure_passes,
    "predict": measure_prediction,
    "roofline": measure_roofline,
    "side": measure_side,
    "stock": measure_stock,
    "workers": measure_workers,
}


def measure_in_child(job: Job, file: Path, goal: Goal) -> tuple[str, dict[str, Any]]:
    """Measure a job on its file of arrays, in a new interpreter with the job's number of threads.

    Returns
    -------
    outcome : {"measured", "longer than", "ended"}
        Whether the training reached its goal, reached the time limit, or was ended by another
        signal (for example by the system, out of memory).
    result : dict
        The measurements, or the signal.

    Raises
    ------
    RuntimeError
        If the measurement fails.
    """
    with process_environment(job.threads):
        process = CallInProcess(get_context("spawn"), _measure_and_send, job, file.resolve(), goal)
    try:
        message, status = process.message(), process.status()
    finally:
        process.end()
    if status == -signal.SIGPROF:
        return "longer than", {}
    if status < 0:
        return "ended", {"signal": signal.Signals(-status).name}
    if status:
        raise RuntimeError(
            f"{job.candidate} failed on {job.data} in the suite {job.suite}: {message}"
        )
    return message.pop("outcome", "measured"), message


def _measure_and_send(job: Job, file: Path, goal: Goal, messages: Connection) -> None:
    try:
        messages.send(measure(job, file, goal))
    except Exception:
        messages.send(traceback.format_exc())
        sys.exit(1)


def measure(job: Job, file: Path, goal: Goal) -> dict[str, Any]:
    """Run a job on its file of arrays or parts in this process; add the library's digest.

    At the goal's time limit SIGPROF ends this process, unless the training is evaluated on held-out
    rows.
    """
    if job.phase == "to quality":
        measured = measure_time_to_quality(job, read_parts(file), goal)
    elif job.phase == "to the end":
        measured = measure_end(job, read_parts(file), goal)
    else:
        special = _SPECIAL.get(job.suite, measure_boosting)
        measured = special(job, *read_arrays(file), goal.time_limit)
    return measured | {"library": library_digest()}
