"""The style and output of all figures, and the two figures that any experiment may have."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from PIL import Image

from experiments import ROOT
from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.comparisons import holm, intervals, over_data_sets
from experiments.report.svg import shortened
from experiments.report.tables import section_datasets, section_scores

matplotlib.use("Agg")  # only files are written, so no display is needed


MARKERS = "os^Dv*PX<>"

GREY = "0.45"

COLOURS = 96
"""Number of colours of PNG files."""

DASHES = ["-", "--", ":", "-."]

STYLE: list[Any] = [
    ROOT / "docs" / "xdcc.mplstyle",
    {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "legend.fontsize": 9,
        "lines.linewidth": 1.4,
        "lines.markersize": 4,
    },
]
"""The documentation's style with smaller letters, because reports do not scale figures."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the report's style."""
    with plt.style.context(STYLE):
        yield


def panels(
    n_rows: int, n_columns: int, height: float = 2.6, width: float = 3.0
) -> tuple[Figure, np.ndarray]:
    """Return a figure, at least 5.5 inches wide, with a two-dimensional array of axes."""
    size = (max(width * n_columns, 5.5), height * n_rows)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)


def common_legend(figure: Figure, axes: Axes) -> None:
    """Put one legend below all panels, if there are several lines."""
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    if len(by_label) > 1:
        most = max(2, int(figure.get_size_inches()[0] / 1.8))
        figure.legend(
            list(by_label.values()),
            list(by_label),
            loc="outside lower center",
            ncols=-(-len(by_label) // -(-len(by_label) // most)),
        )


def plain_logarithmic(axis: Axis) -> None:
    """Label a logarithmic axis with 0.2, 0.5, 1 and so on; only with decades if it is long."""
    low, high = axis.get_view_interval()
    short = high / low < 50
    axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(StrMethodFormatter("{x:g}") if short else NullFormatter())


def pareto(results: Results, section: Section) -> Figure:
    """Draw time against quality: a numbered point per line, as the report's `quality_and_time`."""
    measure = section.measures[0]
    quality = section_scores(results, section, measure).dropna()
    seconds = section_scores(results, section, "train_time").loc[quality.index]
    return quality_and_time(quality, seconds, measure, "training")


def quality_and_time(
    quality: pd.DataFrame, seconds: pd.DataFrame, measure: str, what: str
) -> Figure:
    """Draw means over data sets (rows), and geometric means of times, with intervals.

    A method is filled if Wilcoxon's test, with Holm's correction, finds no faster method better.
    `what` names the timed work.
    """
    up = MEASURES[measure].higher_is_better
    middle, reach = intervals(quality)
    time, around = intervals(np.log(seconds.clip(lower=1e-3)))
    order = list(middle.sort_values(ascending=not up, kind="stable").index)
    front = [line for line in order if not _beaten(line, quality if up else -quality, time)]
    figure, axes = panels(1, 1, max(3.6, 0.24 * len(order) + 0.8), 7.5)
    ax = axes[0, 0]
    for line in order:
        x, ends = np.exp(time[line]), np.exp(time[line] + around[line] * np.array([[-1], [1]]))
        ax.errorbar(
            x, middle[line], yerr=reach[line], xerr=np.abs(ends - x), color="0.72", linewidth=1
        )
    # SVG drops blanks at the beginning, but keeps the blank that is as wide as a figure.
    numbers = (str(number).rjust(2, "\u2007") for number in range(1, len(order) + 1))
    names = "\n".join(f"{number}\u2002{line}" for number, line in zip(numbers, order, strict=True))
    ax.text(1.03, 0.98, names, transform=ax.transAxes, va="top", linespacing=1.55)
    ax.set(
        xscale="log",
        xlabel=f"CPU seconds of {what}, geometric mean",
        ylabel=f"{MEASURES[measure].title}, mean over {len(quality)} data sets",
    )
    plain_logarithmic(ax.xaxis)
    figure.draw_without_rendering()  # computes the layout
    points = np.column_stack([np.exp(time[order]), middle[order]])
    places = ax.transData.inverted().transform(_apart(ax.transData.transform(points)))
    for number, line in enumerate(order, start=1):
        filled = line in front
        ax.annotate(
            str(number), points[number - 1], places[number - 1],
            ha="center", va="center", fontsize=7.5, color="white" if filled else "black",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": "C0" if filled else "white",
                  "edgecolor": "C0" if filled else GREY},
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8},
        )  # fmt: skip
    return figure


def _apart(points: np.ndarray, distance: float = 24.0) -> np.ndarray:
    """Move points apart that are closer than the given number of pixels."""
    places = points + np.linspace(0, 1e-3, points.size).reshape(
        points.shape
    )  # no two points coincide
    for _ in range(50):
        between = places[:, None] - places[None]
        far = np.hypot(*np.moveaxis(between, -1, 0)) + np.eye(len(places))
        close = np.where(far < distance, (distance - far) / far / 4, 0) * (1 - np.eye(len(places)))
        places = places + (between * close[:, :, None]).sum(axis=1)
    return places


