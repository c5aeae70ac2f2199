"""Writes to a folder so that nothing is lost: files are whole or not there, by one run at a time.

A file is written beside its place, flushed to the disk, and renamed; so a process that is killed
at any moment leaves the old file or the new one.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


class StorageError(OSError):
    """A file could not be written: the disk is full, or the folder cannot be written to."""


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes its place when all of it is on the disk.

    Raises
    ------
    StorageError
        If it cannot be written; what was there before stays.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp's files are private
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(error.errno, f"cannot write {path}: {error.strerror}") from error
    finally:
        if temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system gives back however this process ends.

    Raises
    ------
    StorageError
        If the folder cannot be written to, or another process holds its lock.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise StorageError(error.errno, f"cannot write to {folder}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(error.errno, f"another process is writing to {folder}") from error
        remove_leftovers(folder)
        yield


def remove_leftovers(folder: Path) -> int:
    """Delete temporary files that killed processes left behind; return their number.

    To be called when no other process writes to the folder.
    """
    leftovers = list(folder.rglob(".*.part"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)


def flush_folder(folder: Path) -> None:
    """Wait until the files that were put into a folder are found there after a loss of power.

    Raises
    ------
    StorageError
        If the disk does not confirm it.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StorageError(error.errno, f"cannot write {folder}: {error.strerror}") from error
