"""``whole_file``: a file that is replaced when the disk has all bytes of the new one.

The new file has another name in the same folder until it is renamed. A process that is killed
leaves it there; the next one that writes to the same name deletes it. A lock, which the system
releases when a process ends, tells such a file from that of a process at work.
"""

import errno
import fcntl
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path; raise a TypeError if it is none, such as an open file.

    Examples
    --------
    >>> as_path("model.xdcc").suffix
    '.xdcc'
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be the name of a file, not a {type(path).__name__}: file objects are not "
            "supported."
        )
    return Path(path)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file, which takes the place of `path` at the end of the block.

    Links are followed, and the mode of the old file is kept. If the block raises an error, the old
    file stays.

    Parameters
    ----------
    path : path-like
        Name of the file.

    Yields
    ------
    binary file
        The new file, to write to.

    Raises
    ------
    TypeError
        If `path` is not path-like.
    OSError
        If the folder does not exist or cannot be written to, `path` is a folder, device, pipe or
        socket, or the disk is full. The block is run only if the new file can be made.

    Examples
    --------
    >>> with whole_file("greeting.txt") as file:
    ...     _ = file.write(b"hello")
    >>> Path("greeting.txt").read_text()
    'hello'
    """
    target = Path(os.path.realpath(as_path(path)))
    mode = _mode_of(target)
    _delete_leftovers(target)
    # While it is written, others may read the new file only if they will be able to read it later.
    new, file = _new_file(target, 0o666 if mode is None else 0o600)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.replace(new, target)
    finally:
        new.unlink(missing_ok=True)


def _mode_of(target: Path) -> int | None:
    """Return the mode of a file that can be replaced; None if there is no file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if target.parent.is_dir():
            return None
        raise OSError(errno.ENOENT, "The folder does not exist", str(target.parent)) from None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "A folder is not replaced by a file", str(target))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "A device, pipe or socket is not replaced", str(target))
    return stat.S_IMODE(mode)


def _new_file(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Make and lock a file beside the target; the system applies the umask to its mode."""
    while True:
        new = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        file = open(new, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
        with suppress(OSError):  # a file system without locks, where leftovers stay
            fcntl.flock(file, fcntl.LOCK_EX)
        if new.exists():
            return new, file
        file.close()  # before it was locked, another process took it for a leftover


def _delete_leftovers(target: Path) -> None:
    """Delete the new files of processes that were killed."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{32}}\.part")
    for leftover in filter(name.fullmatch, os.listdir(target.parent)):
        with suppress(OSError):  # locked, already deleted, or not ours
            path = target.with_name(leftover)
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(handle, "rb"):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