def _beaten(line: str, quality: pd.DataFrame, time: pd.Series) -> bool:
    """Return whether the test finds a faster method better."""
    cheaper = [other for other in quality if time[other] < time[line]]
    found = [over_data_sets((o, line), quality[o] - quality[line]) for o in cheaper]
    return any(one.side == 1 for one in holm(found))


def curves(results: Results, section: Section) -> Figure:
    """Draw metrics against a parameter, or against the stages of a prediction.

    A panel per metric and data set. A line without stages is a horizontal line. Folds and seeds
    are averaged; bands are intervals of the mean, without the differences between folds. If names
    begin alike ("LM 10", "LM 20", "PM 10"), the beginning gives the colour, the rest the dashes.
    """
    datasets = section_datasets(results, section)
    lines = section.lines or list(results.table["line"].unique())
    places = [(data, measure) for measure in section.measures for data in datasets]
    n_columns = min(3, len(datasets)) if len(datasets) > 1 else len(places)
    figure, axes = panels(-(-len(places) // n_columns), n_columns)
    looks = _looks(lines)
    for ax, (dataset, measure) in zip(axes.flat, places, strict=False):
        values = _values_along(results, dataset, lines, section.x, measure)
        middle, reach = intervals(values)
        for line in lines:
            if line not in middle:
                continue
            y, around = middle[line], reach[line]
            if len(y) == 1 and section.x == "stage":
                ax.axhline(y.iloc[0], label=line, **looks[line] | {"linestyle": "--"})
                continue
            ax.plot(y.index, y, marker="o", markersize=3, label=line, **looks[line])
            if around.notna().all():
                ax.fill_between(
                    y.index.to_numpy(dtype=float), y - around, y + around,
                    color=looks[line]["color"], alpha=0.15, linewidth=0,
                )  # fmt: skip
        if len(middle) and middle.max() == middle.min():
            ax.text(0.5, 0.6, f"{middle.max():g} everywhere", ha="center", transform=ax.transAxes)
        ax.set_title(f"{dataset}: {MEASURES[measure].title}", fontsize=9)
        ax.set_xlabel({"stage": "round", "sigma": "σ"}.get(section.x, section.x.replace("_", " ")))
        if all(float(x).is_integer() for line in ax.lines for x in line.get_xdata()):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    for ax in list(axes.flat)[len(places) :]:
        ax.set_axis_off()
    common_legend(figure, axes[0, 0])
    return figure


def _looks(lines: list[str]) -> dict[str, dict[str, Any]]:
    beginnings = list(dict.fromkeys(line.partition(" ")[0] for line in lines))
    if 2 * len(beginnings) > len(lines):
        # The first lines are wider, so that later lines do not hide them.
        return {
            line: {"color": f"C{k}", "linewidth": 1.2 + (len(lines) - 1 - k) / 2}
            for k, line in enumerate(lines)
        }
    ends = list(dict.fromkeys(line.partition(" ")[2] for line in lines))
    return {
        line: {
            "color": f"C{beginnings.index(line.partition(' ')[0])}",
            "linestyle": DASHES[ends.index(line.partition(" ")[2]) % len(DASHES)],
        }
        for line in lines
    }


def _values_along(
    results: Results, dataset: str, lines: list[str], x: str, measure: str
) -> pd.DataFrame:
    """Return a row per fold and seed, and a column per line and value of x."""
    table = results.table
    found = []
    for row in table[(table["data"] == dataset) & table["line"].isin(lines)].itertuples():
        run = row.fold, row.seed
        if x == "stage":
            stages = enumerate(row.traces[measure], start=1)
            found += [(run, row.line, n, value) for n, value in stages]
        elif x in row.params:
            found.append((run, row.line, row.params[x], getattr(row, measure)))
    frame = pd.DataFrame(found, columns=["run", "line", "x", "value"])
    return frame.pivot_table(index="run", columns=["line", "x"], values="value").dropna(axis=1)


def save(figure: Figure, file: Path, title: str, *, latex: bool = False) -> str:
    """Write a figure as SVG, and close it; return Markdown that shows it.

    `file` is a path in the report's folder `figures`, without the ending. For `latex` there is a
    PDF beside it.
    """
    if latex:
        file.parent.mkdir(parents=True, exist_ok=True)
        with style():
            figure.savefig(file.with_name(f"{file.name}.pdf"), metadata={"CreationDate": None})
    write_svg(figure, file.with_name(f"{file.name}.svg"))
    return f"![{title}](figures/{file.name}.svg)"


def write_svg(figure: Figure, file: Path) -> None:
    """Write a figure as a short SVG file, and close it."""
    text = io.StringIO()
    with style(), plt.rc_context({"svg.hashsalt": file.stem, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(shortened(text.getvalue()), encoding="utf-8")


def png_of(figure: Figure, dpi: int) -> bytes:
    """Return a figure as a small PNG file of few colours, and close it."""
    drawn, small = io.BytesIO(), io.BytesIO()
    with style():
        figure.savefig(drawn, format="png", dpi=dpi)
    plt.close(figure)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            small, format="png", optimize=True
        )
    return small.getvalue()
