"""Records: the results of tasks, their names and contents, and the store of them.

A record is named by its key, and is written atomically. During a run each record is a JSON file,
`<data set>/<name>.json` (loose). To be kept, records are packed: one compressed file
`<study>.jsonl.gz` per study, with a line of JSON for each, in the order of their names. The file
has no time or author, so the same records give the same bytes. A loose record is newer than a
packed one of the same name and replaces it.

A record ends with the SHA-256 of its content: results, versions, digests of the data. A broken
record (truncated by a full disk or a copy, or edited) is reported and counts as missing, so it is
made again.

Files are written atomically, by one run at a time. A file is
written beside its place, flushed to the disk, and renamed (`atomic`); so a process that is killed
at any moment leaves the old file or the new one.
"""

import fcntl
import gzip
import hashlib
import json
import os
import platform
import re
import resource
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from experiments import RESULTS
from xdcc.base.whole_file import whole_file


class StorageError(OSError):
    """A file could not be written: the disk is full, or the folder cannot be written to."""


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which replaces `path` when it is completely on the disk.

    Raises
    ------
    StorageError
        If it cannot be written; the old file stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            yield file
    except OSError as error:
        raise StorageError(error.errno, f"cannot write {path}: {error.strerror}") from error


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system releases when this process ends.

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

    Call it only if no other process writes to the folder.
    """
    leftovers = list(folder.rglob(".*.part"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)


def flush_folder(folder: Path) -> None:
    """Wait until new files in a folder would survive a loss of power.

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


PACK = ".jsonl.gz"
"""Ending of a packed file."""

FORMAT = 1
"""Version of the records' layout; it is part of the key."""

PACKAGES = ("xdcc", "xgboost", "numpy", "scipy", "scikit-learn")

_SEAL = b', "sha256": "'

_NAME = re.compile(r"\w[\w. +-]{,100}/\w[\w. +-]{,100}")

_LONGEST_LINE = 2**26
"""Limit in bytes, because a packed file may expand to a thousand times its size."""

type Record = dict[str, Any]
type Arrays = dict[str, np.ndarray]


