r"""The text of an ARFF file: lines, quoted words, cells, declarations of its header, and errors.

A file is read as UTF-8 (with or without a byte order mark) and, if it is not UTF-8, as Latin-1.
It becomes a list of `Line`, without blank lines and comments. What is cut from a line is cut at
its end, so that an offset in ``Line.text`` is an offset in the file's line, and `Line.error`
points at the place. Lexical rules:

- ``%`` starts a comment at the start of a line and after white space, but not within quotes.
- A word in single or double quotes may hold anything; a backslash escapes (``\'``, ``\\``,
  ``\n``, ``\r``, ``\t``, ``\u00e9``). Outside quotes a backslash is a backslash.
- Cells are separated by commas; white space around a cell does not count.

`read_header` takes the lines up to ``@data``, the relation's name and the declarations of the
attributes, and hands the rest on. Keywords and types may be written in upper or lower case. Each
`Attribute` remembers where it was declared, for errors that are found later.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

type Delimiters = Literal[",", ",}"]

#: What a quoted word can start with.
QUOTES = ("'", '"')
#: Behind the opening quote. Possessive: what has been read is not read again in another way, so
#: that a word takes time in proportion to its length.
_TO_CLOSING_QUOTE = {
    "'": re.compile(r"(?:[^'\\]++|\\.)*+'"),
    '"': re.compile(r'(?:[^"\\]++|\\.)*+"'),
}
_QUOTE_OR_COMMENT = re.compile(r"""['"]|(?<!\S)%""")
_NO_SPACE = re.compile(r"\S")
_DELIMITER = {",": re.compile(r","), ",}": re.compile(r"[,}]")}
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<character>.))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_LONGEST_PROBLEM = 600


class ArffError(ValueError):
    """A malformed ARFF file or label XML.

    Attributes
    ----------
    problem : str
        What is wrong and what would be right. Words of the file may be long: the middle of a long
        text is left out.
    path : Path
        The file.
    line, column : int
        Where, both counted from 1.
    """

    def __init__(self, problem: str, path: Path, line: int, column: int) -> None:
        if len(problem) > _LONGEST_PROBLEM:
            half = _LONGEST_PROBLEM // 2
            problem = f"{problem[:half]} [...] {problem[-half:]}"
        super().__init__(problem, path, line, column)
        self.problem = problem
        self.path = path
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """Return the place and the problem in one line."""
        return f"{self.path}, line {self.line}, column {self.column}: {self.problem}"


class Line(NamedTuple):
    """One line of a file, without a comment at its end.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(Line(Path("a.arff"), 3, "1,x").error("x is no number", start=2))
    'a.arff, line 3, column 3: x is no number'
    """

    path: Path
    number: int
    text: str

    def error(self, problem: str, start: int = 0) -> ArffError:
        """Make the error for a problem at the offset `start` of this line."""
        return ArffError(problem, self.path, self.number, start + 1)


class Cell(NamedTuple):
    """A cell as it is written (quotes included) and its offset in the line."""

    raw: str
    start: int


def read_lines(path: Path) -> list[Line]:
    """Read the lines of a file that hold anything other than white space and comments.

    Raises
    ------
    ArffError
        If there is none.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    # Not str.splitlines: it also splits at characters that a quoted name may hold (U+0085, U+2028).
    texts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = []
    for number, text in enumerate(texts, start=1):
        if "%" in text:
            text = _without_comment(text)
        if text and not text.isspace():
            lines.append(Line(path, number, text))
    if not lines:
        raise ArffError("the file is empty", path, 1, 1)
    return lines


def _without_comment(text: str) -> str:
    """Return what stands before the comment; a quote that is not closed is a character."""
    unclosed = set()
    start = 0
    while found := _QUOTE_OR_COMMENT.search(text, start):
        mark, start = found.group(), found.end()
        if mark == "%":
            return text[: found.start()]
        if mark not in unclosed:
            # A later quote of this kind is not closed either: it is one that was escaped here.
            behind = _behind_quoted(text, found.start())
            if behind is None:
                unclosed.add(mark)
            else:
                start = behind
    return text


def unquote(raw: str) -> str:
    """Return the text that a quoted or unquoted word stands for.

    Examples
    --------
    >>> unquote("'a, b'"), unquote("a")
    ('a, b', 'a')
    """
    if not raw.startswith(QUOTES):
        return raw
    return _ESCAPE.sub(_unescape, raw[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match["code"] is not None:
        return chr(int(match["code"], 16))
    return _ESCAPED.get(match["character"], match["character"])


def end_of_quoted(line: Line, start: int) -> int:
    """Return the offset behind the quoted word that starts at `start`.

    Raises
    ------
    ArffError
        If the quote is not closed.

    Examples
    --------
    >>> end_of_quoted(Line(Path("a.arff"), 3, "'a, b',1"), start=0)
    6
    """
    behind = _behind_quoted(line.text, start)
    if behind is None:
        raise line.error(f"the quote {line.text[start]} is not closed in this line", start)
    return behind


def _behind_quoted(text: str, start: int) -> int | None:
    closed = _TO_CLOSING_QUOTE[text[start]].match(text, start + 1)
    return closed.end() if closed else None


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character at or behind `start` that is no white space.

    Examples
    --------
    >>> skip_space("a   b", start=1)
    4
    """
    found = _NO_SPACE.search(text, start)
    return found.start() if found else len(text)


def read_cell(line: Line, start: int, end: int, delimiters: Delimiters = ",") -> tuple[Cell, int]:
    """Read the cell at `start`, up to a delimiter outside quotes or to `end`.

    Returns
    -------
    cell : Cell
        Without the white space around it; it may be empty.
    stop : int
        The offset of the delimiter, or `end`.

    Raises
    ------
    ArffError
        For a quote that is not closed, and for text behind a closing quote.

    Examples
    --------
    >>> read_cell(Line(Path("a.arff"), 3, "{0 'a, b' }"), start=3, end=11, delimiters=",}")
    (Cell(raw="'a, b'", start=3), 10)
    """
    text = line.text
    start = skip_space(text, start)
    if text.startswith(QUOTES, start):
        behind = end_of_quoted(line, start)
        stop = skip_space(text, behind)
        if stop < end and text[stop] not in delimiters:
            expected = " or ".join(delimiters)
            raise line.error(f"expected {expected} behind the closing quote", behind)
    else:
        found = _DELIMITER[delimiters].search(text, start, end)
        stop = behind = found.start() if found else end
    return Cell(text[start:behind].rstrip(), start), stop


def split_cells(line: Line, start: int, end: int) -> list[Cell]:
    """Split ``line.text[start:end]`` at the commas that are not within quotes.

    Raises
    ------
    ArffError
        As `read_cell`.

    Examples
    --------
    >>> line = Line(Path("a.arff"), 3, "1,'a, b'")
    >>> split_cells(line, 0, len(line.text))
    [Cell(raw='1', start=0), Cell(raw="'a, b'", start=2)]
    """
    cell, stop = read_cell(line, start, end)
    cells = [cell]
    while stop < end:
        cell, stop = read_cell(line, stop + 1, end)
        cells.append(cell)
    return cells


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
