"""Writes the blocks of pages that have numbers: README, guide and results.

A block of a page stands between two comments, which Markdown does not show:

    <!-- begin: NAME -->
    <!-- end: NAME -->

Its text is the template with this name in `page_blocks.md`, in which `{fact}` or `{fact: argument}`
is replaced by a number or a table of `page_facts`. All of them come from the tables of results and
the reports, so the command changes nothing if the pages are up to date.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from experiments import ROOT
from experiments.engine.records import atomic

PAGES = (
    "README.md",
    "docs/index.md",
    "docs/results/index.md",
    "docs/start/which_method.md",
    "docs/guide/categories.md",
    "docs/guide/decision_rules.md",
    "docs/guide/order_free.md",
    "docs/guide/serving.md",
)
"""The pages with blocks, below the repository."""

TEMPLATES = Path(__file__).with_name("page_blocks.md")

type Fact = str | Callable[[str], str]

PLACE = re.compile(r"\{([a-z_0-9]+)(?:: ([^}]*))?\}")
"""The name of a fact in a template, and its argument."""

_MARK = re.compile(r"<!-- (begin|end): (\S+) -->\n?")


class PageError(ValueError):
    """A page or the file of templates has a block that is not closed, or unknown."""


def write_pages(root: Path = ROOT, templates: Path = TEMPLATES) -> list[Path]:
    """Write the blocks of all pages; return the pages that have changed.

    Raises
    ------
    PageError
        If a page cannot be read; none is written then.
    StorageError
        If a page cannot be written.
    """
    from experiments.report.page_facts import facts

    known, found = facts(), read_blocks(templates)
    texts = {root / page: filled(root / page, found, known, templates) for page in PAGES}
    changed = []
    for page, text in texts.items():
        if page.read_text(encoding="utf-8") != text:
            with atomic(page) as file:
                file.write(text.encode())
            changed.append(page)
    return changed


def read_blocks(file: Path) -> dict[str, str]:
    """Return the text of each block of a file.

    Raises
    ------
    PageError
        If a block has no end, or none begins where one ends; the message names file and line.
    """
    text = file.read_text(encoding="utf-8")
    return {name: text[start:end] for name, start, end in _places(file, text)}


def filled(
    page: Path, templates: Mapping[str, str], known: Mapping[str, Fact], source: Path = TEMPLATES
) -> str:
    """Return the text of a page with the present numbers in its blocks.

    Raises
    ------
    PageError
        If a block is not closed, has no template, or its template names an unknown fact.
    """
    text = page.read_text(encoding="utf-8")
    parts, before = [], 0
    for name, start, end in _places(page, text):
        if name not in templates:
            raise PageError(f"{page}, line {_line(text, start) - 1}: {source} has no block {name}")
        parts += [text[before:start], fill(templates[name], known, f"{source}, block {name}")]
        before = end
    return "".join([*parts, text[before:]])


def _places(file: Path, text: str) -> list[tuple[str, int, int]]:
    """Return the name of each block, and where its text begins and ends."""
    found: list[tuple[str, int, int]] = []
    open_mark: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        kind, name = mark.groups()
        where = f"{file}, line {_line(text, mark.start())}"
        if kind == "begin":
            if open_mark is not None:
                break
            open_mark = mark
        elif open_mark is None or open_mark[2] != name:
            raise PageError(f"{where}: no block {name} begins before this end")
        else:
            found.append((name, open_mark.end(), mark.start()))
            open_mark = None
    if open_mark is not None:
        line = _line(text, open_mark.start())
        raise PageError(
            f"{file}, line {line}: the block {open_mark[2]} has no end; write "
            f"`<!-- end: {open_mark[2]} -->` below its text"
        )
    return found


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def fill(template: str, known: Mapping[str, Fact], where: str) -> str:
    """Return a template with the facts in their places.

    Raises
    ------
    PageError
        If it names an unknown fact; the message begins with `where`.
    """

    def fact(place: re.Match[str]) -> str:
        name, argument = place.groups()
        if name not in known:
            raise PageError(f"{where}: unknown fact {name}")
        value = known[name]
        return value if isinstance(value, str) else value(argument)

    return PLACE.sub(fact, template)
