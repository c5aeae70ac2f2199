"""The store of records: one JSON file per task, named by its content's key, whole or not there.

A record is written to a temporary file beside its place, flushed to the disk, and renamed; so a
process that is killed at any moment leaves the old file or the new one. What is found broken
nevertheless (cut off by a full disk or a copy) is named and counts as missing: it is made again.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from experiments.task import Arrays, Record, Task, record_name


class StorageError(OSError):
    """A record could not be written: the disk is full, or the folder cannot be written to."""


class RecordStore:
    """Records in a folder.

    Parameters
    ----------
    folder : Path
        Where they are; made when something is written.
    report_broken : callable
        Called with a sentence about each file that is not a whole record.
    """

    def __init__(self, folder: Path, report_broken: Callable[[str], None] = print) -> None:
        self.folder = folder
        self._report_broken = report_broken

    def path(self, task: Task) -> Path:
        """Return where the record of a task is, or would be."""
        return self.folder / f"{task.name}.json"

    def arrays_path(self, task: Task) -> Path:
        """Return where the predictions of a task are, or would be."""
        return self.folder / f"{task.name}.npz"

    def read(self, task: Task) -> Record | None:
        """Return the record of a task, or None if there is none, or none that is whole."""
        return self._read(self.path(task))

    def read_all(self) -> Iterator[Record]:
        """Read every whole record of the folder."""
        for path in sorted(self.folder.glob("*/*.json")):
            record = self._read(path)
            if record is not None:
                yield record

    def write(self, task: Task, record: Record, arrays: Arrays | None = None) -> None:
        """Write a record, and before it the predictions if there are some to keep.

        Raises
        ------
        StorageError
            If the disk is full or the folder cannot be written to. Nothing that was there before
            is lost.
        """
        if arrays is not None:
            with _atomic(self.arrays_path(task)) as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        with _atomic(self.path(task)) as file:
            file.write((json.dumps(record, default=_plain) + "\n").encode())

    def _read(self, path: Path) -> Record | None:
        try:
            record = json.loads(path.read_bytes())
            whole = f"{path.parent.name}/{path.stem}" == record_name(record["key"])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            self._report_broken(f"{path} is not a whole record; it counts as missing.")
            return None
        return record


@contextmanager
def _atomic(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes its place when all of it is on the disk."""
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


def remove_leftovers(folder: Path) -> int:
    """Delete temporary files that killed processes left behind; return their number.

    To be called when no other process writes to the folder.
    """
    leftovers = list(folder.glob("*/.*.part"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)


def _plain(value: Any) -> Any:
    """Return NumPy's values as JSON knows them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a record holds {value!r}, which is no JSON")
