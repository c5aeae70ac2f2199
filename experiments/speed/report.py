"""Writes the reports (`REPORTS`) and their figures.

Each is a template with facts, as those of `experiments.report.pages`: `{requirements}`,
`{machine}`, `{figure}`, and functions of `tables` with a suite and further arguments. The figure of
the first shows held-out log-loss against the seconds of training, that of the prediction the time
of a row by the size of batches.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.report.pages import PLACE, Fact, fill
from experiments.report.plots import common_legend, plain_logarithmic, png_of, style, write_svg
from experiments.report.tables import markdown_table
from experiments.speed import tables
from experiments.speed.requirements import REPORTS, judge, read_requirements
from experiments.speed.result_table import DRAWN, Measurements
from experiments.speed.suites import SUITES
from experiments.speed.summary import Cell, Summary

_TEMPLATES = Path(__file__).parent
_FIGURE = "quality.png"
_LATENCY = "prediction.svg"


def write_reports(found: Measurements, folder: Path) -> list[Path]:
    """Write each report whose suites have measurements, and its figure.

    Returns
    -------
    list of Path
        The reports.

    Raises
    ------
    ValueError
        If there are no measurements.
    """
    if not found.records:
        raise ValueError("there are no measurements")
    summary = Summary(found.records)
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[str, Fact] = {
        name: partial(_called, function, summary)
        for name, function in getmembers(tables, isfunction)
    }
    known["machine"] = _header(found.header)
    if draw(summary, folder / _FIGURE):
        known["figure"] = _FIGURE
    draw_latency(summary, folder / _LATENCY)
    files = []
    for name in REPORTS:
        verdicts = [judge(requirement, summary) for requirement in read_requirements(name)]
        known["requirements"] = tables.requirement_table(verdicts)
        source = _TEMPLATES / f"{name}_template.md"
        template = source.read_text(encoding="utf-8")
        if any(summary.cells(suite) for suite in suites_of(template)):
            file = folder / f"{name.upper()}.md"
            text = fill(_measured_part(template, known, summary), known, str(source))
            file.write_text(re.sub("\n{3,}", "\n\n", text).rstrip() + "\n", encoding="utf-8")
            files.append(file)
    return files


def suites_of(template: str) -> list[str]:
    """Return the suites that have a section in a template."""
    return [argument for name, argument in PLACE.findall(template) if name == "title"]


def _called(function: Callable[..., str], summary: Summary, argument: str) -> str:
    return function(summary, *argument.split())


def _measured_part(template: str, known: Mapping[str, Fact], summary: Summary) -> str:
    """Return a template without the sections of which a table has no measurements."""

    def is_there(place: tuple[str, str]) -> bool:
        name, argument = place
        if argument:
            return bool(summary.cells(argument.split()[0]))
        return name != "figure" or name in known

    sections = re.split(r"\n(?=## )", template)
    return "\n".join(s for s in sections if all(map(is_there, PLACE.findall(s))))


def _header(header: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for part, values in header.items():
        rows += [[part, name, _text(value)] for name, value in values.items()]
    return markdown_table(["", "", ""], rows, 3)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_COLUMNS = 3
_COLOURS = {
    name: f"C{k}" if k < 7 else "black"  # the style has seven colours
    for k, name in enumerate(
        dict.fromkeys(name for suite in DRAWN for name in SUITES[suite].candidates)
    )
}


def draw(summary: Summary, file: Path) -> bool:
    """Draw the curves of all candidates as a PNG with a panel per data set; return whether any."""
    cells = [cell for suite in DRAWN for cell in summary.cells(suite)]
    panels = list(dict.fromkeys(cell.data for cell in cells))
    if not panels:
        return False
    with style():
        figure = _draw(summary, cells, panels)
    file.write_bytes(png_of(figure, dpi=85))
    return True


def _draw(summary: Summary, cells: Sequence[Cell], panels: Sequence[str]) -> Figure:
    n_rows = -(-len(panels) // _COLUMNS)
    size = (3.1 * _COLUMNS, 2.7 * n_rows)
    figure, axes = plt.subplots(n_rows, _COLUMNS, figsize=size, squeeze=False)
    for ax, data in zip(axes.flat, panels, strict=False):
        _panel(ax, data, [cell for cell in cells if cell.data == data], summary)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    lines = {
        line.get_label(): line
        for ax in axes.flat
        for line in ax.get_lines()
        if line.get_label() in _COLOURS
    }
    # One legend for all panels, outside them.
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=len(lines))
    figure.suptitle(
        "Solid: each candidate's best setting, until it is as good as stock per label (1 %, dotted)"
        "\ndashed: rate .1, 256 bins and all columns, to the end",
        fontsize=9,
    )
    return figure


def _panel(ax: Axes, data: str, cells: Sequence[Cell], summary: Summary) -> None:
    highest = []
    for cell in cells:
        drawn = [r["result"] for r in summary.records(cell) if "curve" in r["result"]]
        if not drawn:
            continue
        curve = drawn[0]["curve"]
        solid = cell.suite == "quality"
        style = "-" if solid else "--"
        label = cell.candidate if solid else "_"
        points = curve["cpu_seconds"], curve["held_out"]
        ax.plot(*points, style, c=_COLOURS[cell.candidate], lw=1.8 if solid else 1, label=label)
        if solid:
            ax.axhline(drawn[0]["target"], color="black", ls=":", lw=0.8)
            highest.append(drawn[0]["target"])
    if highest:
        ax.set_ylim(0.92 * highest[0], 1.4 * highest[0])
    ax.set(xscale="log", title=data, xlabel="CPU seconds of boosting", ylabel="held-out log-loss")
    plain_logarithmic(ax.xaxis)


def draw_latency(summary: Summary, file: Path) -> None:
    """Draw the time of a row against the rows of a call, with a panel per data set, if measured."""
    cells = summary.cells("predict")
    panels = list(dict.fromkeys(cell.data for cell in cells))
    if not panels:
        return
    with style():
        size = (3.1 * len(panels), 2.9)
        figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=True)
        for ax, data in zip(axes.flat, panels, strict=True):
            for cell in cells:
                latency = tables.latency(summary, cell)
                if cell.data == data and latency:
                    per_row = [microseconds / n for n, microseconds in latency.items()]
                    ax.plot(list(latency), per_row, marker="o", ms=3, label=cell.candidate)
            ax.set(xscale="log", yscale="log", title=data, xlabel="rows of a call")
        axes[0, 0].set_ylabel("CPU time of a row (µs)")
        common_legend(figure, axes[0, 0])
    write_svg(figure, file)
