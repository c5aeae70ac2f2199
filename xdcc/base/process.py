"""Handling interrupts and failed fits.

:func:`late_interrupt` delays Ctrl-C. XGBoost reads the rows of a ``QuantileDMatrix`` through Python
callbacks, which C++ calls through ctypes. ctypes drops an exception in a callback, including
``KeyboardInterrupt``, and XGBoost then works on rows that it has not read.

:func:`whole_or_nothing` restores an estimator whose ``fit`` raises. Otherwise it would mix what it
learned from the new data with models of the old data, or look fitted without having a model.
"""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def late_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended.

    This does nothing outside the main thread, which is the only one that Ctrl-C interrupts, and
    nothing if the signal has a handler outside Python.

    Examples
    --------
    >>> import signal
    >>> try:
    ...     with late_interrupt():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("the block ends")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    the block ends
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


def whole_or_nothing[T: Callable[..., Any]](method: T) -> T:
    """Decorate a method so that it restores the object's attributes if it raises.

    It may set attributes, but not modify the objects they held before.

    Examples
    --------
    >>> class Estimator:
    ...     @whole_or_nothing
    ...     def fit(self):
    ...         self.n_features_in_ = 3
    ...         raise KeyboardInterrupt
    >>> estimator = Estimator()
    >>> try:
    ...     estimator.fit()
    ... except KeyboardInterrupt:
    ...     print(vars(estimator))
    {}
    """

    @functools.wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return whole  # type: ignore[return-value]
