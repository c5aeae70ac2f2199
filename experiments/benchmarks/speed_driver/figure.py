"""The figure of the report: costs, how they grow, chains and the roofline."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from speed_driver.data import synthetic_shape
from speed_driver.suites import SCALING_AXES, SUITES, scaling_points
from speed_driver.summary import Best, Cell, Summary
from speed_driver.tables import roofline_share

_COLUMNS = 3


def draw(summary: Summary, file: Path) -> None:
    """Draw what was measured, a panel per comparison.

    Parameters
    ----------
    summary : Summary
        Of at least one measurement.
    file : Path
        Where to, a PNG.
    """
    panels = _panels(summary)
    n_rows = -(-len(panels) // _COLUMNS)
    size = (5 * _COLUMNS, 4 * n_rows)
    figure, axes = plt.subplots(n_rows, _COLUMNS, figsize=size, squeeze=False, layout="constrained")
    for ax, panel in zip(axes.flat, panels, strict=False):
        panel(ax)
        ax.grid(alpha=0.3)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    figure.suptitle("The least of the repeats; a triangle: ended at the time limit")
    figure.savefig(file, dpi=100)
    plt.close(figure)


def _panels(summary: Summary) -> list[Callable[[Axes], None]]:
    panels: list[Callable[[Axes], None]] = []
    for suite in ("dense", "rounds", "csr", "methods", "threads", "chain"):
        for phase in dict.fromkeys(cell.phase for cell in summary.cells(suite)):
            panels.append(_points(summary, suite, phase))
    panels += [_growth(summary, axis) for axis in SCALING_AXES if _on_axis(summary, axis)]
    if any(roofline_share(summary, cell) for cell in summary.cells("roofline")):
        panels.append(_roofline(summary))
    return panels


def _points(summary: Summary, suite: str, phase: str) -> Callable[[Axes], None]:
    """Return a panel of points: seconds by data set and candidate.

    They are CPU seconds of the least number of threads; in `threads` wall seconds of all.
    """
    cells = [cell for cell in summary.cells(suite) if cell.phase == phase]
    measure = "wall_seconds" if suite == "threads" else "cpu_seconds"
    if suite != "threads":
        fewest = min(cell.threads for cell in cells)
        cells = [cell for cell in cells if cell.threads == fewest]
    data = list(dict.fromkeys(cell.data for cell in cells))
    series = list(dict.fromkeys((cell.candidate, cell.threads) for cell in cells))

    def panel(ax: Axes) -> None:
        for k, (candidate, threads) in enumerate(series):
            shift = (k + 0.5) / len(series) * 0.8 - 0.4
            points = []
            for place, name in enumerate(data):
                best = summary.best(Cell(suite, phase, name, threads, candidate), measure)
                if best is not None:
                    points.append((place + shift, best))
            label = f"{candidate}, {threads}" if suite == "threads" else candidate
            _scatter(ax, points, f"C{k}", label)
        ax.set_yscale("log")
        ax.set_xticks(range(len(data)), data, rotation=40, ha="right", fontsize=8)
        title = SUITES[suite].title
        ax.set_title(title if phase == "chain" else f"{title} ({phase})")
        ax.set_ylabel("wall seconds" if suite == "threads" else "CPU seconds")
        ax.legend(fontsize=7)

    return panel


def _scatter(ax: Axes, points: Sequence[tuple[float, Best]], colour: str, label: str) -> None:
    """Draw a series: a point per measurement, a triangle where the time limit ended it."""
    for marker, at_least in (("o", False), ("^", True)):
        chosen = [(x, best.value) for x, best in points if best.at_least == at_least]
        if chosen:
            x, y = zip(*chosen, strict=True)
            ax.scatter(x, y, s=24, c=colour, marker=marker, label=label)
            label = "_"  # once in the legend


def _on_axis(summary: Summary, axis: str) -> list[Cell]:
    points = set(scaling_points(axis))
    return [cell for cell in summary.cells("scaling") if cell.data in points]


def _growth(summary: Summary, axis: str) -> Callable[[Axes], None]:
    """Return a panel of lines: CPU seconds by the size of synthetic data along an axis."""
    cells = _on_axis(summary, axis)
    place = list(SCALING_AXES).index(axis)

    def panel(ax: Axes) -> None:
        for k, candidate in enumerate(dict.fromkeys(cell.candidate for cell in cells)):
            points = []
            for cell in cells:
                best, shape = summary.best(cell), synthetic_shape(cell.data)
                if cell.candidate == candidate and best is not None and shape is not None:
                    points.append((shape[place], best))
            points.sort(key=lambda point: point[0])
            ax.plot([x for x, _ in points], [best.value for _, best in points], f"C{k}-")
            _scatter(ax, points, f"C{k}", candidate)
        ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="CPU seconds")
        ax.set_title(f"{SUITES['scaling'].title}: {axis}")
        ax.legend(fontsize=7)

    return panel


def _roofline(summary: Summary) -> Callable[[Axes], None]:
    """Return a panel of bars: the shares of the machine's peaks by data set."""
    shares = {
        cell.data: share
        for cell in summary.cells("roofline")
        if (share := roofline_share(summary, cell))
    }

    def panel(ax: Axes) -> None:
        for k, (label, shift) in enumerate((("additions", -0.2), ("bytes read", 0.2)), start=1):
            heights = [100 * share[k] for share in shares.values()]
            ax.bar([place + shift for place in range(len(shares))], heights, 0.4, label=label)
        ax.set_xticks(range(len(shares)), list(shares), rotation=40, ha="right", fontsize=8)
        ax.set(title="Roofline", ylabel="% of the machine's peak")
        ax.legend(fontsize=7)

    return panel
