"""The figure of the report: held-out log-loss against the seconds of training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.report.plots import plain_logarithmic, style
from experiments.speed.curve import Curve, from_json
from experiments.speed.suites import SUITES
from experiments.speed.summary import Cell, Summary

_COLUMNS = 3
_COLOURS = {
    name: f"C{k}" if k < 7 else "black"  # the style has seven
    for k, name in enumerate(
        dict.fromkeys(name for suite in ("quality", "end") for name in SUITES[suite].candidates)
    )
}


def draw(summary: Summary, file: Path) -> bool:
    """Draw the curves of all candidates into a PNG, a panel per data set, if there are any."""
    cells = [cell for suite in ("quality", "end") for cell in summary.cells(suite)]
    panels = list(dict.fromkeys(cell.data for cell in cells))
    if not panels:
        return False
    with style():
        _draw(summary, cells, panels).savefig(file, dpi=130)
        plt.close()
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
    # One for all panels, which leaves the curves alone.
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
        outcomes = [r["result"] for r in summary.records(cell) if r["result"].get("curves")]
        if not outcomes:
            continue
        points = _shown(outcomes[0]).points
        seconds, losses = zip(*((p.cpu_seconds, p.held_out) for p in points), strict=True)
        solid = cell.suite == "quality"
        style = "-" if solid else "--"
        label = cell.candidate if solid else "_"
        ax.plot(
            seconds, losses, style, c=_COLOURS[cell.candidate], lw=1.8 if solid else 1, label=label
        )
        if solid:
            ax.axhline(outcomes[0]["target"], color="black", ls=":", lw=0.8)
            highest.append(outcomes[0]["target"])
    if highest:
        ax.set_ylim(0.92 * highest[0], 1.4 * highest[0])
    ax.set(xscale="log", title=data, xlabel="CPU seconds of boosting", ylabel="held-out log-loss")
    plain_logarithmic(ax.xaxis)


def _shown(result: dict[str, Any]) -> Curve:
    """Return the curve of the fastest setting, or of the one that came nearest."""
    curves = [from_json(curve) for curve in result["curves"]]
    if "setting" not in result:
        return min(curves, key=lambda curve: curve.best().held_out)
    return next(curve for curve in curves if vars(curve.setting) == result["setting"])
