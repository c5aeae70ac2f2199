r"""The text of an ARFF file: its lines, quoted words, comma-separated cells, and its errors.

A file is read as UTF-8 (with or without a byte order mark) and, if it is not UTF-8, as Latin-1.
It becomes a list of `Line`, without blank lines and comments. What is cut from a line is cut at
its end, so that an offset in ``Line.text`` is an offset in the file's line, and `Line.error`
points at the place. Lexical rules:

- ``%`` starts a comment at the start of a line and after white space, but not within quotes.
- A word in single or double quotes may hold anything; a backslash escapes (``\'``, ``\\``,
  ``\n``, ``\r``, ``\t``, ``\u00e9``). Outside quotes a backslash is a backslash.
- Cells are separated by commas; white space around a cell does not count.
"""

import re
from pathlib import Path
from typing import NamedTuple

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
QUOTED_WORD = re.compile(_QUOTED)
#: A cell up to the next comma outside quotes (or the end).
_CELL = re.compile(rf"""\s*(?P<raw>{_QUOTED}|(?!['"])[^,]*?)\s*(?P<comma>,|$)""")
#: Everything before a comment: quoted words, characters other than %, and % inside a word.
_BEFORE_COMMENT = re.compile(rf"(?:{_QUOTED}|[^%]|(?<=\S)%)*")
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<character>.))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class ArffError(ValueError):
    """A malformed ARFF file or label XML.

    Attributes
    ----------
    problem : str
        What is wrong and what would be right.
    path : Path
        The file.
    line, column : int
        Where, both counted from 1.
    """

    def __init__(self, problem: str, path: Path, line: int, column: int) -> None:
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
            before = _BEFORE_COMMENT.match(text)
            text = before.group() if before else ""
        if text and not text.isspace():
            lines.append(Line(path, number, text))
    if not lines:
        raise ArffError("the file is empty", path, 1, 1)
    return lines


def unquote(raw: str) -> str:
    """Return the text that a quoted or unquoted word stands for.

    Examples
    --------
    >>> unquote("'a, b'"), unquote("a")
    ('a, b', 'a')
    """
    if raw[:1] not in ("'", '"'):
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
    match = QUOTED_WORD.match(line.text, start)
    if match is None:
        raise line.error(f"the quote {line.text[start]} is not closed in this line", start)
    return match.end()


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character at or behind `start` that is no white space.

    Examples
    --------
    >>> skip_space("a   b", start=1)
    4
    """
    return len(text) - len(text[start:].lstrip())


def split_cells(line: Line, start: int, end: int) -> list[Cell]:
    """Split ``line.text[start:end]`` at the commas that are not within quotes.

    Raises
    ------
    ArffError
        For a quote that is not closed, and for text behind a closing quote.

    Examples
    --------
    >>> line = Line(Path("a.arff"), 3, "1,'a, b'")
    >>> split_cells(line, 0, len(line.text))
    [Cell(raw='1', start=0), Cell(raw="'a, b'", start=2)]
    """
    cells = []
    while True:
        match = _CELL.match(line.text, start, end)
        if match is None:
            behind = end_of_quoted(line, skip_space(line.text, start))
            raise line.error("expected a comma behind the closing quote", behind)
        cells.append(Cell(match["raw"], match.start("raw")))
        start = match.end()
        if not match["comma"]:
            return cells
