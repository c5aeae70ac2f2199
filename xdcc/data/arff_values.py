"""The cells of an ARFF row as numbers.

An `AttributeReader` turns a cell into a number: a feature's value or the index of its category, 0
or 1 for a label, NaN for ``?``, and 0 for a string or a date, whose columns are dropped. It has
two ways to do so. `AttributeReader.fast` is a built-in function that knows ordinary cells only;
`AttributeReader.exact` knows all the rules and raises the errors.
"""

import re
from collections.abc import Callable
from math import inf, isfinite, nan

from xdcc.data.arff_header import Attribute
from xdcc.data.arff_text import Cell, Line, unquote

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
