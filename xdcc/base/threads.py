"""How many threads estimators use: what affinity, quotas of containers and the environment allow.

Everything here that has to decide on a number of threads asks :func:`n_threads`. XGBoost decides
for itself; its loops, too, use no more workers than the quota allows
(`plugins/multilabel/threads`).
"""

import math
import os
import time
from functools import lru_cache

import joblib

from xdcc.kernels.threads import cpu_quota


def available_cpus() -> int:
    """Count the CPUs that this process may use.

    The least of the scheduler's affinity, the CPU quotas of the process's control groups, and
    ``LOKY_MAX_CPU_COUNT``; at least 1. Parts of a CPU are rounded up. What the system says is
    looked up at most once a second.

    ``joblib.cpu_count`` knows all of these but one: of the quotas it reads only that of the topmost
    group. That is the container's group. A group inside it, as systemd and batch systems make them,
    or a container that shares the hierarchy of its host, is missed.

    Returns
    -------
    int

    Examples
    --------
    >>> available_cpus() >= 1
    True
    """
    return _look_up(int(time.monotonic()))


@lru_cache(maxsize=1)
def _look_up(second: int) -> int:
    return max(1, math.ceil(min(joblib.cpu_count(), cpu_quota())))


def n_threads(n_jobs: int | None, available: int | None = None) -> int:
    """Tell the number of threads for a parameter `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: a number of threads; -1 for all CPUs, -2 for all but one, and so on.
        None is -1.
    available : int, optional
        How many CPUs "all" are. By default :func:`available_cpus`, but no more than
        ``OMP_NUM_THREADS`` and ``OMP_THREAD_LIMIT`` say if they are set.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> n_threads(3), n_threads(-1, available=1), n_threads(-2, available=1)
    (3, 1, 1)
    """
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    if available is None:
        asked = map(_from_environment, ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"))
        available = min([available_cpus(), *filter(None, asked)])
    return max(1, available + 1 + int(-1 if n_jobs is None else n_jobs))


def _from_environment(name: str) -> int | None:
    """Read a number of threads; a list has one for each level of nested regions."""
    first = os.environ.get(name, "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
