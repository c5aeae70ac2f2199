"""The figures of the papers that need a drawing of their own: names → functions."""

from collections.abc import Callable

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.plots import MARKERS, common_legend, panels, plain_logarithmic, stage_values
from experiments.report.tables import section_datasets, section_scores


def xdcc_heat_maps(results: Results, section: Section) -> Figure:
    """Draw Figure 3 of the XDCC paper: when positive and negative labels are decided.

    A column per data set; its left half shows which fraction of all positive decisions each round
    makes, its right half that of the negative ones. Uses the first line of the section.
    """
    line = (section.lines or list(results.table["line"].unique()))[0]
    datasets = section_datasets(results, section)
    figure, axes = plt.subplots(1, len(datasets), figsize=(1.1 * len(datasets) + 1, 3.6))
    image = None
    for ax, dataset in zip(np.atleast_1d(axes), datasets, strict=True):
        rows = np.flatnonzero((results.table["line"] == line) & (results.table["data"] == dataset))
        details = [results.records[k]["result"]["details"] for k in rows]
        length = min((len(d["positive"]) for d in details), default=0)
        if length:
            counts = np.mean(
                [[d[name][:length] for name in ("positive", "negative")] for d in details], axis=0
            )
            shares = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).T
            image = ax.imshow(shares, aspect="auto", vmin=0, vmax=1, cmap="viridis")
            ax.axvline(0.5, color="white", linewidth=1)
        ax.set_xticks([0, 1], ["+", "−"])
        ax.set_yticks(range(0, length, max(length // 5, 1)))
        ax.set_yticklabels([str(k + 1) for k in range(0, length, max(length // 5, 1))])
        ax.set_title(dataset, fontsize=8)
        ax.grid(visible=False)
    np.atleast_1d(axes)[0].set_ylabel("round")
    if image is not None:
        figure.colorbar(image, ax=axes, label="fraction of the decisions")
    return figure


def time_against_f1(results: Results, section: Section) -> Figure:
    """Draw Figure 4 of the XDCC paper: training time and F1 of a chain, relative to another line.

    A polygon per data set: its points are the rounds of the section's first line, divided by the
    values of the second line.
    """
    chain, other = (section.lines or list(results.table["line"].unique()))[:2]
    measure = section.measures[0]
    reference = section_scores(results, section, measure)[other]
    seconds = section_scores(results, section, "train_time")[other]
    figure, axes = panels(1, 1, 4)
    ax = axes[0, 0]
    number = 0
    for k in np.flatnonzero(results.table["line"] == chain):
        dataset, reading = results.table["data"][k], results.table["reading"][k]
        if dataset not in reference.index or np.isnan(reference[dataset]):
            continue
        y = np.array(stage_values(results.records[k], reading, "train_time")) / seconds[dataset]
        x = np.array(stage_values(results.records[k], reading, measure)) / reference[dataset]
        marker = MARKERS[number % len(MARKERS)]
        ax.plot(x, y, marker=marker, markersize=3, color=f"C{number % 10}", label=dataset)
        number += 1
    ax.axhline(1, color="0.4", linewidth=0.8)
    ax.axvline(1, color="0.4", linewidth=0.8)
    ax.set(
        yscale="log",
        xlabel=f"{MEASURES[measure].title}: {chain} / {other}",
        ylabel=f"training time: {chain} / {other}",
    )
    plain_logarithmic(ax.yaxis)
    common_legend(figure, ax)
    return figure


def loss_plane(results: Results, section: Section) -> Figure:
    """Draw Figure 1 of the BOOMER paper: one loss against another as stages are added.

    A panel per data set, a curve per line; the section's measures are the axes.
    """
    table = results.table
    datasets = section_datasets(results, section)
    lines = section.lines or list(table["line"].unique())
    figure, axes = panels(1, len(datasets), 3.3)
    for ax, dataset in zip(axes[0], datasets, strict=True):
        for number, line in enumerate(lines):
            for k in np.flatnonzero((table["data"] == dataset) & (table["line"] == line)):
                x, y = (
                    stage_values(results.records[k], table["reading"][k], m)
                    for m in section.measures[:2]
                )
                ax.plot(x, y, color=f"C{number}", label=line, linewidth=1.2)
                ax.plot(x[-1], y[-1], color=f"C{number}", marker=MARKERS[number], markersize=5)
        ax.set(
            title=dataset,
            xlabel=MEASURES[section.measures[0]].title,
            ylabel=MEASURES[section.measures[1]].title,
        )
    common_legend(figure, axes[0, 0])
    return figure


def rdt_sequences(results: Results, section: Section) -> Figure:
    """Draw Figure 4 of the RDT-DCC paper: how right the i-th decision is, and positives so far.

    A column of each heat map per line, with all label tests active (σ = 1); uses the section's
    first data set.
    """
    table = results.table
    dataset = section_datasets(results, section)[0]
    lines = section.lines or list(table["line"].unique())
    names = {
        "right": "right decisions in an iteration",
        "positive": "positive labels up to it",
    }
    figure, axes = panels(1, 2, 4)
    for ax, (name, title) in zip(axes[0], names.items(), strict=True):
        columns: list[np.ndarray] = []
        for line in lines:
            all_tests = np.array([params.get("sigma", 1) == 1 for params in table["params"]])
            rows = np.flatnonzero((table["data"] == dataset) & (table["line"] == line) & all_tests)
            details = [results.records[k]["result"]["details"][name] for k in rows]
            columns.append(np.mean(details, axis=0))
        image = ax.imshow(np.transpose(columns), aspect="auto", cmap="viridis")
        ax.set_xticks(range(len(lines)), lines, rotation=60, ha="right")
        ax.set_yticks(range(len(columns[0])), [str(k + 1) for k in range(len(columns[0]))])
        ax.set(title=f"{dataset}: {title}", ylabel="iteration")
        ax.grid(visible=False)
        figure.colorbar(image, ax=ax)
    return figure


FIGURES: dict[str, Callable[[Results, Section], Figure]] = {
    function.__name__: function
    for function in (xdcc_heat_maps, time_against_f1, loss_plane, rdt_sequences)
}
"""Name, as a configuration's `draw` gives it → function."""
