"""Lines of CSV files with results: errors name the file, the line and how to make it anew."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from experiments.engine.records import atomic


class TableError(ValueError):
    """A table of results is missing, damaged, or of another configuration."""


class LineReader:
    """Reads files line by line, and remembers the line that it is in.

    Parameters
    ----------
    remedy : str
        Names the commands that make the file anew; the end of each message.
    """

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        self.file = Path()
        self.number = 0

    def fail(self, what: str) -> NoReturn:
        """Raise a `TableError` about the present line."""
        raise TableError(f"{self.file}, line {self.number}: {what}. {self.remedy}")

    def rows(self, file: Path) -> Iterator[list[str]]:
        """Yield the cells of each line of a file."""
        self.file, self.number = file, 1
        try:
            text = file.read_bytes().decode()
        except FileNotFoundError:
            self.fail("the file is missing")
        except UnicodeDecodeError as error:
            self.number = error.object[: error.start].count(b"\n") + 1
            self.fail("this is not text")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            for cells in reader:
                self.number = reader.line_num
                yield cells
        except csv.Error as error:
            self.number = reader.line_num
            self.fail(f"this is not a line of a table ({error})")
        if not text.endswith("\n"):
            self.fail("the line is cut off")

    def check_head(self, cells: list[str], expected: list[str]) -> None:
        """Raise if the names of the columns are not the expected ones."""
        if cells != expected:
            odd = [name for name in expected if name not in cells]
            wrong = f"the column {odd[0]} is missing" if odd else "the columns are others"
            self.fail(wrong)

    def check_width(self, cells: list[str], expected: int) -> None:
        """Raise if a line does not have the expected number of cells."""
        if len(cells) != expected:
            self.fail(f"there are {len(cells)} cells, not {expected}")

    def numbers(self, cell: str) -> list[float]:
        """Return the numbers of a cell, which may be fractions."""
        try:
            ratios = [text.partition("/") for text in cell.split(" ")]
            return [float(above) / float(below or 1) for above, _, below in ratios]
        except (ValueError, ZeroDivisionError):
            self.fail(f"{cell!r} is not a list of numbers")


def number_list(values: Iterable[float], digits: int) -> str:
    """Return numbers with this many significant digits, separated by blanks."""
    return " ".join(f"{value:.{digits}g}" for value in values)


def write_rows(file: Path, rows: Iterable[Iterable[str]]) -> None:
    """Write the lines of a file, given their cells.

    Raises
    ------
    StorageError
        If the file cannot be written; the old one stays.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with atomic(file) as binary:
        binary.write(text.getvalue().encode())
