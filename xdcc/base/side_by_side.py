"""How the cores are used: independent trainings run side by side.

A ``fit`` often consists of many trainings that do not depend on each other: folds, seeds,
candidates, members. Where rows are few, threads inside a training gain nothing, as its parallel
regions last microseconds. So whole trainings run side by side, each in a thread, and only what is
left of the cores is divided among the threads inside of them. Boosters, which are trained some
rounds at a time, also use the cores of threads that wait (:func:`with_idle_cores`).

A block ``with side_by_side(n_jobs)`` starts threads. In it :func:`run_all` runs functions, and
:func:`run_in_step` advances several trainings whose results are judged together. Both can be
called by what they run: candidates run side by side, and their folds, too. A thread begins what is
outermost first, so that it seldom has to wait for another one, and helps with what others have
begun when nothing else is left. Whatever finishes first, results come in the order of the tasks:
they do not depend on the number of threads.

Blocks within a block, and tasks, use the threads of the outermost block. Outside of a block, with
one thread, and for workers that train together (:mod:`xdcc.base.workers`), whose messages belong to
one thread, everything runs in order in the calling thread.

The calling thread waits while others work, so Ctrl-C reaches it at once: no further step is begun,
and the threads end with the one that they are at, or where it calls :func:`end_if_stopped`. An
exception in a task ends the tasks beside it and is raised where they were started.
"""

import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from xdcc.base.libraries import collective, sklearn, threadpoolctl, xgb
from xdcc.base.threads import at_least_threads, n_threads, thread_limit

type Step = Callable[[], object]

_LEAST_ENTRIES = 50_000
"""Calls of NumPy for fewer values are so short that threads would mostly wait for Python's lock:
two threads took up to 1.3 times as long as one."""

_AHEAD = 2
"""Steps that a training of :func:`run_in_step` can be ahead of what is judged.

With five folds and two threads, no thread has to wait. At the end, this many steps of each are
trained and dropped.
"""


