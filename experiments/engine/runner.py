"""Runs tasks, a few at a time, each in a process of its own.

The crash of a method is then a recorded failure, and the peak memory is that of the task. Processes
are forked from a server that has imported everything, so they start in milliseconds. The server has
not trained anything, which would make forking unsafe. Each process has one thread.
"""

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext

from experiments.engine.plan import Group
from experiments.engine.process import CallInProcess, process_environment
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
"""A task whose process is ended by one of these signals has not failed."""


class RunInterruptedError(RuntimeError):
    """Some tasks were ended from outside; run the same command to continue."""


@dataclass
class _Worker:
    task: Task
    process: CallInProcess


class Runner:
    """Executes the tasks of some groups that have no record.

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
            If a record cannot be written, or another process is writing here. Files in the folder
            are kept.
        RunInterruptedError
            If tasks were ended from outside.
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
        with only_writer(self.store.folder), process_environment():
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
                    worker.process.end()
        if self._interrupted:
            raise RunInterruptedError(f"{self._interrupted} tasks were ended from outside")

    def missing(self, groups: Iterable[Group]) -> list[Task]:
        """Return the tasks that `run` would execute, as far as known before parameters are chosen.

        A choice that cannot be made yet counts as the first of its combinations.
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
        record = self.store.read(task.name)
        if record is None or (self.retry_failed and record["error"] is not None):
            return True
        wants_arrays = self._keeps(task) and record["error"] is None
        return wants_arrays and not self.store.arrays_path(task.name).exists()

    def _untried(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that this run has not queued yet, once each, and remember them."""
        new = {task.name: task for task in tasks if task.name not in self._tried}
        self._tried |= new.keys()
        return list(new.values())

    def _keeps(self, task: Task) -> bool:
        return self.keep_predictions and task.inner is None

    def _start(self, context: ForkServerContext, task: Task) -> _Worker:
        process = CallInProcess(context, work, task, self.store.folder, self._keeps(task))
        self.on_start(task)
        return _Worker(task, process)

    def _wait(self, workers: list[_Worker]) -> tuple[list[_Worker], set[str]]:
        """Wait until a worker ends; return the others and the names of the tasks that ended."""
        timeout = None
        if self.time_limit is not None:
            last = max(time.monotonic() - worker.process.started for worker in workers)
            timeout = max(self.time_limit - last, 0)
        wait([worker.process.sentinel for worker in workers], timeout)
        ended = set()
        for worker in workers:
            late = self._is_late(worker)
            if late:
                worker.process.end()
            if not worker.process.is_alive():
                self._finish(worker, late)
                ended.add(worker.task.name)
        return [worker for worker in workers if worker.task.name not in ended], ended

    def _is_late(self, worker: _Worker) -> bool:
        seconds = time.monotonic() - worker.process.started
        alive = worker.process.is_alive()
        return alive and self.time_limit is not None and seconds >= self.time_limit

    def _finish(self, worker: _Worker, late: bool) -> None:
        status = worker.process.status()
        if late:
            self._record_failure(worker.task, "Timeout", f"ran longer than {self.time_limit} s")
        elif status == CANNOT_WRITE:
            raise StorageError(worker.process.message())
        elif status < 0:
            if -status in ENDED_FROM_OUTSIDE:
                self._interrupted += 1
                return
            name = signal.Signals(-status).name
            self._record_failure(worker.task, "Killed", f"the process was ended by {name}")
        elif status != DONE:
            self._record_failure(worker.task, "Ended", f"the process ended with status {status}")
        record = self.store.read(worker.task.name)
        if record is not None:
            self.on_end(worker.task, record)

    def _record_failure(self, task: Task, kind: str, message: str) -> None:
        self.store.write(task.name, make_record(task.key(), None, failure_of(kind, message), {}))


def _server() -> ForkServerContext:
    """Start the fork server, with Ctrl-C blocked."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.engine.worker"])
    resource_tracker.ensure_running()  # which unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context