def record_name(key: dict[str, Any]) -> str:
    """Return `<data set>/<method>-<hash of the key>`."""
    text = json.dumps(key, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{key['dataset']}/{key['method']}-{digest}"


def record_line(record: Record) -> bytes:
    """Return a record of `make_record` as a line of JSON that ends with its SHA-256.

    Examples
    --------
    >>> line = record_line({"key": {"dataset": "digits", "method": "br"}, "result": None})
    >>> line[:60]
    b'{"key": {"dataset": "digits", "method": "br"}, "result": nul'
    >>> parse_record(line)[0], parse_record(line.replace(b"null", b"1234"))
    ('digits/br-fa7a407eaab146e4', None)
    """
    text = json.dumps(record, default=_plain).encode()
    return text[:-1] + _SEAL + _sealed(text)


def parse_record(line: bytes) -> tuple[str, Record] | None:
    """Return the name of a record and the record; None if the line is broken.

    A name that leads out of the folder is also broken.
    """
    body, _, seal = line.rpartition(_SEAL)
    text = body + b"}"
    if seal != _sealed(text):
        return None
    try:
        record = json.loads(text)
        name = record_name(record["key"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (name, record) if _NAME.fullmatch(name) else None


def _content(line: bytes) -> Record:
    """Return the record of a line that `parse_record` has accepted."""
    record: Record = json.loads(line.rpartition(_SEAL)[0] + b"}")
    return record


def _sealed(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode() + b'"}\n'


def failure_of(kind: str, message: str, trace: str | None = None) -> dict[str, Any]:
    """Return the entry of a record for a failure."""
    return {"type": kind, "message": message, "traceback": trace}


def make_record(
    key: dict[str, Any],
    result: dict[str, Any] | None,
    error: dict[str, Any] | None,
    run: dict[str, Any],
) -> Record:
    """Return a record with this key; `run` may replace properties of this process and machine."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    common = {
        "peak_memory": peak / 2**10 if platform.system() == "Linux" else peak / 2**20,
        "versions": versions(PACKAGES),
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return {"key": key, "result": result, "error": error, "run": common | run}


def versions(packages: tuple[str, ...]) -> dict[str, str | None]:
    """Return the versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


class Pack(NamedTuple):
    """The content of a packed file."""

    lines: dict[str, bytes]  # the line of each valid record, by its name
    fault: str | None = None  # a sentence about a broken file


def read_pack(path: Path) -> Pack:
    """Read a packed file.

    In a truncated file, the records before the end count. In a file that fails its checksum none
    counts, because any number may be wrong. Records of another format do not count.
    """
    lines: dict[str, bytes] = {}
    broken: list[int] = []
    other_formats = 0
    try:
        with gzip.open(path) as file:
            lines_of_file = iter(partial(file.readline, _LONGEST_LINE), b"")
            for number, line in enumerate(lines_of_file, start=1):
                parsed = parse_record(line)
                if parsed is None:
                    broken.append(number)
                elif parsed[1]["key"].get("format") != FORMAT:
                    other_formats += 1
                else:
                    lines[parsed[0]] = line
        cut = not lines and not broken and not other_formats  # gzip accepts an empty file
    except EOFError:
        cut = True
    except (gzip.BadGzipFile, zlib.error) as error:
        return Pack({}, f"{path} is damaged ({error}); all of its records count as missing.")
    if cut:
        fault = f"{path} is cut off after {len(lines)} whole records; the rest counts as missing."
        return Pack(lines, fault)
    if broken:
        numbers = ", ".join(map(str, broken))
        fault = f"{path} holds no whole record in line {numbers}; what was there counts as missing."
        return Pack(lines, fault)
    if other_formats:
        fault = (
            f"{path} holds records of another format than {FORMAT} ({other_formats}); they count "
            "as missing."
        )
        return Pack(lines, fault)
    return Pack(lines)


def write_pack(path: Path, lines: Mapping[str, bytes]) -> None:
    """Write a packed file of lines by their records' names; it replaces the old file.

    Raises
    ------
    StorageError
        If it cannot be written; the old file stays.
    """
    with atomic(path) as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.writelines(lines[name] for name in sorted(lines))


class RecordStore:
    """Records in a folder.

    Packed files are read when a record is not found as a loose file, and again when they have
    changed.

    Parameters
    ----------
    folder : Path
        Folder of the records; made when one is written.
    report_broken : callable
        Called with a sentence about each broken file.
    """

    def __init__(self, folder: Path, report_broken: Callable[[str], None] = print) -> None:
        self.folder = folder
        self._report_broken = report_broken
        self._packs: dict[Path, Pack] = {}
        self._versions: dict[Path, tuple[int, ...]] = {}

    def path(self, name: str) -> Path:
        """Return where the loose record of this name is, or would be."""
        return self.folder / f"{name}.json"

    def arrays_path(self, name: str) -> Path:
        """Return where the predictions beside a record are, or would be."""
        return self.folder / f"{name}.npz"

    def pack_path(self, study: str) -> Path:
        """Return where the packed records of a study are, or would be."""
        return self.folder / f"{study}{PACK}"

    def read(self, name: str) -> Record | None:
        """Return a record, or None if it is missing or broken."""
        loose = self._read_loose(name)
        if loose is not None:
            return loose
        line = self._packed_line(name)
        if line is None:
            self._read_packs()
            line = self._packed_line(name)
        return None if line is None else _content(line)

    def read_all(self) -> Iterator[Record]:
        """Read every valid record of the folder, in the order of their names."""
        self._read_packs()
        for name in sorted({*self.loose_names(), *self._packed()}):
            record = self.read(name)
            if record is not None:
                yield record

    def loose_names(self) -> list[str]:
        """Return the names of the loose records, sorted."""
        found = self.folder.glob("*/*.json")
        return sorted(f"{path.parent.name}/{path.stem}" for path in found)

    def write(self, name: str, record: Record, arrays: Arrays | None = None) -> None:
        """Write a loose record, after the predictions, if they are kept.

        Raises
        ------
        StorageError
            If the disk is full or the folder cannot be written to. Old files stay.
        """
        if arrays is not None:
            with atomic(self.arrays_path(name)) as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        with atomic(self.path(name)) as file:
            file.write(record_line(record))

    def pack(self, studies: Mapping[str, Collection[str]]) -> dict[Path, int]:
        """Move loose records into the packed files of the studies that need them.

        A record that several studies need is in the file of each, so a study needs only its own
        file. Records in a file stay there, needed or not; a loose record replaces a packed one in
        every file. Loose records are deleted at the end, when the packed ones are on the disk. A
        broken packed file is kept with the ending `.broken` before it is written again.

        Parameters
        ----------
        studies : dict
            For each study the names of the records that it needs.

        Returns
        -------
        dict
            The changed files, with their numbers of records.

        Raises
        ------
        StorageError
            If the disk is full, the folder cannot be written to, or a run is writing to it. Old
            files stay.
        """
        with only_writer(self.folder):
            self._packs.clear()
            self._versions.clear()
            self._read_packs()
            loose = self._loose_lines()
            there = self._packed() | loose
            asked = {self.pack_path(study): set(names) for study, names in studies.items()}
            changed: dict[Path, int] = {}
            for path in sorted({*asked, *self._packs}):
                before = self._packs.get(path, Pack({}))
                names = {*before.lines, *asked.get(path, ())}
                after = {name: there[name] for name in names if name in there}
                if after == before.lines:
                    continue
                if before.fault is not None:
                    _keep_broken(path)
                write_pack(path, after)
                changed[path] = len(after)
                self._packs[path] = Pack(after)
            for path in changed:
                flush_folder(path.parent)
            for name in loose.keys() & self._packed().keys():
                path = self.path(name)
                path.unlink()
                with suppress(OSError):  # it has other records, or predictions
                    path.parent.rmdir()
            return changed

    def _packed_line(self, name: str) -> bytes | None:
        return next((p.lines[name] for p in self._packs.values() if name in p.lines), None)

    def _read_loose(self, name: str) -> Record | None:
        path = self.path(name)
        try:
            parsed = parse_record(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        if parsed is None or parsed[0] != name:
            self._report_broken(f"{path} is not a whole record; it counts as missing.")
            return None
        return parsed[1]

    def _loose_lines(self) -> dict[str, bytes]:
        read = ((name, self._read_loose(name)) for name in self.loose_names())
        return {name: record_line(record) for name, record in read if record is not None}

    def _packed(self) -> dict[str, bytes]:
        """Return all packed lines by their records' names; of several the one that `read` uses."""
        packed: dict[str, bytes] = {}
        for pack in self._packs.values():
            packed = pack.lines | packed
        return packed

    def _read_packs(self) -> None:
        """Read the packed files that are new or have changed."""
        for path in sorted(self.folder.glob(f"*{PACK}")):
            status = path.stat()
            version = status.st_mtime_ns, status.st_size, status.st_ino
            if self._versions.get(path) == version:
                continue
            pack = read_pack(path)
            if pack.fault is not None:
                self._report_broken(pack.fault)
            self._packs[path] = pack
            self._versions[path] = version


def _keep_broken(path: Path) -> None:
    """Give a packed file a second name, so that it stays when it is written again."""
    kept = path.with_name(f"{path.name}.broken")
    if kept.exists() and kept.samefile(path):
        return  # done by an interrupted packing
    try:
        os.link(path, kept)
    except OSError as error:
        raise StorageError(
            error.errno, f"cannot keep {path} as {kept}: {error.strerror}"
        ) from error


def _plain(value: Any) -> Any:
    """Convert NumPy's values to JSON types."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a record holds {value!r}, which is not a JSON type")


def open_store(
    results: Path = RESULTS, report_broken: Callable[[str], None] = print
) -> RecordStore:
    """Return the store of a folder of results; the records are in its subfolder `records`."""
    return RecordStore(results / "records", report_broken)
