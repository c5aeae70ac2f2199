"""Pins: which packed records belong to this version, and what they cost.

The records are not in the repository: releases have them, as files `<study>.jsonl.gz`. The file of
pins has a line for each, with its SHA-256, the number of tasks whose records the study's tables are
made of, and their CPU seconds.
"""

import csv
import hashlib
import io
from pathlib import Path
from typing import NamedTuple

from experiments import RESULTS
from experiments.engine.records import atomic

_HEAD = ("file", "sha256", "tasks", "cpu_seconds")


class Pin(NamedTuple):
    """The packed records of a study."""

    sha256: str
    tasks: int
    cpu_seconds: float


def pins_file(results: Path = RESULTS) -> Path:
    """Return the file of the pins: the repository's, or one in another folder of results."""
    return (results.parent if results == RESULTS else results) / "records.csv"


def pin_of(pack: Path, cpu_seconds: dict[str, float]) -> Pin:
    """Return the pin of a packed file, given the CPU seconds of the tasks that are needed."""
    digest = hashlib.sha256(pack.read_bytes()).hexdigest()
    return Pin(digest, len(cpu_seconds), round(sum(cpu_seconds.values()), 1))


def read_pins(file: Path) -> dict[str, Pin]:
    """Return the pins by the names of the packed files; none if there is no file.

    Raises
    ------
    ValueError
        If a line is not a pin; the message names the file and the line.
    """
    if not file.exists():
        return {}
    pins = {}
    with file.open(encoding="utf-8", newline="") as text:
        lines = csv.reader(text)
        next(lines, None)
        for cells in lines:
            try:
                name, digest, tasks, seconds = cells
                pins[name] = Pin(digest, int(tasks), float(seconds))
            except ValueError as error:
                raise ValueError(
                    f"{file}, line {lines.line_num}: this is not the pin of a packed file "
                    f"({error}). `python -m experiments pack` makes it anew."
                ) from error
    return pins


def write_pins(file: Path, pins: dict[str, Pin]) -> None:
    """Write pins, sorted by name.

    Raises
    ------
    StorageError
        If the file cannot be written; the old one stays.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [_HEAD, *((name, *pins[name]) for name in sorted(pins))]
    )
    with atomic(file) as binary:
        binary.write(text.getvalue().encode())
