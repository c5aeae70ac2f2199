"""The number of threads of estimators, limited by affinity, container quotas and the environment.

All estimators call :func:`n_threads`. XGBoost decides for itself; its loops, too, use no more
workers than the quota allows (`plugins/multilabel/threads`). :func:`thread_limit` limits both for
what the current thread does.
"""

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache

from xdcc.base.domains import Threads, check_domain
from xdcc.base.libraries import xgb
from xdcc.kernels.threads import cpu_quota


def available_cpus() -> int:
    """Count the CPUs that this process may use.

    This is the smallest of the scheduler's affinity, the CPU quotas of the process's control
    groups, and ``LOKY_MAX_CPU_COUNT``, rounded up, and at least 1. It is read at most once a
    second.

    ``joblib.cpu_count`` reads only the quota of the topmost group, which is the container's. It
    misses groups inside the container, as systemd and batch systems create them, and containers
    that share the hierarchy of their host.

    Returns
    -------
    int
        Number of CPUs.

    Examples
    --------
    >>> available_cpus() >= 1
    True
    """
    return _look_up(int(time.monotonic()))


@lru_cache(maxsize=1)
def _look_up(second: int) -> int:
    import joblib

    return max(1, math.ceil(min(joblib.cpu_count(), cpu_quota())))


def n_threads(n_jobs: int | None, available: int | None = None) -> int:
    """Return the number of threads for a parameter `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: a number of threads; -1 for all CPUs, -2 for all but one, and so on.
        None is -1.
    available : int, optional
        How many CPUs "all" are. By default :func:`available_cpus`, limited by
        ``OMP_NUM_THREADS`` and ``OMP_THREAD_LIMIT`` where they are set.

    Returns
    -------
    int
        At least 1, and not above a :func:`thread_limit`.

    Raises
    ------
    ValueError
        If `n_jobs` is 0, or is not a number of threads.

    Examples
    --------
    >>> n_threads(3), n_threads(-1, available=1), n_threads(-2, available=1)
    (3, 1, 1)
    """
    return min(threads_for(n_jobs, available), _limit.n_threads)


def threads_for(n_jobs: int | None, available: int | None = None) -> int:
    """Return the number of threads for a parameter, whatever the current limit is.

    Models keep it: it is also that of their predictions later. Parameters are those of
    :func:`n_threads`.

    Examples
    --------
    >>> with thread_limit(1):
    ...     threads_for(3)
    3
    """
    check_domain("n_jobs", n_jobs, Threads())
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    if available is None:
        asked = map(_from_environment, ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"))
        available = min([available_cpus(), *filter(None, asked)])
    return max(1, available + 1 + int(-1 if n_jobs is None else n_jobs))


_UNLIMITED = 2**31 - 1


class _Limit(threading.local):
    """The largest number of threads for what the current thread does.

    `of_openmp` is OpenMP's maximum before the first limit.
    """

    n_threads: int = _UNLIMITED
    of_openmp: int = _UNLIMITED


_limit = _Limit()


def thread_limit(n: int) -> AbstractContextManager[None]:
    """Limit the threads of all work in the current thread, XGBoost included.

    Examples
    --------
    >>> with thread_limit(1), thread_limit(2):
    ...     n_threads(3)
    1
    """
    return _limited(min(n, _limit.n_threads))


def at_least_threads(n: int) -> AbstractContextManager[None]:
    """Raise a :func:`thread_limit` of the current thread, where it is lower.

    Examples
    --------
    >>> with thread_limit(1), at_least_threads(2):
    ...     n_threads(3)
    2
    """
    return _limited(max(n, _limit.n_threads))


@contextmanager
def _limited(n: int) -> Iterator[None]:
    """Set the limit of the current thread, and OpenMP's, which XGBoost keeps to."""
    before = _limit.n_threads
    if before == _UNLIMITED:
        _limit.of_openmp = xgb.core._LIB.omp_get_max_threads()
    _limit.n_threads = n
    xgb.core._LIB.omp_set_num_threads(min(n, _limit.of_openmp))
    try:
        yield
    finally:
        _limit.n_threads = before
        xgb.core._LIB.omp_set_num_threads(min(before, _limit.of_openmp))


def _from_environment(name: str) -> int | None:
    """Read a number of threads; of a list, which is for nested regions, the first."""
    first = os.environ.get(name, "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
