"""Tables of the report, as Markdown: our numbers with those of the papers."""

from functools import cache

import numpy as np
import pandas as pd

from experiments import PAPERS
from experiments.engine.configuration import Configuration, PublishedTable, Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.comparisons import ranks


@cache
def read_published(name: str) -> pd.DataFrame:
    """Read a paper's published numbers: `table` (str), `measure`, `dataset`, `method`, `value`."""
    return pd.read_csv(PAPERS / name / "published.csv", dtype={"table": str})


def published_scores(
    config: Configuration, table: PublishedTable, measure: str
) -> dict[tuple[str, str], float]:
    """Return published values of a metric by its name here: (our data set, our line) → value.

    The configuration maps our names of data sets and methods to those of the paper. Numbers that
    the paper does not have are left out.
    """
    values = _values(config, table, table.measures.get(measure, measure))
    found = {}
    for line, entry in config.methods.items():
        for dataset in config.datasets:
            theirs = config.published_datasets.get(dataset, dataset), entry.published
            if theirs in values:
                found[dataset, line] = values[theirs] * table.scale
    return found


def published_ranks(config: Configuration, table: PublishedTable, measure: str) -> dict[str, float]:
    """Return published average ranks: our line → rank."""
    values = _values(config, table, f"average_rank_{table.measures.get(measure, measure)}")
    by_method = {method: value for (_, method), value in values.items()}
    return {
        line: by_method[entry.published]
        for line, entry in config.methods.items()
        if entry.published in by_method
    }


def _values(
    config: Configuration, table: PublishedTable, measure: str
) -> dict[tuple[str, str | None], float]:
    rows = read_published(config.published or "")
    rows = rows[(rows["table"] == table.table) & (rows["measure"] == measure)]
    return {(r.dataset, r.method): float(r.value) for r in rows.itertuples()}


BETTER, WORSE = "▲", "▼"
"""Marks of differences from the published number above the tolerance."""


def section_scores(results: Results, section: Section, measure: str) -> pd.DataFrame:
    """Return the mean of a metric per data set (rows) and line (columns) of a section."""
    scores = results.scores(measure)
    if section.lines is not None:
        scores = scores.reindex(columns=section.lines)
    return scores.loc[section_datasets(results, section)]


def section_datasets(results: Results, section: Section) -> list[str]:
    """Return the data sets of a section that have results."""
    there = list(results.table["data"].unique())
    return there if section.datasets is None else [d for d in section.datasets if d in there]


def average_ranks(scores: pd.DataFrame, measure: str) -> tuple[pd.Series, int]:
    """Return the average rank of each line, and the number of data sets.

    Rank 1 is the best, and ties share the mean rank. Only data sets with all lines count.
    """
    complete = scores.dropna()
    ranked = ranks(complete, higher_is_better=MEASURES[measure].higher_is_better)
    return ranked.mean(), len(complete)


def scores_table(config: Configuration, results: Results, section: Section, measure: str) -> str:
    """Return a line per method and a column per data set: `ours (published) mark`.

    Our best number is bold. The last column is the average rank over the data sets that all
    lines have.
    """
    scores = section_scores(results, section, measure)
    kind = MEASURES[measure]
    published = {}
    if section.published is not None:
        published = published_scores(config, section.published, measure)
    average, n_datasets = average_ranks(scores, measure)
    best = scores.max(axis=1) if kind.higher_is_better else scores.min(axis=1)
    rows = []
    for line in scores.columns:
        cells = []
        for dataset in scores.index:
            ours = scores.loc[dataset, line]
            cell = _number(ours, kind.digits)
            if ours == best[dataset]:
                cell = f"**{cell}**"
            if (dataset, line) in published and section.published is not None:
                theirs = published[dataset, line]
                cell += f" ({_number(theirs, kind.digits)})"
                cell += _mark(ours - theirs, kind.higher_is_better, section.published.tolerance)
            cells.append(cell)
        rank = _number(average.get(line, np.nan), 2)
        rows.append([line, *cells, rank])
    head = [kind.title, *scores.index, f"rank ({count_datasets(n_datasets)})"]
    return markdown_table(head, rows)


