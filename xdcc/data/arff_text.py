r"""Lexical rules and header of ARFF files: lines, quoted words, cells, declarations, errors.

A file is decoded as UTF-8 (with or without a byte order mark) or, if that fails, as Latin-1, and
split into `Line` objects, without blank lines and comments. Lines are only cut at their ends, so an
offset in ``Line.text`` is an offset in the line of the file, and `Line.error` refers to it. Rules:

- ``%`` starts a comment at the start of a line and after white space, but not within quotes.
- A word in single or double quotes can contain anything. A backslash is an escape character
  (``\'``, ``\\``, ``\n``, ``\r``, ``\t``, ``\u00e9``) only within quotes.
- Cells are separated by commas; white space around a cell is ignored.

`read_header` parses the lines up to ``@data``: the name of the relation and the declarations of the
attributes. Keywords and types are not case-sensitive. Each `Attribute` stores the position of its
declaration for later errors.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

type Delimiters = Literal[",", ",}"]

#: Characters that start a quoted word.
QUOTES = ("'", '"')
#: Text after the opening quote. Possessive quantifiers prevent backtracking, so the time is linear
#: in the length of a word.
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
        The fault, and what is expected. The middle of a long text is omitted.
    path : Path
        The file.
    line, column : int
        The position, counted from 1.
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
        """Return the position and the problem in one line."""
        return f"{self.path}, line {self.line}, column {self.column}: {self.problem}"


class Line(NamedTuple):
    """One line of a file, without a comment at its end.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(Line(Path("a.arff"), 3, "1,x").error("x is not a number", start=2))
    'a.arff, line 3, column 3: x is not a number'
    """

    path: Path
    number: int
    text: str

    def error(self, problem: str, start: int = 0) -> ArffError:
        """Create the error for a problem at the offset `start` of this line."""
        return ArffError(problem, self.path, self.number, start + 1)


class Cell(NamedTuple):
    """The text of a cell (including quotes) and its offset in the line."""

    raw: str
    start: int


def read_lines(path: Path) -> list[Line]:
    """Read the lines that are not blank or comments; raise ArffError if there are none."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    # str.splitlines also splits at characters that a quoted name can contain (U+0085, U+2028).
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
    """Return the text before a comment; a quote that is not closed is an ordinary character."""
    unclosed = set()
    start = 0
    while found := _QUOTE_OR_COMMENT.search(text, start):
        mark, start = found.group(), found.end()
        if mark == "%":
            return text[: found.start()]
        if mark not in unclosed:
            # If this quote is not closed, later quotes of this kind are not closed, either.
            end = _end_of_quoted(text, found.start())
            if end is None:
                unclosed.add(mark)
            else:
                start = end
    return text


def unquote(raw: str) -> str:
    """Return the text of a quoted or unquoted word.

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
    """Return the end offset of the quoted word at `start`; raise ArffError if it is not closed.

    Examples
    --------
    >>> end_of_quoted(Line(Path("a.arff"), 3, "'a, b',1"), start=0)
    6
    """
    end = _end_of_quoted(line.text, start)
    if end is None:
        raise line.error(f"the quote {line.text[start]} is not closed in this line", start)
    return end


def _end_of_quoted(text: str, start: int) -> int | None:
    closed = _TO_CLOSING_QUOTE[text[start]].match(text, start + 1)
    return closed.end() if closed else None


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character at or after `start` that is not white space.

    Examples
    --------
    >>> skip_space("a   b", start=1)
    4
    """
    found = _NO_SPACE.search(text, start)
    return found.start() if found else len(text)


def read_cell(line: Line, start: int, end: int, delimiters: Delimiters = ",") -> tuple[Cell, int]:
    """Read the cell at `start`, up to a delimiter outside quotes or to `end`.

    Returns the cell without surrounding white space, and the offset of the delimiter or `end`.
    Raises ArffError for a quote that is not closed, and for text after a closing quote.

    Examples
    --------
    >>> read_cell(Line(Path("a.arff"), 3, "{0 'a, b' }"), start=3, end=11, delimiters=",}")
    (Cell(raw="'a, b'", start=3), 10)
    """
    text = line.text
    start = skip_space(text, start)
    if text.startswith(QUOTES, start):
        cell_end = end_of_quoted(line, start)
        stop = skip_space(text, cell_end)
        if stop < end and text[stop] not in delimiters:
            expected = " or ".join(delimiters)
            raise line.error(f"expected {expected} after the closing quote", cell_end)
    else:
        found = _DELIMITER[delimiters].search(text, start, end)
        stop = cell_end = found.start() if found else end
    return Cell(text[start:cell_end].rstrip(), start), stop


def split_cells(line: Line, start: int, end: int) -> list[Cell]:
    """Split ``line.text[start:end]`` at commas outside quotes; errors are as in `read_cell`.

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
    """A declared attribute."""

    name: str  # without quotes and escapes
    kind: str  # numeric (also for real and integer), nominal, string or date
    categories: tuple[str, ...]  # in the order of the file; empty unless nominal
    line: Line
    start: int  # offset of the name

    def error(self, problem: str) -> ArffError:
        """Create the error for a problem with this declaration."""
        return self.line.error(problem, self.start)


@dataclass(frozen=True)
class Header:
    """The name of the relation, its line, and the attributes in the order of the file."""

    relation: str
    line: Line
    attributes: tuple[Attribute, ...]


def read_header(lines: list[Line]) -> tuple[Header, list[Line]]:
    """Read the header; return it and the lines after ``@data``.

    Raises ArffError for anything that is not a declaration, an unknown type, a repeated attribute
    or category, and a file without a relation, an attribute or ``@data``.
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
                raise line.error("the rows of @data must start on the next line", start)
            if relation is None or not attributes:
                missing = "@attribute" if relation else "@relation"
                raise line.error(f"@data without {missing} before it")
            header = Header(*relation, tuple(attributes.values()))
            return header, lines[position + 1 :]
        else:
            raise line.error("expected @relation, @attribute or @data", skip_space(line.text, 0))
    raise lines[-1].error("the file ends before @data: it is truncated or not an ARFF file")


def _relation_name(line: Line, start: int) -> str:
    text = line.text[start:].rstrip()
    if not text:
        raise line.error("@relation without a name", len(line.text))
    if not text.startswith(QUOTES):
        return text
    end = end_of_quoted(line, start)
    if line.text[end:].strip():
        raise line.error("text after the quoted name of the relation", end)
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
    """Read the list of categories with its opening brace at `start`."""
    end = len(line.text.rstrip()) - 1
    if line.text[end] != "}":
        raise line.error("the list of categories does not end with a } in this line", start)
    categories: dict[str, None] = {}
    for cell in split_cells(line, start + 1, end):
        if not cell.raw:
            raise line.error("an empty category; use '' for an empty string", cell.start)
        category = unquote(cell.raw)
        if category in categories:
            raise line.error(f"the category {category!r} is listed twice", cell.start)
        categories[category] = None
    return tuple(categories)
