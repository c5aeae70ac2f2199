"""How many threads estimators use: what affinity, quotas of containers, and OpenMP allow.

Everything here that has to decide on a number of threads asks :func:`n_threads`. XGBoost decides
for itself and looks at fewer places; :func:`within_available_cpus` bounds what it sees.
"""

import contextlib
import math
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import joblib

import xdcc.kernels.threads  # noqa: F401 (so that there is an OpenMP library to ask)
from xdcc.base.process import openmp_libraries

_PROCESS = Path("/proc/self")


def available_cpus() -> int:
    """Count the CPUs that this process may use.

    The least of the scheduler's affinity, the CPU quotas of the process's control groups, and
    ``LOKY_MAX_CPU_COUNT``; at least 1. Parts of a CPU are rounded up. What the system says is
    looked up at most once a second.

    ``joblib.cpu_count`` knows all of these but one: of the quotas it reads only that of the root
    of the mounted hierarchy. That is the container's group. A group inside it, as systemd and batch
    systems make them, or a container that shares the hierarchy of its host, is missed.

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


def cpu_quota(process: Path = _PROCESS) -> float:
    """Read how much CPU time the control groups of a process allow it.

    Parameters
    ----------
    process : Path
        The process's folder in ``/proc``.

    Returns
    -------
    float
        Number of CPUs: the least quota of its group and of all groups above, in version 1 or 2 of
        control groups. Infinity if there is none, or nothing that can be read.

    Examples
    --------
    >>> cpu_quota(Path("/nowhere"))
    inf
    """
    try:
        groups = dict(_groups((process / "cgroup").read_text()))
        mounts = (process / "mountinfo").read_text()
    except (OSError, ValueError):
        return math.inf
    quotas = [math.inf]
    for line in mounts.splitlines():
        # 36 35 0:30 /root/of/the/mount /where/it/is rw - cgroup source rw,cpu
        place, _, kind = line.partition(" - ")
        where, what = place.split(), kind.split()
        if len(where) < 5 or len(what) < 3:
            continue
        if what[0] == "cgroup2":
            group = groups.get("")
        elif what[0] == "cgroup" and "cpu" in what[2].split(","):
            group = groups.get("cpu")
        else:
            continue
        if group is not None:
            quotas += map(_quota, _folders(group, root=where[3], mount=Path(_unescaped(where[4]))))
    return min(quotas)


def _groups(text: str) -> Iterator[tuple[str, str]]:
    """Read controllers and their groups from lines like ``4:cpu,cpuacct:/path``, ``0::/path``."""
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def _folders(group: str, *, root: str, mount: Path) -> Iterator[Path]:
    """Folders of a group and the groups above it, up to the mount.

    A mount may show a part of the hierarchy, from `root`. In a container with a namespace of its
    own the path may lead out of it, or be that of the host: then the mount itself is what is left.
    """
    if root != "/" and (group == root or group.startswith(root + "/")):
        group = group.removeprefix(root)
    parts = [part for part in group.split("/") if part]
    if ".." in parts:
        parts = []
    for depth in range(len(parts) + 1):
        yield mount.joinpath(*parts[:depth])


def _unescaped(path: str) -> str:
    """Replace octal codes, which stand for spaces and the like in mount points."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _quota(folder: Path) -> float:
    """Read how many CPUs a group allows; infinity if it says nothing."""
    try:
        if (limits := folder / "cpu.max").exists():
            quota, period = limits.read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text()
            period = (folder / "cpu.cfs_period_us").read_text()
        cpus = int(quota) / int(period)  # "max" and -1 are no limit
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
    return cpus if cpus > 0 else math.inf


def n_threads(n_jobs: int | None, available: int | None = None) -> int:
    """Tell the number of threads for a parameter `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: a number of threads; -1 for all CPUs, -2 for all but one, and so on.
        None is -1.
    available : int, optional
        How many CPUs "all" are. By default :func:`available_cpus`, but no more than OpenMP offers,
        which follows ``OMP_NUM_THREADS``, ``OMP_THREAD_LIMIT`` and threadpoolctl.

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
        offered = [available_cpus()]
        for library in openmp_libraries():
            offered += (library.omp_get_max_threads(), library.omp_get_thread_limit())
        available = min(offered)
    return max(1, available + 1 + int(-1 if n_jobs is None else n_jobs))


@contextlib.contextmanager
def within_available_cpus() -> Iterator[None]:
    """Let OpenMP offer the calling thread no more threads than there are CPUs for it.

    XGBoost takes no more than OpenMP offers, even where its parameter says more or nothing. It
    knows the affinity, and those quotas that ``joblib.cpu_count`` knows (:func:`available_cpus`).
    So a booster need not keep a number of threads, which would be wrong on another machine.

    Examples
    --------
    >>> @within_available_cpus()
    ... def train(params, data):
    ...     return xgboost.train(params, data)
    """
    available = available_cpus()
    lowered = []
    for library in openmp_libraries():
        offered = library.omp_get_max_threads()
        if offered > available:
            library.omp_set_num_threads(available)
            lowered.append((library, offered))
    try:
        yield
    finally:
        for library, offered in lowered:
            library.omp_set_num_threads(offered)
