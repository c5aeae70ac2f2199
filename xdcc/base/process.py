"""Handling interrupts and failed fits.

*An interrupt from the keyboard* waits where it would be lost, or do harm. XGBoost reads the rows of
a ``QuantileDMatrix`` through functions of Python that C++ calls. ctypes drops an exception there,
``KeyboardInterrupt`` among them, and XGBoost then works on rows that it has not read.

*A ``fit`` that does not come to its end* leaves the estimator as it was. An exception, an interrupt
or a callback that raises would else leave what the data said beside models of earlier data, or an
estimator that looks fitted and has no model.
"""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


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


def whole_or_nothing[T: Callable[..., Any]](method: T) -> T:
    """Make a method take back the attributes that it has set if it raises, as a decorator.

    Parameters
    ----------
    method : function
        A method that sets attributes, and does not change the objects that were there.

    Returns
    -------
    function

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
