"""The rows of an ARFF file as a dense or CSR matrix with one column per attribute.

An `AttributeReader` turns a cell into a number: a feature's value or the index of its category, 0
or 1 for a label, NaN for ``?``, and 0 for a string or a date, whose columns are dropped. It has
two ways to do so. `AttributeReader.fast` is a built-in function that knows ordinary cells only;
`AttributeReader.exact` knows all the rules and raises the errors.

Most rows hold nothing special: no quotes, no missing value, no surprise. They are split and
converted by built-in functions alone, which makes millions of cells a matter of a second. Where
that fails, or a row contains a character with a meaning, the *exact* reading of that row takes
over: it knows all the rules, and it alone raises errors. It also rereads rows in which the fast
reading let something pass that needs a look (a number that is not finite, indices that do not
ascend), so that both accept the same rows.
"""

import re
from array import array
from collections.abc import Callable
from contextlib import suppress
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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

#: What a label's categories may be, in lower case.
LABEL_VALUES = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CATEGORIES_IN_MESSAGE = 10


class AttributeReader:
    """Turns the cells of one attribute into numbers.

    Parameters
    ----------
    attribute : Attribute
    is_label : bool

    Attributes
    ----------
    fast : callable
        From the text of an ordinary cell to its number. Raises ValueError or KeyError for any
        other cell; accepts the numbers ``nan`` and ``inf`` and underscores, which `exact` refuses.
    absent : float
        The number that a sparse row without this attribute stands for: 0, which is also the index
        of a nominal feature's first category; for a label the value of its first category.

    Raises
    ------
    ArffError
        If a label is a string, a date or has categories other than 0 and 1 (or false and true).
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
            # Categories that can only be written in quotes are left to `exact`.
            self.fast = {
                c: v for c, v in self._numbers.items() if c == c.strip() and c not in ("", "?")
            }.__getitem__

    def _label_value(self, category: str) -> float:
        value = LABEL_VALUES.get(category.lower())
        if value is None:
            raise self.attribute.error(
                f"the label {self.attribute.name!r} has the category {category!r}; the categories "
                "of a label are 0 and 1 (or false and true)"
            )
        return value

    def exact(self, line: Line, cell: Cell) -> float:
        """Return the number of any cell.

        Raises
        ------
        ArffError
            If the cell is empty, not a category, not a finite number, or a label's number is
            neither 0 nor 1. Any string or date will do.
        """
        attribute = self.attribute
        if attribute.kind not in ("numeric", "nominal"):
            return 0.0
        if cell.raw == "?":
            return nan
        if not cell.raw:
            raise line.error(
                f"no value for the attribute {attribute.name!r}; a missing value is written ?",
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
                f"{text!r} is not a finite number, and the attribute {attribute.name!r} is "
                "numeric; a missing value is written ?",
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
# Nine digits: more than any number of attributes has, and int takes its time for thousands.
_INDEX = re.compile(r"([+-]?)0*([0-9]{1,9})\s+")


def read_dense(rows: list[Line], readers: list[AttributeReader]) -> tuple[Floats, Floats]:
    """Read rows of comma-separated cells.

    Parameters
    ----------
    rows : list of Line
    readers : list of AttributeReader
        One per declared attribute.

    Returns
    -------
    matrix : float64 array, shape (n_rows, n_attributes)
        NaN where a value is missing.
    weights : float64 array, shape (n_rows,)
        The weights that some files give to instances (``{2.5}`` at the end of a row), else 1.

    Raises
    ------
    ArffError
        For a malformed row.
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
                pass  # The exact reading accepts the row or says what is wrong with it.
        numbers, weights[position] = _exact_dense(row, readers)
        values.extend(numbers)
    matrix = np.asarray(values).reshape(len(rows), len(readers))
    for suspicious in np.flatnonzero(~np.isfinite(matrix).all(axis=1)):
        _exact_dense(rows[suspicious], readers)
    return matrix, weights


def read_sparse(
    rows: list[Line], readers: list[AttributeReader]
) -> tuple[sparse.csr_array, Floats]:
    """Read rows of the form ``{index value, index value}``.

    Parameters
    ----------
    rows, readers
        As in `read_dense`.

    Returns
    -------
    matrix : CSR array of float64, shape (n_rows, n_attributes)
        Its entries are those of the file. NaN where a value is missing.
    weights : float64 array, shape (n_rows,)
        As in `read_dense`.

    Raises
    ------
    ArffError
        For a malformed row, and for indices that are out of range or do not ascend.
    """
    indices, values, indptr = array("i"), array("d"), array("i", [0])
    weights = np.ones(len(rows))
    fast = [reader.fast for reader in readers]
    for position, row in enumerate(rows):
        entries: list[tuple[int, float]] | None = None
        if plain := _PLAIN_SPARSE_ROW.fullmatch(row.text):
            # Where this fails the exact reading accepts the row or says what is wrong with it.
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
    """Find the rows with a number that is not finite or with indices that do not ascend from 0."""
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
            f"the row has {len(cells)} values, and the header declares {len(readers)} attributes",
            extra,
        )
    return [r.exact(row, cell) for r, cell in zip(readers, cells, strict=True)], weight


def _exact_sparse(
    row: Line, readers: list[AttributeReader]
) -> tuple[list[tuple[int, float]], float]:
    """Return the entries of a row (index and number) and its weight."""
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
                f"the index {index} stands behind {entries[-1][0]}; indices ascend, each at most "
                "once",
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
    """Say what is wrong with the entry at `start`."""
    text = row.text
    if "," not in text[start:] and "}" not in text[start:]:
        return row.error("the sparse row is not closed with a }", len(text))
    return row.error("expected an entry of the form 'index value'", start)


def _weight(row: Line, start: int) -> float:
    """Return the weight ``{number}`` that ends the row."""
    text = row.text[start:].rstrip()
    number = text[1:-1].strip()
    braces = text.startswith("{") and text.endswith("}")
    if not braces or not NUMBER.fullmatch(number) or not 0 <= float(number) < inf:
        raise row.error(
            "expected the end of the row or its weight {w}, a finite number of at least 0", start
        )
    return float(number)
