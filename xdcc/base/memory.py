"""Memory that is left, and the refusal of a training that would need more.

Linux gives a process more memory than there is and ends it when it uses it. So what is large is
estimated before it is taken: :func:`require_memory` stops with a :class:`NotEnoughMemoryError` that
has both numbers.
"""

import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdcc.base.workers import largest


class NotEnoughMemoryError(MemoryError):
    """The training would need more memory than there is; all workers raise this."""


def available_memory(proc: str = "/proc", groups: str = "/sys/fs/cgroup") -> float:
    """Estimate how many bytes this process can still use.

    This is the machine's available memory, or the rest of the strictest memory limit if that is
    less: of the process's control groups (version 1 or 2) and their ancestors, or of the process
    itself (``RLIMIT_AS``, ``RLIMIT_DATA``; ``ulimit -v``, ``ulimit -d``). Cached files do not count
    as used.

    Parameters
    ----------
    proc : str, default="/proc"
        Where the kernel shows processes.
    groups : str, default="/sys/fs/cgroup"
        Where control groups are mounted.

    Returns
    -------
    float
        Bytes. Without such files the memory of the machine.

    Examples
    --------
    >>> 0 < available_memory() < available_memory("/nowhere", "/nowhere")
    True
    """
    left = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    for name, kibibytes in _fields(Path(proc, "meminfo"), ":"):
        if name == "MemAvailable":
            left.append(1024.0 * int(kibibytes.split()[0]))
    left += [of_group for group in _groups(proc, groups) for of_group in _left(group)]
    left += _left_of_process(proc)
    return max(0.0, min(left))


def require_memory(needed: float, what: str, advice: str) -> None:
    """Stop before something is taken for which memory does not suffice.

    Workers that train together (:mod:`xdcc.base.workers`) all stop if one of them has too little.

    Parameters
    ----------
    needed : float
        Bytes, estimated.
    what : str
        The object that needs the memory, for the message.
    advice : str
        A way to need less memory, for the message.

    Raises
    ------
    NotEnoughMemoryError
        The message has both numbers.

    Examples
    --------
    >>> require_memory(2**20, "A test", "Leave it out.")
    >>> require_memory(2**60, "A test", "Leave it out.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xdcc.base.memory.NotEnoughMemoryError: A test may take 1073741824.0 GiB, but ... GiB are ...
    """
    needed, available = largest(needed), -largest(-available_memory())
    if needed > available:
        raise NotEnoughMemoryError(
            f"{what} may take {in_units(needed)}, but {in_units(available)} are available. {advice}"
        )


def fit_in_memory(needs: Sequence[float]) -> bool:
    """Tell whether half of the memory that is left suffices for several trainings at a time.

    Parameters
    ----------
    needs : sequence of float
        Bytes of each, estimated.

    Examples
    --------
    >>> fit_in_memory([2**20, 2**20]), fit_in_memory([2**20, 2**60])
    (True, False)
    """
    return sum(needs) <= available_memory() / 2


def in_units(size: float) -> str:
    """Write a number of bytes for a reader.

    Examples
    --------
    >>> in_units(3 * 2**20), in_units(2.5 * 2**30)
    ('3 MiB', '2.5 GiB')
    """
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _groups(proc: str, groups: str) -> Iterator[Path]:
    """Find the folders of the process's control groups for memory, and those above them."""
    for _, line in _fields(Path(proc, "self", "cgroup"), ":"):
        controllers, _, path = line.partition(":")
        if controllers in ("", "memory"):
            folder = Path(groups, controllers)
            # In a container with its own namespace the path can be that of the host.
            yield folder
            for part in Path(path).parts[1:]:
                folder /= part
                yield folder


def _left(group: Path) -> Iterator[float]:
    """Tell what the limit of a control group leaves, if it has one."""
    inactive = ("inactive_file", "total_inactive_file")
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            most, used = (int((group / name).read_text()) for name in (limit, usage))
        except (OSError, ValueError):  # no such file, or the limit is "max"
            continue
        stat = dict(_fields(group / "memory.stat", " "))
        # Files that were read can be dropped; version 1 has them with those of groups below.
        cached = max((int(stat[name]) for name in inactive if name in stat), default=0)
        yield float(most - used + cached)


def _left_of_process(proc: str) -> Iterator[float]:
    """Tell what the limits of the process leave, if it has some."""
    status = dict(_fields(Path(proc, "self", "status"), ":"))
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, _ = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY and name in status:
            yield most - 1024.0 * int(status[name].split()[0])


def _fields(file: Path, separator: str) -> Iterator[tuple[str, str]]:
    """Split the lines of a file into a name and what follows; nothing if it cannot be read."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        name, _, value = line.partition(separator)
        yield name, value.strip()
