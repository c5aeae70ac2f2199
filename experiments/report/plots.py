"""How all figures of the report look, and the two that every experiment may have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib

matplotlib.use("Agg")  # only files are written: no display is needed

import numpy as np
import pandas as pd
from adjustText import adjust_text
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, StrMethodFormatter

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.tables import section_datasets, section_scores

MARKERS = "os^Dv*PX<>"

MANY = 9
"""A figure of more lines than these is larger, so that their names have room."""

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the report's style."""
    with plt.rc_context(STYLE):
        yield


def panels(
    n_rows: int, n_columns: int, height: float = 2.9, width: float = 3.4
) -> tuple[Figure, np.ndarray]:
    """Return a figure, at least 5.5 inches wide, with a two-dimensional array of axes."""
    size = (max(width * n_columns, 5.5), height * n_rows)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)


def common_legend(figure: Figure, axes: Axes) -> None:
    """Put the legend of one of the panels below all of them."""
    by_label = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        list(by_label.values()),
        list(by_label),
        loc="outside lower center",
        ncols=min(len(by_label), max(2, int(figure.get_size_inches()[0] / 1.8))),
    )


def plain_logarithmic(axis: Axis) -> None:
    """Give a logarithmic axis labels such as 0.2, 0.5, 1."""
    axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(StrMethodFormatter("{x:g}"))


def pareto(results: Results, section: Section) -> Figure:
    """Draw time against quality: a point per line, and the front of those that are not beaten.

    Time is the geometric mean of the training time over the data sets that all lines have, quality
    the mean of the section's first measure.
    """
    measure = section.measures[0]
    quality = section_scores(results, section, measure).dropna()
    seconds = section_scores(results, section, "train_time").loc[quality.index]
    x = np.exp(np.log(seconds.clip(lower=1e-3)).mean())
    y = quality.mean()
    crowded = y.size > MANY
    figure, axes = panels(1, 1, 5.0 if crowded else 3.8, 8.0 if crowded else 5.5)
    ax = axes[0, 0]
    for k, line in enumerate(quality.columns):
        ax.scatter(x[line], y[line], marker=MARKERS[k % len(MARKERS)], s=45, label=line, zorder=3)
    front = pareto_front(x, y if MEASURES[measure].higher_is_better else -y)
    ax.plot(x[front], y[front], color="0.6", linewidth=1, linestyle="--", zorder=2)
    ax.set(
        xscale="log",
        xlabel="training time, geometric mean (CPU s)",
        ylabel=f"{MEASURES[measure].title}, mean over {len(quality)} data sets",
    )
    plain_logarithmic(ax.xaxis)
    ax.margins(0.12)
    labels = [ax.text(x[line], y[line], line, fontsize=8) for line in quality.columns]
    adjust_text(labels, ax=ax, iter_lim=500, arrowprops={"arrowstyle": "-", "color": "0.7"})
    return figure


def pareto_front(cost: pd.Series, quality: pd.Series) -> list[str]:
    """Return the names, cheap ones first, that no other beats in cost and quality at once."""
    front: list[str] = []
    best = -np.inf
    for name in (
        cost.to_frame("cost").assign(quality=-quality).sort_values(["cost", "quality"]).index
    ):
        if quality[name] > best:
            front.append(str(name))
            best = quality[name]
    return front


def curves(results: Results, section: Section) -> Figure:
    """Draw measures against a parameter, or against the stages of a reading.

    A row of panels per data set, a column per measure. A line without stages is a horizontal
    line. Folds and seeds are averaged.
    """
    table = results.table
    datasets = section_datasets(results, section)
    lines = section.lines or list(table["line"].unique())
    figure, axes = panels(len(datasets), len(section.measures))
    for row, dataset in enumerate(datasets):
        for column, measure in enumerate(section.measures):
            ax = axes[row, column]
            for k, line in enumerate(lines):
                x, y = _curve(results, dataset, line, section.x, measure)
                if len(x) == 1 and section.x == "stage":
                    ax.axhline(y[0], color=f"C{k}", linestyle="--", label=line)
                elif len(x):
                    marker = MARKERS[k % len(MARKERS)]
                    ax.plot(x, y, color=f"C{k}", marker=marker, markersize=4, label=line)
            title = f"{dataset}: {MEASURES[measure].title}"
            ax.set(title=title, xlabel="round" if section.x == "stage" else section.x)
            if all(float(x).is_integer() for line in ax.lines for x in line.get_xdata()):
                ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    common_legend(figure, axes[0, 0])
    return figure


def _curve(
    results: Results, dataset: str, line: str, x: str, measure: str
) -> tuple[list[float], list[float]]:
    table = results.table
    chosen = (table["data"] == dataset) & (table["line"] == line)
    if x != "stage":
        rows = table[chosen]
        rows = rows.assign(x=[params.get(x, np.nan) for params in rows["params"]]).dropna(
            subset="x"
        )
        means = rows.groupby("x")[measure].mean()
        return list(means.index), list(means)
    per_record = [
        stage_values(results.records[k], table["reading"][k], measure)
        for k in np.flatnonzero(chosen)
    ]
    if not per_record:
        return [], []
    length = min(map(len, per_record))
    means = np.mean([values[:length] for values in per_record], axis=0)
    return list(range(1, length + 1)), list(means)


def stage_values(record: dict, reading: str, measure: str) -> list[float]:
    """Return a measure after each stage of a reading.

    The training time of a stage is the part of the CPU time that the rounds up to it have of the
    wall time of all rounds. A measure that stages do not have stands in the method's details.

    Parameters
    ----------
    record : Record
    reading : str
    measure : str

    Returns
    -------
    list of float
        One value if the reading has no stages.
    """
    measured = record["result"]["readings"][reading]
    if measure == "train_time":
        run = record["run"]
        seconds = np.array(run["training"].get("round_seconds", [1.0]))
        return [float(value) for value in run["train_time"] * np.cumsum(seconds) / seconds.sum()]
    stages = measured.get("stages", [measured])
    if measure not in stages[0]:
        return record["result"]["details"][measure]
    return [stage[measure] for stage in stages]
