"""The header of an ARFF file: the relation's name and the declarations of the attributes.

`read_header` takes the file's lines up to ``@data`` and hands the rest on. Keywords and types may
be written in upper or lower case. Each `Attribute` remembers where it was declared, for errors
that are found later.
"""

import re
from dataclasses import dataclass

from xdcc.data.arff_text import (
    QUOTES,
    ArffError,
    Line,
    end_of_quoted,
    skip_space,
    split_cells,
    unquote,
)

_KEYWORD = re.compile(r"\s*@(\w+)")
_UNQUOTED_NAME = re.compile(r"[^\s{]+")
_TYPE = re.compile(r"(\w+)\s*(.*)", re.DOTALL)
_KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric"}
_DROPPED_KINDS = {"string": "string", "date": "date"}


@dataclass(frozen=True)
class Attribute:
    """One declared attribute.

    Attributes
    ----------
    name : str
        Without quotes and escapes.
    kind : str
        ``"numeric"`` (also for ``real`` and ``integer``), ``"nominal"``, ``"string"`` or
        ``"date"``.
    categories : tuple of str
        Those of a nominal attribute, in the file's order; else empty.
    line : Line
        The line of the declaration.
    start : int
        Offset of the name in it.
    """

    name: str
    kind: str
    categories: tuple[str, ...]
    line: Line
    start: int

    def error(self, problem: str) -> ArffError:
        """Make the error for a problem with this declaration."""
        return self.line.error(problem, self.start)


@dataclass(frozen=True)
class Header:
    """The relation's name, its line, and the attributes in the file's order."""

    relation: str
    line: Line
    attributes: tuple[Attribute, ...]


def read_header(lines: list[Line]) -> tuple[Header, list[Line]]:
    """Read the declarations.

    Parameters
    ----------
    lines : list of Line
        All lines of the file, as `read_lines` gives them.

    Returns
    -------
    header : Header
    rows : list of Line
        The lines behind ``@data``.

    Raises
    ------
    ArffError
        For anything that is not a declaration, an unknown type, an attribute or a category that
        is declared twice, a file without a relation, an attribute or ``@data``.
    """
    relation: tuple[str, Line] | None = None
    attributes: dict[str, Attribute] = {}
    for position, line in enumerate(lines):
        match = _KEYWORD.match(line.text)
        keyword = match[1].lower() if match else ""
        start = skip_space(line.text, match.end()) if match else 0
        if keyword == "relation":
            if relation is not None:
                raise line.error(f"a second @relation, after the one in line {relation[1].number}")
            relation = _relation_name(line, start), line
        elif keyword == "attribute":
            attribute = _attribute(line, start)
            earlier = attributes.setdefault(attribute.name, attribute)
            if earlier is not attribute:
                raise attribute.error(
                    f"attribute {attribute.name!r} is already declared in line "
                    f"{earlier.line.number}"
                )
        elif keyword == "data":
            if start < len(line.text):
                raise line.error("the rows of @data start in the next line", start)
            if relation is None or not attributes:
                missing = "@attribute" if relation else "@relation"
                raise line.error(f"@data without {missing} before it")
            header = Header(*relation, tuple(attributes.values()))
            return header, lines[position + 1 :]
        else:
            raise line.error("expected @relation, @attribute or @data", skip_space(line.text, 0))
    raise lines[-1].error("the file ends before @data: it is truncated, or no ARFF file")


def _relation_name(line: Line, start: int) -> str:
    text = line.text[start:].rstrip()
    if not text:
        raise line.error("@relation without a name", len(line.text))
    if not text.startswith(QUOTES):
        return text
    end = end_of_quoted(line, start)
    if line.text[end:].strip():
        raise line.error("text behind the quoted name of the relation", end)
    return unquote(text)


def _attribute(line: Line, start: int) -> Attribute:
    text = line.text
    if text.startswith(QUOTES, start):
        end = end_of_quoted(line, start)
    else:
        match = _UNQUOTED_NAME.match(text, start)
        if match is None:
            raise line.error("@attribute without a name", start)
        end = match.end()
    name = unquote(text[start:end])
    type_start = skip_space(text, end)
    if text[type_start : type_start + 1] == "{":
        return Attribute(name, "nominal", _categories(line, type_start), line, start)
    match = _TYPE.fullmatch(text, type_start)
    kind = match[1].lower() if match else ""
    if match and kind in _KINDS and not match[2]:
        return Attribute(name, _KINDS[kind], (), line, start)
    if kind in _DROPPED_KINDS:
        return Attribute(name, _DROPPED_KINDS[kind], (), line, start)
    raise line.error(
        f"attribute {name!r} has the type {text[type_start:].strip()!r}; expected numeric, real, "
        "integer, string, date or a list of categories {a,b}",
        type_start,
    )


def _categories(line: Line, start: int) -> tuple[str, ...]:
    """Read the list of categories whose opening brace is at `start`."""
    end = len(line.text.rstrip()) - 1
    if line.text[end] != "}":
        raise line.error("the list of categories does not end with a } in this line", start)
    categories: dict[str, None] = {}
    for cell in split_cells(line, start + 1, end):
        if not cell.raw:
            raise line.error("an empty category; write '' for the empty text", cell.start)
        category = unquote(cell.raw)
        if category in categories:
            raise line.error(f"the category {category!r} is listed twice", cell.start)
        categories[category] = None
    return tuple(categories)