def threads_each(task: int, n_tasks: int, cores: int) -> int:
    """Divide cores among tasks that are begun in order: how many threads one of them can use.

    As many tasks as cores have one thread each. The last ones, if they are fewer, share the cores.

    Examples
    --------
    >>> [threads_each(task, 5, 2) for task in range(5)], threads_each(0, 5, 16)
    ([1, 1, 1, 1, 2], 3)
    """
    first = task - task % cores
    return max(1, cores // min(cores, n_tasks - first))


@contextmanager
def side_by_side(n_jobs: int | None, *, limit_blas: bool = True) -> Iterator[None]:
    """Let tasks within the block run side by side; where they do already this does nothing.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, see :func:`~xdcc.base.threads.n_threads`.
    limit_blas : bool, default=True
        Whether products of matrices use one thread, also without other threads: sums of several
        threads can differ in the last place. For classifiers of other packages they are left alone.

    Examples
    --------
    >>> with side_by_side(2):
    ...     run_all([lambda: 1, lambda: 2, lambda: 3])
    [1, 2, 3]
    """
    if _here.pool is not None:
        yield
        return
    count = 1 if collective.is_distributed() else n_threads(n_jobs)
    with one_blas_thread() if limit_blas else nullcontext():
        if count == 1:
            yield
            return
        with _Pool(count) as pool:
            # If the system cannot start another thread, everything runs in this one.
            _here.pool = pool if pool.n_threads else None
            try:
                yield
            finally:
                _here.pool = None


def n_at_once() -> int:
    """Return how many tasks can run at a time: 1 outside of a block.

    Examples
    --------
    >>> n_at_once()
    1
    """
    return 1 if _here.pool is None else _here.pool.n_threads


def with_idle_cores() -> AbstractContextManager[None]:
    """Let what the current thread does use, too, the cores of threads that have nothing to do.

    It is for short parts of long tasks: the others may find something to do meanwhile.

    Examples
    --------
    >>> with side_by_side(2), with_idle_cores():
    ...     n_at_once()
    2
    """
    return nullcontext() if _here.pool is None else at_least_threads(_here.pool.cores_of_each())


def end_if_stopped() -> None:
    """Unwind the current task if Ctrl-C, or an exception in a task beside it, has ended its block.

    Long tasks call it between their steps.

    Examples
    --------
    >>> end_if_stopped()
    """
    if _here.job is not None and _here.job.is_ended:
        raise _Ended


def n_ahead() -> int:
    """Return for how many steps of :func:`run_in_step` results are needed at a time.

    Examples
    --------
    >>> n_ahead()
    1
    """
    return 1 if _here.pool is None else _AHEAD


def run_all[T](tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Call functions, side by side in a block of :func:`side_by_side`; return what they return.

    If one raises an exception, this raises it, and starts no other.

    Examples
    --------
    >>> run_all([lambda: 1, lambda: 2])
    [1, 2]
    """
    if _here.pool is None or len(tasks) < 2:
        return [task() for task in tasks]
    work = _Tasks(tasks, _here.pool.cores())
    _here.pool.run(work)
    return [work.found[number] for number in range(len(tasks))]


def run_large[T](tasks: Sequence[Callable[[], T]], n_entries: int) -> list[T]:
    """Call functions that consist of calls of NumPy: side by side only if these are long enough.

    `n_entries` is the number of values that such a call is for.

    Examples
    --------
    >>> with side_by_side(2):
    ...     run_large([lambda: 1, lambda: 2], n_entries=9)
    [1, 2]
    """
    return run_all(tasks) if n_entries >= _LEAST_ENTRIES else [task() for task in tasks]


def run_in_step(
    n_trainings: int,
    n_steps: int,
    advance: Callable[[int, int], None],
    is_over: Callable[[int], bool],
    *,
    moves_cheaply: bool,
) -> None:
    """Advance trainings step by step until what they have reached together says that it is enough.

    Parameters
    ----------
    n_trainings : int
        How many trainings there are.
    n_steps : int
        How many steps each makes at most.
    advance : callable
        Makes a step of a training, by the numbers of both. Steps of one training follow each other;
        those of several are made side by side in a block of :func:`side_by_side`.
    is_over : callable
        Called with the number of each step, in order, when all trainings have made it. True ends
        all of them, and some can be two steps ahead by then, none without threads.
    moves_cheaply : bool
        Whether a training can go on in another thread at little cost. XGBoost keeps the margins of
        a booster for each thread, and computes them anew, from all trees, for another one. If that
        takes long, a thread takes over a training only once, so that each has about as many.

    Examples
    --------
    >>> def advance(training, step):
    ...     print(f"{training}: {step}")
    >>> run_in_step(2, 9, advance, lambda step: step == 1, moves_cheaply=True)
    0: 0
    1: 0
    0: 1
    1: 1
    """
    cores = 1 if _here.pool is None else _here.pool.cores()
    work = _JointSteps(n_trainings, n_steps, advance, is_over, moves_cheaply, cores)
    if _here.pool is not None:
        _here.pool.run(work)
        return
    while (step := work.take()) is not None:
        step()


class _Work(Protocol):
    """Steps that threads make; both methods are called by one thread at a time."""

    def take(self) -> Step | None:
        """Return a step for the current thread; None if there is none at the moment."""

    def is_complete(self) -> bool:
        """Tell whether no step will follow those that were taken, when these are made."""


class _Tasks[T]:
    """Functions that do not depend on each other, and what they have returned."""

    def __init__(self, tasks: Sequence[Callable[[], T]], cores: int) -> None:
        self._tasks, self._cores, self._n_taken = tasks, cores, 0
        self.found: dict[int, T] = {}

    def take(self) -> Step | None:
        """Return the next function."""
        if self.is_complete():
            return None
        self._n_taken += 1
        return partial(self._call, self._n_taken - 1)

    def is_complete(self) -> bool:
        """Tell whether all have been taken."""
        return self._n_taken == len(self._tasks)

    def _call(self, number: int) -> None:
        with thread_limit(threads_each(number, len(self._tasks), self._cores)):
            self.found[number] = self._tasks[number]()


class _JointSteps:
    """The steps of trainings that are judged together."""

    def __init__(
        self,
        n_trainings: int,
        n_steps: int,
        advance: Callable[[int, int], None],
        is_over: Callable[[int], bool],
        moves_cheaply: bool,
        cores: int,
    ) -> None:
        self._n_steps, self._advance, self._judge = n_steps, advance, is_over
        self._moves_cheaply, self._limit = moves_cheaply, max(1, cores // n_trainings)
        self._made = [0] * n_trainings
        self._is_free = [True] * n_trainings
        self._threads = [0] * n_trainings  # where each made its last step, 0 before the first
        self._n_judged, self._ahead = 0, n_ahead()
        self._is_judging = self._is_over = False
        self._lock = threading.Lock()

    def take(self) -> Step | None:
        """Return a step of the training that has made the fewest; None if all have to wait."""
        with self._lock:
            end = min(self._n_judged + self._ahead, self._n_steps)
            able = [
                training
                for training, made in enumerate(self._made)
                if made < end and self._is_free[training] and not self._is_over
            ]
            here = threading.get_ident()
            own = [training for training in able if self._threads[training] in (here, 0)]
            training = min(own or self._movable(able, here), key=self._made.__getitem__, default=-1)
            if training < 0:
                return None
            self._is_free[training], self._threads[training] = False, here
        return partial(self._make, training)

    def is_complete(self) -> bool:
        """Tell whether it is enough, or all steps have been made."""
        return self._is_over or self._n_judged == self._n_steps

    def _movable(self, able: list[int], here: int) -> list[int]:
        """Select trainings that this thread can take over from another one."""
        if self._moves_cheaply:
            return able
        n_own = self._threads.count(here)
        return [each for each in able if self._threads.count(self._threads[each]) > n_own + 1]

    def _make(self, training: int) -> None:
        with thread_limit(self._limit):
            self._advance(training, self._made[training])
        with self._lock:
            self._made[training] += 1
            self._is_free[training] = True
            if self._is_judging:
                return
            self._is_judging = True
        while self._has_next():
            is_over = self._judge(self._n_judged)
            with self._lock:
                self._n_judged += 1
                self._is_over |= is_over

    def _has_next(self) -> bool:
        """Return whether there is a step to judge; called again after each further step."""
        with self._lock:
            self._is_judging = not self._is_over and min(self._made) > self._n_judged
            return self._is_judging


class _Ended(BaseException):
    """Unwinds a task beside which another one has failed."""


@dataclass(eq=False)
class _Job:
    """Steps that one thread has to have done, and with which others help."""

    work: _Work
    parent: "_Job | None"
    n_running: int = 0
    error: BaseException | None = None
    is_over: bool = False

    @property
    def is_ended(self) -> bool:
        """Whether it, or a job that it is a part of, has failed."""
        return self.error is not None or (self.parent is not None and self.parent.is_ended)

    def is_part_of(self, other: "_Job") -> bool:
        """Whether the other one waits for it."""
        return self is other or (self.parent is not None and self.parent.is_part_of(other))


class _Pool:
    """Threads, and the jobs that they work on.

    Attributes
    ----------
    n_threads : int
        Number of threads, as many as could be started. The one that made the pool is not among
        them.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = 0
        self._n_waiting = 0
        self._jobs: list[_Job] = []
        self._changed = threading.Condition()
        self._is_closed = False
        settings = xgb.get_config(), sklearn.get_config()
        self._threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._begin, *settings))
            for _ in range(n_threads)
        ]

    def __enter__(self) -> "_Pool":
        with suppress(RuntimeError):  # the system has no further thread
            for thread in self._threads:
                thread.start()
                self.n_threads += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads[: self.n_threads]:
            thread.join()

    def cores(self) -> int:
        """Return how many cores the current task can divide among tasks of its own."""
        return self.n_threads if _here.job is None else n_threads(self.n_threads)

    def cores_of_each(self) -> int:
        """Divide the cores among the threads that do not wait."""
        return self.n_threads // max(1, self.n_threads - self._n_waiting)

    def run(self, work: _Work) -> None:
        """Make all steps of some work, and wait until those that others make are made."""
        job = _Job(work, _here.job)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()
        if job.parent is None:
            self._wait_for(job)
        else:
            self._work(job)
        if job.error is not None:
            raise job.error
        if job.is_ended:
            raise _Ended

    def _wait_for(self, job: _Job) -> None:
        with self._changed:
            try:
                while not job.is_over:
                    self._changed.wait()
            except BaseException as error:  # Ctrl-C
                job.error = error
                while not job.is_over:
                    self._changed.wait()

    def _begin(self, of_xgboost: dict[str, Any], of_sklearn: dict[str, Any]) -> None:
        """Work, in a new thread, with the settings of the thread that made the pool."""
        xgb.set_config(**of_xgboost)
        sklearn.set_config(**of_sklearn)
        _here.pool = self
        self._work(None)

    def _work(self, awaited: _Job | None) -> None:
        """Make steps of a job and its parts until it is over; of all jobs until the pool closes."""
        while True:
            with self._changed:
                while (found := self._next(awaited)) is None:
                    if self._is_closed if awaited is None else awaited.is_over:
                        return
                    self._n_waiting += 1
                    self._changed.wait()
                    self._n_waiting -= 1
                job, step = found
                job.n_running += 1
            before, _here.job = _here.job, job
            try:
                step()
                error = None
            except BaseException as raised:
                error = raised
            _here.job = before
            with self._changed:
                job.n_running -= 1
                if error is not None and not isinstance(error, _Ended) and job.error is None:
                    job.error = error
                self._changed.notify_all()
            del found, job, step, error  # what they hold is free while this thread waits

    def _next(self, awaited: _Job | None) -> tuple[_Job, Step] | None:
        """Take a step of the first job that has one, and find out which jobs are over."""
        for job in list(self._jobs):
            if awaited is not None and not job.is_part_of(awaited):
                continue
            step = None if job.is_ended else job.work.take()
            if step is not None:
                return job, step
            if job.n_running == 0 and (job.is_ended or job.work.is_complete()):
                job.is_over = True
                self._jobs.remove(job)
                self._changed.notify_all()
        return None


class _Here(threading.local):
    """The training that the current thread works for."""

    pool: _Pool | None = None
    job: _Job | None = None


_here = _Here()


class _Blas:
    """Blocks of :func:`one_blas_thread` of all threads, and the limits before the first of them."""

    lock = threading.Lock()
    n_blocks = 0
    before: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products of matrices use one thread, in the whole process until the last block ends.

    Examples
    --------
    >>> with one_blas_thread():
    ...     print(np.ones((2, 2)) @ np.ones(2))
    [2. 2.]
    """
    with _Blas.lock:
        if _Blas.n_blocks == 0:
            _Blas.before = threadpoolctl.threadpool_limits(1, "blas")
        _Blas.n_blocks += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.n_blocks -= 1
            if _Blas.n_blocks == 0:
                _Blas.before.restore_original_limits()
