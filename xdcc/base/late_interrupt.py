"""An interrupt from the keyboard waits where it would be lost, or do harm.

XGBoost reads the rows of a ``QuantileDMatrix`` through functions of Python that C++ calls. ctypes
drops an exception there, ``KeyboardInterrupt`` among them, and XGBoost then works on rows that it
has not read.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def late_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended.

    Only the main thread is interrupted, and elsewhere this does nothing; nor does it where a
    handler that is not of Python takes the signal.

    Examples
    --------
    >>> import signal
    >>> try:
    ...     with late_interrupt():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("the block comes to its end")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    the block comes to its end
    interrupted
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if signals:
            signal.raise_signal(signal.SIGINT)