def ranks_table(config: Configuration, results: Results, section: Section) -> str:
    """Return a line per method and a column per measure: `average rank (published)`."""
    columns, heads = {}, [""]
    for measure in section.measures:
        average, n_datasets = average_ranks(section_scores(results, section, measure), measure)
        theirs = {}
        if section.published is not None:
            theirs = published_ranks(config, section.published, measure)
        heads.append(f"{MEASURES[measure].title} ({count_datasets(n_datasets)})")
        columns[measure] = {
            line: _number(rank, 2) + (f" ({_number(theirs[line], 2)})" if line in theirs else "")
            for line, rank in average.items()
        }
    lines = list(section.lines or config.methods)
    rows = [[line, *(columns[m].get(line, "") for m in section.measures)] for line in lines]
    return markdown_table(heads, rows)


def shares_table(results: Results, section: Section, measure: str) -> str:
    """Return the mean of a metric for each of the section's cells, and the number of data sets.

    The data sets are those that all cells have.
    """
    scores = results.scores(measure).loc[section_datasets(results, section)]
    lines = [line for row in section.cells.values() for line in row if line]
    complete = scores.reindex(columns=list(dict.fromkeys(lines))).dropna()
    kind = MEASURES[measure]
    rows = [
        [title, *("" if line is None else _number(complete[line].mean(), kind.digits)
                  for line in row)]
        for title, row in section.cells.items()
    ]  # fmt: skip
    head = f"{kind.title}, mean over {count_datasets(len(complete))}"
    return markdown_table([head, *section.columns], rows)


def statistics_table(config: Configuration, results: Results, section: Section) -> str:
    """Return a line per data set and a column per metric of the first line: `ours (published)`."""
    scores = {m: section_scores(results, section, m).iloc[:, 0] for m in section.measures}
    published = {}
    if section.published is not None:
        published = {m: published_scores(config, section.published, m) for m in section.measures}
    rows = []
    for dataset in section_datasets(results, section):
        cells = []
        for measure, values in scores.items():
            digits = MEASURES[measure].digits
            theirs = [v for (name, _), v in published.get(measure, {}).items() if name == dataset]
            paper = f" ({_number(theirs[0], digits)})" if theirs else ""
            cells.append(f"{_number(values[dataset], digits)}{paper}")
        rows.append([dataset, *cells])
    return markdown_table(["", *(MEASURES[m].title for m in section.measures)], rows)


def ranked_over(results: Results, section: Section) -> list[str]:
    """Return a sentence that names the data sets of the ranks, if some lines are incomplete."""
    told: dict[str, list[str]] = {}
    for measure in section.measures:
        scores = section_scores(results, section, measure)
        complete = scores.dropna().index
        if len(complete) < len(scores):
            told.setdefault(", ".join(complete) or "none", []).append(MEASURES[measure].title)
    return [
        f"Ranks in {', '.join(titles)} are over the data sets that all lines have: {names}."
        for names, titles in told.items()
    ]


def count_datasets(number: int) -> str:
    """Return "1 data set", "2 data sets" and so on."""
    return f"{number} data set{'' if number == 1 else 's'}"


def markdown_table(head: list[str], rows: list[list[str]], n_left: int = 1) -> str:
    """Return a Markdown table; the first columns are left, the others right aligned."""
    lines = [head, ["---"] * n_left + ["---:"] * (len(head) - n_left), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in r)} |" for r in lines)


def _mark(difference: float, higher_is_better: bool, tolerance: float) -> str:
    if not abs(difference) > tolerance:  # NaN included
        return ""
    return f" {BETTER if (difference > 0) == higher_is_better else WORSE}"


def _number(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"
