"""Convert the rows of an ARFF file to a dense or CSR matrix with one column per attribute.

An `AttributeReader` converts a cell to a number: the value of a feature or the index of its
category, 0 or 1 for a label, NaN for ``?``, and 0 for a string or a date, whose columns are
dropped.

There is a fast and an exact path. Most rows have neither quotes nor missing values. Built-in
functions split and convert them (`AttributeReader.fast`), which takes about a second for millions
of cells. If this fails, or if a row contains a special character, the exact path
(`AttributeReader.exact`) handles the row; it implements all rules and raises the errors. It also
checks rows in which the fast path found a number that is not finite or indices that do not ascend,
so both paths accept the same rows.
"""

import re
from array import array
from collections.abc import Callable
from contextlib import suppress
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.label_words import LABEL_WORDS, label_of_word
from xdcc.data.arff_text import (
    ArffError,
    Attribute,
    Cell,
    Line,
    read_cell,
    skip_space,
    split_cells,
    unquote,
)

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CATEGORIES_IN_MESSAGE = 10


class AttributeReader:
    """Converts the cells of one attribute to numbers.

    `fast` converts the text of an ordinary cell and raises ValueError or KeyError for other cells;
    unlike `exact`, it accepts ``nan``, ``inf`` and underscores. `absent` is the number of an entry
    that a sparse row does not store: 0, or the value of the first category for a label.

    Raises ArffError if a label is a string or a date, or if it has categories other than 0 and 1
    (or false and true).
    """

    def __init__(self, attribute: Attribute, is_label: bool) -> None:
        self.attribute = attribute
        self.is_label = is_label
        self.absent = 0.0
        self.fast: Callable[[str], float] = float
        self._numbers: dict[str, float] = {}
        match attribute.kind, is_label:
            case "nominal", True:
                self._numbers = {c: self._label_value(c) for c in attribute.categories}
                self.absent = self._numbers[attribute.categories[0]]
            case "nominal", False:
                self._numbers = {c: float(i) for i, c in enumerate(attribute.categories)}
            case "numeric", True:
                self._numbers = {"0": 0.0, "1": 1.0}
            case kind, True:
                raise attribute.error(
                    f"the label {attribute.name!r} is a {kind}; expected the categories {{0,1}} "
                    "or numeric"
                )
            case "string" | "date", False:
                self.fast = _zero
        if self._numbers:
            # `exact` handles categories that need quotes.
            self.fast = {
                c: v for c, v in self._numbers.items() if c == c.strip() and c not in ("", "?")
            }.__getitem__

    def _label_value(self, category: str) -> float:
        value = label_of_word(category)
        if value is None:
            raise self.attribute.error(
                f"the label {self.attribute.name!r} has the category {category!r}; the categories "
                f"of a label are 0 and 1, or others of {LABEL_WORDS}"
            )
        return value

    def exact(self, line: Line, cell: Cell) -> float:
        """Convert any cell; raise ArffError for an invalid value of the attribute."""
        attribute = self.attribute
        if attribute.kind not in ("numeric", "nominal"):
            return 0.0
        if cell.raw == "?":
            return nan
        if not cell.raw:
            raise line.error(
                f"no value for the attribute {attribute.name!r}; use ? for a missing value",
                cell.start,
            )
        text = unquote(cell.raw)
        if attribute.kind == "nominal":
            if text not in self._numbers:
                raise line.error(
                    f"{text!r} is not a category of the attribute {attribute.name!r}, which has "
                    f"{_listing(attribute.categories)}",
                    cell.start,
                )
            return self._numbers[text]
        value = float(text) if NUMBER.fullmatch(text) else inf
        if not isfinite(value):
            raise line.error(
                f"{text!r} is not a finite number, but the attribute {attribute.name!r} is "
                "numeric; use ? for a missing value",
                cell.start,
            )
        if self.is_label and value not in (0.0, 1.0):
            raise line.error(
                f"the label {attribute.name!r} is {text}; expected 0, 1 or ? (unknown)", cell.start
            )
        return value


def _zero(_: str) -> float:
    return 0.0


def _listing(categories: tuple[str, ...]) -> str:
    more = ["..."] if len(categories) > _CATEGORIES_IN_MESSAGE else []
    return "{" + ", ".join([*categories[:_CATEGORIES_IN_MESSAGE], *more]) + "}"


type Floats = NDArray[np.float64]

# No quotes, braces within a row, "_" (which int and float accept between digits) or non-ASCII.
_PLAIN_DENSE_ROW = re.compile(r"""[^'"_{}\u0080-\U0010ffff]*""")
_PLAIN_SPARSE_ROW = re.compile(r"""\s*\{([^'"_{}\u0080-\U0010ffff]*)\}\s*""")
# Nine digits suffice for any number of attributes; int is slow for thousands of digits.
_INDEX = re.compile(r"([+-]?)0*([0-9]{1,9})\s+")


def read_dense(rows: list[Line], readers: list[AttributeReader]) -> tuple[Floats, Floats]:
    """Read rows of comma-separated cells.

    Returns a matrix (n_rows, n_attributes) with NaN for missing values, and weights (n_rows,): a
    row can end with its weight, for example ``{2.5}``; the default is 1. Raises ArffError for a
    malformed row.
    """
    values = array("d")
    weights = np.ones(len(rows))
    fast = [reader.fast for reader in readers]
    for position, row in enumerate(rows):
        if _PLAIN_DENSE_ROW.fullmatch(row.text):
            try:
                values.extend([f(c) for f, c in zip(fast, row.text.split(","), strict=True)])
                continue
            except (ValueError, KeyError):
                pass  # The exact path accepts the row or raises an error.
        numbers, weights[position] = _exact_dense(row, readers)
        values.extend(numbers)
    matrix = np.asarray(values).reshape(len(rows), len(readers))
    for suspicious in np.flatnonzero(~np.isfinite(matrix).all(axis=1)):
        _exact_dense(rows[suspicious], readers)
    return matrix, weights


