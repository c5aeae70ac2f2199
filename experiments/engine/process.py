"""A call in a process of its own, which a crash or a time limit ends alone.

The process ignores Ctrl-C, because the run ends its processes itself. It ends when the run that
started it is gone, so a killed run leaves nothing behind. Nothing here polls: while the run waits
for a message or for the end of a process, it uses no CPU time.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from typing import Any

from experiments import ROOT
from xdcc.base.process import late_interrupt

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class CallInProcess:
    """A call that runs in a process of its own.

    Parameters
    ----------
    context : multiprocessing context
        How the process starts: forked from a server, or as a new interpreter.
    call : callable
        Called with the arguments and a connection that it may send messages to.
    *args : object
        Must be picklable.

    Attributes
    ----------
    started : float
        By the monotonic clock.
    """

    def __init__(self, context: BaseContext, call: Callable[..., None], *args: Any) -> None:
        self._messages, sender = context.Pipe(duplex=False)
        # Each context has a class of processes of its own.
        self._process = context.Process(target=_work, args=(call, *args, sender))  # type: ignore[attr-defined]
        with late_interrupt():  # else a process that is half started would report a broken message
            self._process.start()
        sender.close()
        self.started = time.monotonic()

    @property
    def sentinel(self) -> int:
        """The handle for `multiprocessing.connection.wait`."""
        return self._process.sentinel

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.is_alive()

    def message(self) -> Any:
        """Wait for the next message; None if the process ended without one."""
        try:
            return self._messages.recv()
        except EOFError:
            return None

    def status(self) -> int:
        """Wait for the end; return the exit status, or minus the signal that ended the process."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def end(self) -> None:
        """End the process, if it has not ended, and wait for it."""
        self._process.terminate()
        self._process.join()


def _work(call: Callable[..., None], *args: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    call(*args)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def process_environment(n_threads: int | None = None) -> Iterator[None]:
    """Set the environment of the processes that start inside the block.

    They use `n_threads`, by default one unless the environment says otherwise. PYTHONPATH leads to
    this package, because in Python 3.12 a fork server does not receive the search path.
    """
    before = dict(os.environ)
    for name in _THREAD_LIMITS:
        os.environ[name] = before.get(name, "1") if n_threads is None else str(n_threads)
    path = [str(ROOT), before.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
