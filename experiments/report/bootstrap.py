"""Sections on BBC-CV: what is best of all combinations of a method, judged without bias."""

import numpy as np
from numpy.typing import NDArray

from experiments.engine.configuration import Configuration, Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.engine.task import unpack_counts
from experiments.report.published import published_scores
from experiments.report.tables import markdown_table, section_datasets
from xdcc.decision.bbc_cv import bbc_cv

SEED = 0
"""Of the bootstrap samples."""


def bbc_cv_table(config: Configuration, results: Results, section: Section) -> str:
    """Return a row per data set and line: estimates in percent, intervals, and what was chosen.

    The results are those of all combinations on the same folds, with `row_losses` and without
    tuning; a line's `tuned_for` says which loss is chosen by. The section's measures are losses:
    subset 0/1 loss or Hamming loss. A cell is `estimate, low to high (published)`: the mean over
    the bootstrap samples, and where 95 % of them lie.
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
            combinations, wrong = _wrong_labels(results, np.flatnonzero(chosen))
            n_labels = results.records[np.flatnonzero(chosen)[0]]["result"]["n_labels"]
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


def _wrong_labels(results: Results, places: NDArray[np.intp]) -> tuple[list[str], NDArray[np.int_]]:
    """Return the combinations, and for each row of the data and each of them the wrong labels."""
    table = results.table.iloc[places]
    fixed = set.intersection(*(set(map(str, params.items())) for params in table["params"]))
    columns: dict[str, list[NDArray[np.int_]]] = {}
    for place, row in zip(places, table.itertuples(), strict=True):
        varied = [f"{k} {v}" for k, v in row.params.items() if str((k, v)) not in fixed]
        name = ", ".join([*varied, str(row.reading)])
        record = results.records[place]["result"]["readings"][row.reading]
        columns.setdefault(name, []).append(unpack_counts(record["wrong"]))
    return list(columns), np.column_stack([np.concatenate(parts) for parts in columns.values()])