def read_sparse(
    rows: list[Line], readers: list[AttributeReader]
) -> tuple[sparse.csr_array, Floats]:
    """Read rows of the form ``{index value, index value}``; see `read_dense`.

    The CSR array stores the entries of the file. Indices must be in range and strictly ascending.
    """
    indices, values, indptr = array("i"), array("d"), array("i", [0])
    weights = np.ones(len(rows))
    fast = [reader.fast for reader in readers]
    for position, row in enumerate(rows):
        entries: list[tuple[int, float]] | None = None
        if plain := _PLAIN_SPARSE_ROW.fullmatch(row.text):
            # If this fails, the exact path accepts the row or raises an error.
            with suppress(ValueError, KeyError, IndexError):
                entries = [
                    (i := int(index), fast[i](cell))
                    for index, cell in map(str.split, plain[1].split(","))
                ]
        if entries is None:
            entries, weights[position] = _exact_sparse(row, readers)
        indices.extend([index for index, _ in entries])
        values.extend([value for _, value in entries])
        indptr.append(len(indices))
    data, columns, starts = np.asarray(values), np.asarray(indices), np.asarray(indptr)
    for suspicious in _suspicious_rows(data, columns, starts):
        _exact_sparse(rows[suspicious], readers)
    shape = (len(rows), len(readers))
    return sparse.csr_array((data, columns, starts), shape=shape), weights


def _suspicious_rows(
    data: Floats, columns: NDArray[np.int32], starts: NDArray[np.int32]
) -> NDArray[np.intp]:
    """Find rows with a number that is not finite, or with indices that do not ascend from 0."""
    row_of_entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    within_row = np.diff(row_of_entry, prepend=-1) == 0
    descends = within_row & (np.diff(columns, prepend=0) <= 0)
    return np.unique(row_of_entry[descends | (columns < 0) | ~np.isfinite(data)])


def _exact_dense(row: Line, readers: list[AttributeReader]) -> tuple[list[float], float]:
    """Return the numbers of a row and its weight."""
    cells = split_cells(row, 0, len(row.text))
    weight = 1.0
    if len(cells) == len(readers) + 1 and cells[-1].raw.startswith("{"):
        weight = _weight(row, cells.pop().start)
    if len(cells) != len(readers):
        if cells[0].raw.startswith("{"):
            raise row.error("a sparse row, but the first row of the file is dense", cells[0].start)
        extra = cells[len(readers)].start if len(cells) > len(readers) else len(row.text)
        raise row.error(
            f"the row has {len(cells)} values, but the header declares {len(readers)} attributes",
            extra,
        )
    return [r.exact(row, cell) for r, cell in zip(readers, cells, strict=True)], weight


def _exact_sparse(
    row: Line, readers: list[AttributeReader]
) -> tuple[list[tuple[int, float]], float]:
    """Return the entries (index and number) of a row and its weight."""
    text = row.text
    start = skip_space(text, 0)
    if text[start] != "{":
        raise row.error("a dense row, but the first row of the file is sparse", start)
    entries: list[tuple[int, float]] = []
    start = skip_space(text, start + 1)
    closed, end = text.startswith("}", start), start + 1
    while not closed:
        index_match = _INDEX.match(text, start)
        if index_match is None:
            raise _entry_error(row, start)
        value, stop = read_cell(row, index_match.end(), len(text), ",}")
        if not value.raw or stop == len(text):
            raise _entry_error(row, start)
        index = int(index_match[1] + index_match[2])
        if not 0 <= index < len(readers):
            raise row.error(
                f"the index {index} is out of range: the header declares {len(readers)} "
                "attributes, counted from 0",
                start,
            )
        if entries and index <= entries[-1][0]:
            raise row.error(
                f"the index {index} follows {entries[-1][0]}; indices must be strictly ascending",
                start,
            )
        entries.append((index, readers[index].exact(row, value)))
        closed, end = text[stop] == "}", stop + 1
        start = skip_space(text, end)
    weight_start = skip_space(text, end)
    if weight_start == len(text):
        return entries, 1.0
    if text[weight_start] == ",":
        weight_start = skip_space(text, weight_start + 1)
    return entries, _weight(row, weight_start)


def _entry_error(row: Line, start: int) -> ArffError:
    """Return the error for a malformed entry at `start`."""
    text = row.text
    if "," not in text[start:] and "}" not in text[start:]:
        return row.error("the sparse row does not end with }", len(text))
    return row.error("expected an entry of the form 'index value'", start)


def _weight(row: Line, start: int) -> float:
    """Return the weight ``{number}`` at the end of a row."""
    text = row.text[start:].rstrip()
    number = text[1:-1].strip()
    braces = text.startswith("{") and text.endswith("}")
    if not braces or not NUMBER.fullmatch(number) or not 0 <= float(number) < inf:
        raise row.error(
            "expected the end of the row or its weight {w}, a finite number of at least 0", start
        )
    return float(number)
