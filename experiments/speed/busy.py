"""Compares the default number of threads with one thread, on a busy machine.

A situation is other busy processes of lower, equal or higher priority, or a limit on this process:
one core, or half a core by quota. Each situation of a job has a process of its own, in which
trainings with one thread and with the default number take turns. The comparison is of wall time,
the time that a user waits.

Priorities are relative: the process that trains has a nice value of 5, the others 10, 5 or 0. The
quota needs permission to make a control group, which root has.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from experiments.speed.candidates import make_candidate
from experiments.speed.data import Features, Labels
from experiments.speed.stopwatch import Clock
from experiments.speed.suites import Job
from xdcc import MultiLabelClassifier

_OWN_NICE = 5
_NICE = {"lower": 10, "equal": 5, "higher": 0}
_TURNS = 4
_SECONDS = 0.25  # minimum duration of a turn
_MOST_ROWS = 1_500  # for MultiLabelClassifier, whose training is long
_PERIOD = 100_000  # microseconds
_GROUPS = (("cgroup/cpu", "cpu.cfs_quota_us"), ("cgroup", "cpu.max"))
DEFAULT = 0
"""Number of threads that selects the library's default."""


@dataclass(frozen=True)
class Situation:
    """Other processes on the machine, or a limit on this process."""

    others: int = 0
    priority: str = "equal"
    limit: str | None = None  # "one core" or "half a core"

    @property
    def name(self) -> str:
        """Name in the results."""
        return self.limit or (f"{self.others} {self.priority}" if self.others else "alone")


SITUATIONS = (
    Situation(),
    *(Situation(n, priority) for priority in _NICE for n in (1, 2)),
    Situation(limit="one core"),
    Situation(limit="half a core"),
)


def measure_busy(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train in all situations.

    Returns
    -------
    dict
        `ratios`: by situation, wall time with the default number of threads over that with one;
        `worst`: the largest of them; `cpu_seconds`, `wall_seconds` and `peak_bytes` of one thread
        alone.
    """
    os.environ.pop("OMP_NUM_THREADS", None)  # the library chooses
    os.nice(_OWN_NICE)
    measured: dict[str, dict[str, float]] = {}
    for situation in SITUATIONS:
        with _limited(situation.limit) as possible:
            if possible:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    task = process.submit(_measure, situation, job, X, Y)
                    measured[situation.name] = task.result()
    ratios = {name: seconds["default"] / seconds["one"] for name, seconds in measured.items()}
    return {
        "ratios": ratios,
        "worst": max(ratios.values()),
        "cpu_seconds": measured["alone"]["cpu"],
        "wall_seconds": measured["alone"]["one"],
        "peak_bytes": 0,
    }


def _measure(situation: Situation, job: Job, X: Features, Y: Labels) -> dict[str, float]:
    """Return mean seconds with one thread and the default number, and CPU seconds with one."""
    train = _training(job, X, Y)
    train(1)
    seconds: dict[int, list[float]] = {1: [], DEFAULT: []}
    clock = Clock()
    with other_processes(situation):
        for _ in range(1 if job.candidate == "automatic" else _TURNS):
            for threads, taken in seconds.items():
                begin = time.perf_counter()
                if threads == 1:
                    with clock:
                        train(threads)
                else:
                    train(threads)
                taken.append(time.perf_counter() - begin)
    means = {threads: float(np.mean(taken)) for threads, taken in seconds.items()}
    return {"one": means[1], "default": means[DEFAULT], "cpu": clock.cpu_seconds}


def _training(job: Job, X: Features, Y: Labels) -> Callable[[int], Any]:
    """Return a function that trains with the given number of threads."""
    if job.candidate == "automatic":
        X, Y = X[:_MOST_ROWS], Y[:_MOST_ROWS]

        def fit(threads: int) -> None:
            n_jobs = None if threads == DEFAULT else threads
            MultiLabelClassifier(random_state=job.seed, n_jobs=n_jobs).fit(X, Y)

        return fit
    candidate = make_candidate(replace(job, threads=1, rounds=1))
    matrix = candidate.build(X, Y)
    candidate.quantise(matrix)
    begin = time.perf_counter()
    candidate.train(matrix)
    rounds = max(job.rounds, int(_SECONDS / (time.perf_counter() - begin)))
    return lambda threads: make_candidate(replace(job, threads=threads, rounds=rounds)).train(
        matrix
    )


@contextmanager
def other_processes(situation: Situation) -> Iterator[None]:
    """Keep the other processes of a situation busy."""
    nice = _NICE[situation.priority] - _OWN_NICE
    command = [sys.executable, "-c", "while True: pass"]
    if nice >= 0:
        command = ["nice", "-n", str(nice), *command]
    processes = [
        subprocess.Popen(command, preexec_fn=(lambda: os.nice(nice)) if nice < 0 else None)
        for _ in range(situation.others)
    ]
    try:
        time.sleep(0.3 if processes else 0)  # until they are busy
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def _limited(limit: str | None) -> Iterator[bool]:
    """Limit this process and its children; yield whether that is possible."""
    if limit == "one core":
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            yield True
        finally:
            os.sched_setaffinity(0, before)
    elif limit == "half a core":
        with _quota(0.5) as possible:
            yield possible
    else:
        yield True


@contextmanager
def _quota(cores: float) -> Iterator[bool]:
    """Put this process into a control group with a quota; yield whether that is possible."""
    for folder, file in _GROUPS:
        parent = Path("/sys/fs", folder)
        group = parent / f"xdcc-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:  # not mounted, or no permission
            continue
        try:
            quota = int(cores * _PERIOD)
            (group / file).write_text(f"{quota} {_PERIOD}" if file == "cpu.max" else str(quota))
            (group / "cgroup.procs").write_text(str(os.getpid()))
            yield True
        finally:
            (parent / "cgroup.procs").write_text(str(os.getpid()))
            group.rmdir()
        return
    yield False
