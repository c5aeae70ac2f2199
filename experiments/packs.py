"""Packed records: those of a study in one compressed file, a line of JSON for each.

The lines stand in the order of the records' names, and the file does not say when or by whom it
was written: the same records give the same bytes.
"""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from experiments.storage import atomic
from experiments.task import parse_record

ENDING = ".jsonl.gz"


class Pack(NamedTuple):
    """What a packed file holds.

    Attributes
    ----------
    lines : dict
        The line of each whole record, by the record's name.
    fault : str or None
        A sentence that says what is broken in the file.
    """

    lines: dict[str, bytes]
    fault: str | None = None


def read_pack(path: Path) -> Pack:
    """Read a packed file.

    Of a file that was cut off, the records before the cut count. Of one that fails its checksum
    none does, because any number in it may be a wrong one.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Pack
    """
    lines: dict[str, bytes] = {}
    broken: list[int] = []
    try:
        with gzip.open(path) as file:
            for number, line in enumerate(file, start=1):
                parsed = parse_record(line)
                if parsed is None:
                    broken.append(number)
                else:
                    lines[parsed[0]] = line
        cut = not lines and not broken  # an empty file is no error to gzip
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
    return Pack(lines)


def write_pack(path: Path, lines: Mapping[str, bytes]) -> None:
    """Write a packed file in the place of the one that is there.

    Parameters
    ----------
    path : Path
    lines : dict
        Lines by the records' names, in any order.

    Raises
    ------
    StorageError
        If it cannot be written; what was there before stays.
    """
    with atomic(path) as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.writelines(lines[name] for name in sorted(lines))
