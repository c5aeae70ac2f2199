"""Sections on significance: critical differences, tests over folds, and BBC-CV.

Critical differences: Friedman's and Nemenyi's tests, and their diagram.

Tests over folds: a paired t-test of a method against each other method on every data set. Folds
share training rows, so the test finds differences too often (Bengio and Grandvalet, 2004); it is
here because the papers use it. Claims are judged by `comparisons.over_folds`, which corrects for
that.

BBC-CV: the best of all combinations of a method, without selection bias.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from experiments.engine.configuration import Configuration, Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results, means_by
from experiments.engine.traces import LABELS, WRONG
from experiments.report.comparisons import (
    LEVEL,
    critical_difference,
    friedman_test,
    over_folds,
    ranks,
)
from experiments.report.plots import GREY, panels, save, style
from experiments.report.tables import (
    markdown_table,
    published_scores,
    section_datasets,
    section_scores,
)
from xdcc.decision.bbc_cv import bbc_cv


def significance(
    results: Results, section: Section, file: Path, *, latex: bool = False
) -> list[str]:
    """Return a sentence with the tests of each metric, and the diagrams where methods differ.

    The diagrams are panels of one figure; `file` is its path without the ending. For `latex` it is
    a PDF, too.
    """
    parts = []
    ranked = {}
    for measure in section.measures:
        scores = section_scores(results, section, measure).dropna()
        title = MEASURES[measure].title
        if len(scores) < 2 or scores.shape[1] < 3:
            parts.append(
                f"{title}: Friedman's test needs three methods on two data sets; "
                f"there are {scores.shape[1]} on {len(scores)}."
            )
            continue
        of_measure = ranks(scores, higher_is_better=MEASURES[measure].higher_is_better)
        test = friedman_test(of_measure)
        sentence = (
            f"{title}: Friedman's test over {len(scores)} data sets ({', '.join(scores.index)}) "
            f"gives χ² = {test.statistic:.2f}, p = {test.p_value:.2g}: the methods "
        )
        if test.p_value < LEVEL:
            ranked[title] = of_measure
            parts.append(f"{sentence}differ at {LEVEL}.")
        else:
            parts.append(
                f"{sentence}do not differ significantly at {LEVEL}, so no pair is compared."
            )
    if ranked:
        with style():
            height = 1.2 + 0.24 * max(table.shape[1] for table in ranked.values())
            figure, axes = panels(len(ranked), 1, height, 7.5)
            for ax, (title, table) in zip(axes.flat, ranked.items(), strict=True):
                _diagram(ax, table.mean().to_dict(), len(table), title)
        title = f"critical differences in {', '.join(ranked)}"
        parts.append(save(figure, file, title, latex=latex))
    return parts


def _diagram(ax: Axes, average: dict[str, float], n_data_sets: int, title: str) -> None:
    """Draw a row per method, the best on top, with half the critical difference to each side.

    Nemenyi's test finds a difference between two methods if their bars do not overlap.
    """
    lines = sorted(average, key=lambda line: average[line])
    length = critical_difference(len(lines), n_data_sets, LEVEL)
    ax.axvspan(average[lines[0]] - length / 2, average[lines[0]] + length / 2, color="0.93")
    for row, line in enumerate(lines):
        apart = average[line] - average[lines[0]] > length
        ax.errorbar(
            average[line], row, xerr=length / 2, marker="o", markersize=5, linewidth=1.6,
            color=GREY if apart else "C0", capsize=2.5,
        )  # fmt: skip
    ax.plot([1, 1 + length], [-1.1, -1.1], color="black", linewidth=2.5, marker="|")
    ax.text(1, -1.35, f"critical difference {length:.2f} at {LEVEL:g}", va="bottom")
    ax.set_yticks(range(len(lines)), [f"{line}  {average[line]:.2f}" for line in lines])
    ax.set_ylim(len(lines) - 0.4, -2.3)
    ax.set_xticks(np.arange(1, len(lines) + 1))
    ax.set_xlabel(f"average rank in {title} over {n_data_sets} data sets (1 is best)")
    ax.grid(visible=False, axis="y")


def fold_tests(results: Results, section: Section, measure: str) -> str:
    """Return a table that compares the first line of a section with each of the others.

    Each row counts the data sets on which the first line is better (a win), not significantly
    different (a tie) and worse (a loss), and names the wins and losses.
    """
    lines = section.lines or list(results.table["line"].unique())
    datasets = section_datasets(results, section)
    rows = []
    for other in lines[1:]:
        found = {name: _better(results.table, name, lines[0], other, measure) for name in datasets}
        wins, ties, losses = ([n for n in datasets if found[n] == kind] for kind in (1, 0, -1))
        cells = ["/".join(map(str, map(len, (wins, ties, losses)))), ", ".join(wins) or "-"]
        rows.append([other, *cells, ", ".join(losses) or "-"])
    head = [f"{lines[0]}: {MEASURES[measure].title}", "win/tie/loss", "wins", "losses"]
    return markdown_table(head, rows)


def _better(table: pd.DataFrame, dataset: str, one: str, other: str, measure: str) -> int | None:
    """Return 1 if `one` is better, -1 if it is worse, 0 if the test finds no difference.

    None if one of them has no results on the data set.
    """
    if measure not in table:
        return None
    chosen = table[(table["data"] == dataset) & table["line"].isin([one, other])]
    by_fold = means_by("fold", chosen, measure).dropna()
    if by_fold.shape[1] < 2 or len(by_fold) < 2:
        return None
    ahead = (by_fold[one] - by_fold[other]).round(12)  # equal except for rounding
    if not np.isfinite(ahead).all():
        return None
    if not MEASURES[measure].higher_is_better:
        ahead = -ahead
    return over_folds((one, other), dataset, ahead.to_numpy(), test_share=0.0).side


SEED = 0
"""Seed of the bootstrap samples."""


def bbc_cv_table(config: Configuration, results: Results, section: Section) -> str:
    """Return a row per data set and line: estimates in percent, intervals, and what was chosen.

    The results are those of all combinations on the same folds, with `row_losses` and without
    tuning; a line's `tuned_for` is the loss of its choice. The section's metrics are losses:
    subset 0/1 loss or Hamming loss. A cell is `estimate, low to high (published)`: the mean over
    the bootstrap samples, and their 95 % interval.
    """
    published = {}
    if section.published is not None:
        published = {m: published_scores(config, section.published, m) for m in section.measures}
    rows = []
    for dataset in section_datasets(results, section):
        for line in section.lines or config.methods:
            chosen = (results.table["data"] == dataset) & (results.table["line"] == line)
            if not chosen.any():
                continue
            combinations, wrong = _wrong_labels(results.table[chosen])
            n_labels = results.table.loc[chosen, "traces"].iloc[0][LABELS][0]
            losses = {"subset_loss": (wrong > 0).astype(float), "hamming_loss": wrong / n_labels}
            objective = losses[config.methods[line].tuned_for or section.measures[0]]
            cells, best = [], 0
            for measure in section.measures:
                found = bbc_cv(objective, judged_by=losses[measure], random_state=SEED)
                best = found.best
                low, high = (100 * bound for bound in found.interval)
                theirs = published.get(measure, {}).get((dataset, line))
                paper = "" if theirs is None else f" ({100 * theirs:.2f})"
                cells.append(f"{100 * found.estimate:.2f}, {low:.2f} to {high:.2f}{paper}")
            rows.append([dataset, line, *cells, combinations[best]])
    heads = [f"{MEASURES[measure].title}, %" for measure in section.measures]
    return markdown_table(["data", "method", *heads, "chosen"], rows)


def _wrong_labels(table: pd.DataFrame) -> tuple[list[str], NDArray[np.int_]]:
    """Return the combinations, and the number of wrong labels of each row with each of them."""
    fixed = set.intersection(*(set(map(str, params.items())) for params in table["params"]))
    columns: dict[str, list[NDArray[np.int_]]] = {}
    for row in table.itertuples():
        varied = [f"{k} {v}" for k, v in row.params.items() if str((k, v)) not in fixed]
        name = ", ".join([*varied, str(row.rule)])
        columns.setdefault(name, []).append(row.traces[WRONG])
    return list(columns), np.column_stack([np.concatenate(parts) for parts in columns.values()])
