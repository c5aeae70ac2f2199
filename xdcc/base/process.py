"""What may befall the process while estimators work: a fork, an interrupt, an exception.

*A fork of a process in which XGBoost has sorted with several threads*, for the metric ``auc`` for
example: OpenMP's threads are ended before it, and made anew after. A forked child has only the
thread that called `os.fork`. OpenMP does not know that: it waits for the others of its pool, and
the first sort of the child hangs. So before a fork the pool of the calling thread is given up;
parent and child make new threads when they next need some. The parent loses microseconds, not
results. This is `omp_pause_resource_all` of OpenMP 5.0, section 3.2.44. A library that has no such
function is left alone. Importing the module registers it. The parallel loops of the kernels and of
XGBoost need no such help: their threads are made anew in a forked process
(``plugins/multilabel/threads``).

*An interrupt from the keyboard* waits where it would be lost, or do harm. XGBoost reads the rows of
a ``QuantileDMatrix`` through functions of Python that C++ calls. ctypes drops an exception there,
``KeyboardInterrupt`` among them, and XGBoost then works on rows that it has not read.

*A ``fit`` that does not come to its end* leaves the estimator as it was. An exception, an interrupt
or a callback that raises would else leave what the data said beside models of earlier data, or an
estimator that looks fitted and has no model.
"""

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_HARD = 2
"""`omp_pause_hard`: nothing is kept."""


def end_threads() -> None:
    """End the OpenMP threads that XGBoost has for the calling thread.

    Examples
    --------
    >>> end_threads()  # before whatever does not bear with threads
    """
    if xgboost := sys.modules.get("xgboost.core"):
        pause = getattr(xgboost._LIB, "omp_pause_resource_all", None)
        if pause is not None:
            pause(_HARD)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=end_threads)


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
