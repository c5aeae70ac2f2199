"""CPU time, wall time and peak memory of a call."""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_WATCH_SECONDS = 0.1


@dataclass(frozen=True)
class Cost:
    """What a call cost.

    Attributes
    ----------
    cpu_seconds : float
        Of all threads of the process, in user and system mode.
    wall_seconds : float
    peak_bytes : int
        The largest resident memory of the process up to the call's end, less the largest before
        the call.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


class Clock:
    """Adds up CPU and wall seconds of the blocks that it is entered for.

    Attributes
    ----------
    cpu_seconds, wall_seconds : float
    """

    def __init__(self) -> None:
        self.cpu_seconds = self.wall_seconds = 0.0
        self._begin = 0.0, 0.0

    def __enter__(self) -> Self:
        self._begin = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall = self._begin
        self.cpu_seconds += time.process_time() - cpu
        self.wall_seconds += time.perf_counter() - wall


def measure_cost[T](call: Callable[[], T], time_limit: float) -> tuple[T, Cost]:
    """Call, and measure what it costs.

    Parameters
    ----------
    call : callable
        Without arguments.
    time_limit : float
        CPU seconds after which the call is ended, and with it this process, by SIGPROF. It need
        not return to Python for that, but let other threads run, as libraries' compiled code does.

    Returns
    -------
    result : object
        What the call returned.
    cost : Cost
    """
    gc.collect()
    before = _peak_bytes()
    with _limited(time_limit):
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return result, Cost(cpu, wall, _peak_bytes() - before)


@contextmanager
def _limited(time_limit: float) -> Iterator[None]:
    """End this process when it has used so much CPU time.

    A thread looks at the clock now and then. Not the system's own timer of CPU time: while one
    runs, the clock that is measured with advances in steps of milliseconds only.
    """
    end = time.process_time() + time_limit
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_WATCH_SECONDS):
            if time.process_time() > end:
                os.kill(os.getpid(), signal.SIGPROF)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _peak_bytes() -> int:
    # Not ru_maxrss, which a process inherits from the one that started it.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no line VmHWM: the peak memory cannot be read")
