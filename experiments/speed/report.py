"""Writes the reports, `QUALITY.md` with its figure and `RESULTS.md`, from measurements.

The text of each is a template, in which `{requirements}`, `{machine}`, `{figure}` and, by their
names, functions of `tables` with a suite and further arguments stand for what they give.
"""

import re
from pathlib import Path
from typing import Any

from experiments.speed import tables
from experiments.speed.figure import draw
from experiments.speed.requirements import judge, read_requirements
from experiments.speed.results import Results
from experiments.speed.summary import Summary

_TEMPLATES = Path(__file__).parent
_FIGURE = "quality.png"

REPORTS = ("quality", "results")
"""Time to quality and scale, and the comparisons of equal rounds."""


def write_reports(results: Results, folder: Path) -> list[Path]:
    """Write each report whose suites have measurements, and the figure of the first.

    Returns
    -------
    list of Path
        The reports.

    Raises
    ------
    ValueError
        If there are no measurements.
    """
    if not results.records:
        raise ValueError(f"{results.file} holds no measurements")
    summary = Summary(results.records)
    folder.mkdir(parents=True, exist_ok=True)
    given = {"machine": _header(results)}
    if draw(summary, folder / _FIGURE):
        given["figure"] = _FIGURE
    files = []
    for name in REPORTS:
        verdicts = [judge(requirement, summary) for requirement in read_requirements(name)]
        given["requirements"] = tables.requirement_table(verdicts)
        template = (_TEMPLATES / f"{name}_template.md").read_text(encoding="utf-8")
        if any(summary.cells(suite) for suite in suites_of(template)):
            file = folder / f"{name.upper()}.md"
            file.write_text(_fill(template, given, summary), encoding="utf-8")
            files.append(file)
    return files


def suites_of(template: str) -> list[str]:
    """Return the suites that a template has a section for."""
    return re.findall(r"\{title (\w+)\}", template)


def _fill(template: str, given: dict[str, str], summary: Summary) -> str:
    """Put in what the places stand for; leave out sections, and paragraphs, that have nothing."""

    def fill(place: re.Match[str]) -> str:
        name, *arguments = place[1].split()
        return getattr(tables, name)(summary, *arguments) if arguments else given[name]

    def is_there(place: str) -> bool:
        name, *arguments = place.split()
        return bool(summary.cells(arguments[0])) if arguments else name in given

    place = re.compile(r"\{([\w ]+)\}")
    sections = [
        place.sub(fill, section)
        for section in re.split(r"\n(?=## )", template)
        if all(map(is_there, place.findall(section)))
    ]
    return re.sub("\n{3,}", "\n\n", "\n".join(sections)).rstrip() + "\n"


def _header(results: Results) -> str:
    rows = []
    for part in ("machine", "versions", "settings"):
        rows += [[part, name, _text(value)] for name, value in results.header[part].items()]
    return tables.markdown_table(["", "", ""], rows)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
