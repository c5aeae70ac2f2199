"""The figures of the papers with their own drawing functions: names → functions."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.engine.traces import has_all_tests
from experiments.report.plots import (
    MARKERS,
    common_legend,
    panels,
    plain_logarithmic,
)
from experiments.report.tables import section_datasets, section_scores

BEST = dict.fromkeys(["marginal-independence", "marginal-dependence"], (0.1, 1 - 0.9**6))
BEST["conditional-dependence"] = (0.1, 0.1)
"""Hamming and subset 0/1 loss of the best possible predictions; 10 % of the labels are noise."""

TENTHS = 10


def xdcc_heat_maps(results: Results, section: Section) -> Figure:
    """Draw Figure 3 of the XDCC paper: when positive and negative labels are decided.

    A row per data set; chains are cut into tenths of their length, since they have from six rounds
    to more than a hundred. Uses the first line of the section.
    """
    line = (section.lines or list(results.table["line"].unique()))[0]
    names: list[str] = []
    shares: dict[str, list[np.ndarray]] = {"positive": [], "negative": []}
    for dataset in section_datasets(results, section):
        rows = np.flatnonzero((results.table["line"] == line) & (results.table["data"] == dataset))
        details = [results.table["traces"][k] for k in rows]
        length = min((len(d["positive"]) for d in details), default=0)
        if not length:
            continue
        totals = {}
        for sign, of_sign in shares.items():
            counts = np.mean([d[sign][:length] for d in details], axis=0)
            totals[sign] = counts.sum()
            so_far = np.concatenate([[0], np.cumsum(counts)]) / max(totals[sign], 1)
            ends = np.linspace(0, length, TENTHS + 1)
            of_sign.append(np.diff(np.interp(ends, np.arange(length + 1), so_far)))
        share = totals["positive"] / max(sum(totals.values()), 1)
        names.append(f"{dataset}: {length} rounds, {share:.0%} positive")
    figure, axes = panels(1, 2, 1.2 + 0.26 * len(names), 4.2)
    for ax, (sign, of_sign) in zip(axes[0], shares.items(), strict=True):
        image = ax.imshow(of_sign, aspect="auto", vmin=0, vmax=np.max([*shares.values()]))
        ax.set(title=f"{sign} decisions", xlabel="tenth of the chain")
        ax.set_xticks(range(TENTHS), [str(k + 1) for k in range(TENTHS)])
        ax.set_yticks(range(len(names)), names if sign == "positive" else [""] * len(names))
        ax.grid(visible=False)
    figure.colorbar(image, ax=axes, label="share of these decisions")
    return figure


def time_against_f1(results: Results, section: Section) -> Figure:
    """Draw Figure 4 of the XDCC paper: training time and F1 of a chain, relative to another line.

    A polygon per data set: its points are the rounds of the section's first line, divided by the
    values of the second line; the first is open, the last is filled and has the name.
    """
    chain, other = (section.lines or list(results.table["line"].unique()))[:2]
    measure = section.measures[0]
    reference = section_scores(results, section, measure)[other]
    seconds = section_scores(results, section, "train_time")[other]
    figure, axes = panels(1, 1, 4.6, 7.5)
    ax = axes[0, 0]
    number = 0
    for k in np.flatnonzero(results.table["line"] == chain):
        dataset, traces = results.table["data"][k], results.table["traces"][k]
        if dataset not in reference.index or np.isnan(reference[dataset]):
            continue
        y = traces["train_time"] / seconds[dataset]
        x = traces[measure] / reference[dataset]
        colour, marker = f"C{number % 7}", MARKERS[number % len(MARKERS)]
        ax.plot(x, y, color=colour, linewidth=1, zorder=2)
        ax.plot(x[0], y[0], marker, color=colour, markerfacecolor="white", markersize=6)
        ax.plot(x[-1], y[-1], marker, color=colour, markersize=6, label=dataset)
        number += 1
    ax.axhline(1, color="0.4", linewidth=0.8)  # where the ratios are 1
    ax.axvline(1, color="0.4", linewidth=0.8)
    ax.set(
        yscale="log",
        xlabel=f"{MEASURES[measure].title}: {chain} / {other}",
        ylabel=f"training time: {chain} / {other}",
    )
    plain_logarithmic(ax.yaxis)
    common_legend(figure, ax)
    return figure


def gain_against_seconds(results: Results, section: Section) -> Figure:
    """Draw how much of the possible gain over the first line others take, and in which time.

    The last line is the best possible: its gain is 100 %, at a dashed line. A point for each data
    set; training times are ratios to the first line's.
    """
    first, *others, best = section.lines or list(results.table["line"].unique())
    measure = section.measures[0]
    scores = section_scores(results, section, measure)
    seconds = section_scores(results, section, "train_time")
    possible = scores[first] - scores[best]
    figure, axes = panels(1, 1, 4.6, 7.5)
    ax = axes[0, 0]
    for number, line in enumerate(line for line in others if line in scores):
        x, y = seconds[line] / seconds[first], 100 * (scores[first] - scores[line]) / possible
        ax.plot(x, y, MARKERS[number], color=f"C{number % 7}", linestyle="", label=line)
    ax.axhline(0, color="0.4", linewidth=0.8)
    ax.axhline(100, color="0.4", linewidth=0.8, linestyle="--", label=best)
    ax.set(
        xscale="log",
        xlabel=f"training time / that of {first}",
        ylabel=f"share of the possible gain in {MEASURES[measure].title} (%)",
    )
    plain_logarithmic(ax.xaxis)
    common_legend(figure, ax)
    return figure


def loss_plane(results: Results, section: Section) -> Figure:
    """Draw Figure 1 of the BOOMER paper: one loss against another as stages are added.

    A panel per data set, a curve per line with a point for each stage, the last one larger, wider
    ones below others so that none is hidden; the section's metrics are the axes, the star is the
    optimum, and along a grey line (an isometric) both losses fall equally.
    """
    table = results.table
    datasets = section_datasets(results, section)
    lines = section.lines or list(table["line"].unique())
    figure, axes = panels(1, len(datasets), 3.2)
    for ax, dataset in zip(axes[0], datasets, strict=True):
        for number, line in enumerate(lines):
            form, width = f"{MARKERS[number]}-C{number}", 1 + 1.1 * (len(lines) - 1 - number)
            for k in np.flatnonzero((table["data"] == dataset) & (table["line"] == line)):
                x, y = (table["traces"][k][measure] for measure in section.measures[:2])
                ax.plot(x, y, form, linewidth=width, markersize=width + 2, label=line)
                ax.plot(x[-1], y[-1], form, markersize=width + 4)
        if dataset in BEST:
            ax.plot(*BEST[dataset], "*", color="black", markersize=9, label="best possible")
        ax.axis(ax.axis())  # the isometrics do not change the limits
        for least in np.arange(-1, 1, 0.1):
            isometric = [least, least + 1]
            ax.plot([0, 1], isometric, "0.8", linewidth=0.8, zorder=0, label="both fall alike")
        ax.set(
            title=dataset,
            xlabel=MEASURES[section.measures[0]].title,
            ylabel=MEASURES[section.measures[1]].title,
        )
    common_legend(figure, axes[0, 0])
    return figure


def rdt_sequences(results: Results, section: Section) -> Figure:
    """Draw Figure 4 of the RDT-DCC paper: accuracy of the i-th decision, and positives so far.

    A column of each heat map per line, with all label tests active (σ = 1); uses the section's
    first data set.
    """
    table = results.table
    dataset = section_datasets(results, section)[0]
    lines = section.lines or list(table["line"].unique())
    names = {"right": "right decisions in an iteration", "positive": "positive labels up to it"}
    figure, axes = panels(1, 2, 4, 4)
    for ax, (name, title) in zip(axes[0], names.items(), strict=True):
        columns: list[np.ndarray] = []
        for line in lines:
            all_tests = table["params"].map(has_all_tests)
            rows = np.flatnonzero((table["data"] == dataset) & (table["line"] == line) & all_tests)
            details = [table["traces"][k][name] for k in rows]
            columns.append(np.mean(details, axis=0))
        image = ax.imshow(np.transpose(columns), aspect="auto")
        ax.set_xticks(range(len(lines)), lines, rotation=60, ha="right")
        ax.set_yticks(range(len(columns[0])), [str(k + 1) for k in range(len(columns[0]))])
        ax.set(title=f"{dataset}: {title}", ylabel="iteration")
        ax.grid(visible=False)
        figure.colorbar(image, ax=ax)
    return figure


FIGURES: dict[str, Callable[[Results, Section], Figure]] = {
    function.__name__: function
    for function in (
        xdcc_heat_maps,
        time_against_f1,
        gain_against_seconds,
        loss_plane,
        rdt_sequences,
    )
}
"""The functions by the names that a configuration's `draw` uses."""
