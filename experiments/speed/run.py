"""Measures all jobs of a plan, those on the same data in turns, and keeps what comes out."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from experiments.speed.data import synthetic_shape, write_arrays
from experiments.speed.goals import find_goal
from experiments.speed.job import Job
from experiments.speed.measurement import measure_in_child
from experiments.speed.parts import write_parts
from experiments.speed.results import Results
from experiments.speed.suites import GROUPS, REFERENCE


def run(groups: Sequence[Sequence[Job]], repeats: int, time_limit: float, results: Results) -> None:
    """Measure what a plan has and the results have not, and add it to them.

    A training is ended after `time_limit` CPU seconds. It is not repeated then, and in the suite
    `scaling` its candidate is not measured on larger data, but for the end points.

    Raises
    ------
    RuntimeError
        If a measurement fails, or the library was exchanged meanwhile; what was measured before is
        kept.
    ValueError, FileNotFoundError
        If a data set cannot be loaded.
    """
    total = repeats * sum(len(group) for group in groups)
    with (
        tqdm(total=total, unit="measurement", file=sys.stderr) as progress,
        TemporaryDirectory() as folder,
    ):
        for number, group in enumerate(groups):
            file = Path(folder, f"{number}.npz")
            for job, repeat in _turns(group, repeats):
                progress.set_description(f"{job.suite} {job.data} {job.candidate}")
                goal = find_goal(job, repeat, results, time_limit)
                if goal is None:
                    reason = {"why": f"{REFERENCE} has set no goal"}
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
            f"{result['library']}: measure again, into another folder"
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
    """Tell whether another job is the same on synthetic data that is nowhere larger."""
    if job.suite != "scaling" or (other.suite, other.candidate) != (job.suite, job.candidate):
        return False
    sizes, own = synthetic_shape(other.data), synthetic_shape(job.data)
    if sizes is None or own is None or sizes == own:
        return False
    return all(size <= own_size for size, own_size in zip(sizes, own, strict=True))
