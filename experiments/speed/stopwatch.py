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
    """The cost of a call."""

    cpu_seconds: float  # of all threads of the process, in user and system mode
    wall_seconds: float
    peak_bytes: int  # peak resident memory until the call's end, minus that before the call


class Clock:
    """Adds up CPU and wall seconds of the blocks that it is entered for."""

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
    """Call without arguments; return what the call returned, and what it cost.

    After `time_limit` CPU seconds it is ended, and with it this process, by SIGPROF. It need not
    return to Python for that, but let other threads run, as libraries' compiled code does.
    """
    gc.collect()
    before = _peak_bytes()
    with _limited(time_limit):
        clock = Clock()
        with clock:
            result = call()
    return result, Cost(clock.cpu_seconds, clock.wall_seconds, _peak_bytes() - before)


@contextmanager
def _limited(time_limit: float) -> Iterator[None]:
    """End this process after the given CPU seconds.

    A thread checks the clock ten times a second. The system's timer of CPU time is not used: while
    it runs, the measured clock advances only in steps of milliseconds.
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
    # Not ru_maxrss, which a process inherits from its parent.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("the peak memory cannot be read: /proc/self/status has no line VmHWM")
