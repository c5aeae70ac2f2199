"""A fork of a process that has used threads: OpenMP's are ended before it, and made anew after.

A forked child has only the thread that called `os.fork`. An OpenMP library does not know that: it
waits for the others of its pool, and the first parallel loop of the child hangs. So before a fork
the pool of the calling thread is given up, in the libraries of XGBoost and of the kernels; parent
and child make new threads when they next need some. The parent loses microseconds, not results.

This is `omp_pause_resource_all` of OpenMP 5.0, section 3.2.44. A library that has no such function
is left alone. Importing the module is what makes it so.
"""

import ctypes
import os
import sys
from collections.abc import Iterator

_HARD = 2
"""`omp_pause_hard`: nothing is kept."""


def end_threads() -> None:
    """End the OpenMP threads of the calling thread.

    Examples
    --------
    >>> end_threads()  # before whatever does not bear with threads
    """
    for library in _libraries():
        pause = getattr(library, "omp_pause_resource_all", None)
        if pause is not None:
            pause(_HARD)


def _libraries() -> Iterator[ctypes.CDLL]:
    """Libraries that have been imported and were linked to OpenMP; names are looked up there."""
    if kernels := sys.modules.get("xdcc.kernels.threads"):
        yield ctypes.CDLL(kernels.__file__)
    if xgboost := sys.modules.get("xgboost.core"):
        yield xgboost._LIB


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=end_threads)
