"""Runs tasks, a few at a time, each in a process of its own.

A process of its own makes a method's crash a recorded failure, and peak memory the task's. It is
forked from a server that has imported everything, so it starts in milliseconds; the server has not
trained anything, which would make forking unsafe. Workers have one thread each.
"""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess

from experiments import ROOT
from experiments.engine.plan import Group
from experiments.engine.records import (
    Record,
    RecordStore,
    StorageError,
    failure_of,
    make_record,
    only_writer,
)
from experiments.engine.task import Task
from experiments.engine.worker import CANNOT_WRITE, DONE, work

ENDED_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""A worker that ends so was told to; its task has not failed."""

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class RunInterruptedError(RuntimeError):
    """Some tasks were ended from outside; the same command continues with them."""


@dataclass
class _Worker:
    task: Task
    process: BaseProcess
    messages: Connection
    started: float


class Runner:
    """Executes what is missing of some groups.

    Parameters
    ----------
    store : RecordStore
    n_processes : int
        How many tasks at a time.
    keep_predictions : bool
        Whether predictions of final models are kept.
    time_limit : float or None
        Seconds after which a task is ended and recorded as failed.
    retry_failed : bool
        Whether tasks with a recorded failure are tried again.
    on_start, on_end : callable
        Called with a task when it starts, with a task and its record when it ends.
    """

    def __init__(
        self,
        store: RecordStore,
        *,
        n_processes: int = 2,
        keep_predictions: bool = False,
        time_limit: float | None = None,
        retry_failed: bool = False,
        on_start: Callable[[Task], None] = lambda task: None,
        on_end: Callable[[Task, Record], None] = lambda task, record: None,
    ) -> None:
        self.store = store
        self.n_processes = n_processes
        self.keep_predictions = keep_predictions
        self.time_limit = time_limit
        self.retry_failed = retry_failed
        self.on_start = on_start
        self.on_end = on_end
        self._tried: set[str] = set()
        self._interrupted = 0

    def run(self, groups: Iterable[Group]) -> None:
        """Execute every task that has no record yet.

        Raises
        ------
        StorageError
            If a record cannot be written, or another process is writing here. Whatever is in the
            folder stays.
        RunInterruptedError
            If workers were ended from outside.
        """
        self._tried.clear()
        self._interrupted = 0
        queue: deque[Task] = deque()
        waiting: list[tuple[Group, set[str]]] = []
        for group in groups:
            trials = self._missing(group.tuning_tasks())
            queue.extend(self._untried(trials))
            waiting.append((group, {task.name for task in trials}))
        workers: list[_Worker] = []
        with only_writer(self.store.folder), _worker_environment():
            context = _server()
            try:
                while True:
                    tuned = [group for group, trials in waiting if not trials]
                    choices = [c for group in tuned for c in group.choices(self.store) or ()]
                    finals = self._missing(choice.task for choice in choices)
                    queue.extendleft(reversed(self._untried(finals)))
                    waiting = [pair for pair in waiting if pair[1]]
                    while queue and len(workers) < self.n_processes:
                        workers.append(self._start(context, queue.popleft()))
                    if not workers:
                        break
                    workers, ended = self._wait(workers)
                    for _, trials_left in waiting:
                        trials_left -= ended
            finally:
                for worker in workers:
                    worker.process.terminate()
                    worker.process.join()
        if self._interrupted:
            raise RunInterruptedError(f"{self._interrupted} tasks were ended from outside")

    def missing(self, groups: Iterable[Group]) -> list[Task]:
        """Return what `run` would execute, as far as it is known before parameters are chosen.

        A choice that cannot be made yet counts with the first of its combinations.
        """
        tasks: dict[str, Task] = {}
        for group in groups:
            choices = group.choices(self.store)
            finals = [choice.task for choice in choices or ()]
            if choices is None:
                tasks[f"{group.line} of {group.finals[0].name}"] = group.finals[0]
            for task in self._missing([*group.tuning_tasks(), *finals]):
                tasks[task.name] = task
        return list(tasks.values())

    def _missing(self, tasks: Iterable[Task]) -> list[Task]:
        return [task for task in tasks if self._is_missing(task)]

    def _is_missing(self, task: Task) -> bool:
        record = self.store.read(task)
        if record is None or (self.retry_failed and record["error"] is not None):
            return True
        wants_arrays = self._keeps(task) and record["error"] is None
        return wants_arrays and not self.store.arrays_path(task).exists()

    def _untried(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that this run has not queued yet, once each, and remember them."""
        new = {task.name: task for task in tasks if task.name not in self._tried}
        self._tried |= new.keys()
        return list(new.values())

    def _keeps(self, task: Task) -> bool:
        return self.keep_predictions and task.inner is None

    def _start(self, context: ForkServerContext, task: Task) -> _Worker:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=work, args=(task, self.store.folder, self._keeps(task), sender)
        )
        process.start()
        sender.close()
        self.on_start(task)
        return _Worker(task, process, receiver, time.monotonic())

    def _wait(self, workers: list[_Worker]) -> tuple[list[_Worker], set[str]]:
        """Wait until a worker ends; return the others and the names of the tasks that ended."""
        timeout = None
        if self.time_limit is not None:
            last = max(time.monotonic() - worker.started for worker in workers)
            timeout = max(self.time_limit - last, 0)
        wait([worker.process.sentinel for worker in workers], timeout)
        ended = set()
        for worker in workers:
            late = self._is_late(worker)
            if late:
                worker.process.terminate()
                worker.process.join()
            if not worker.process.is_alive():
                self._finish(worker, late)
                ended.add(worker.task.name)
        return [worker for worker in workers if worker.task.name not in ended], ended

    def _is_late(self, worker: _Worker) -> bool:
        seconds = time.monotonic() - worker.started
        alive = worker.process.is_alive()
        return alive and self.time_limit is not None and seconds >= self.time_limit

    def _finish(self, worker: _Worker, late: bool) -> None:
        worker.process.join()
        status = worker.process.exitcode
        if late:
            self._record_failure(worker.task, "Timeout", f"ran longer than {self.time_limit} s")
        elif status == CANNOT_WRITE:
            raise StorageError(worker.messages.recv())
        elif status is not None and status < 0:
            if -status in ENDED_FROM_OUTSIDE:
                self._interrupted += 1
                return
            name = signal.Signals(-status).name
            self._record_failure(worker.task, "Killed", f"the process was ended by {name}")
        elif status != DONE:
            self._record_failure(worker.task, "Ended", f"the process ended with status {status}")
        record = self.store.read(worker.task)
        if record is not None:
            self.on_end(worker.task, record)

    def _record_failure(self, task: Task, kind: str, message: str) -> None:
        self.store.write(task, make_record(task, None, failure_of(kind, message), {}))


def _server() -> ForkServerContext:
    """Start what forks workers. Ctrl-C does not get through to them: the run ends them itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.engine.worker"])
    resource_tracker.ensure_running()  # which unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Give new processes one thread each, unless the environment says otherwise.

    The server finds this package by PYTHONPATH: Python 3.12 does not tell it the search path.
    """
    before = dict(os.environ)
    for name in THREAD_LIMITS:
        os.environ.setdefault(name, "1")
    path = [str(ROOT), before.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
