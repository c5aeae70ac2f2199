"""Sections on significance: all methods against each other, and one against the others.

Friedman's test, Nemenyi's, and the critical-difference diagram; Wilcoxon's test with Holm's
correction.
"""

from pathlib import Path

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.plots import MANY, panels, style
from experiments.report.rank_statistics import (
    friedman_test,
    plot_critical_differences,
    ranks,
    wilcoxon_holm,
)
from experiments.report.save import save
from experiments.report.tables import markdown_table, section_scores

LEVEL = 0.05
"""Significance level."""


def critical_difference(results: Results, section: Section, measure: str, file: Path) -> list[str]:
    """Return a sentence with the tests, and the diagram.

    Parameters
    ----------
    results : Results
    section : Section
    measure : str
    file : Path
        Of the figure, without ending.

    Returns
    -------
    list of str
        Parts of the report.
    """
    scores = section_scores(results, section, measure).dropna()
    title = MEASURES[measure].title
    if len(scores) < 2 or scores.shape[1] < 3:
        return [
            f"{title}: Friedman's test needs three methods on two data sets; "
            f"there are {scores.shape[1]} on {len(scores)}."
        ]
    ranked = ranks(scores, higher_is_better=MEASURES[measure].higher_is_better)
    test = friedman_test(ranked)
    differ = "differ" if test.p_value < LEVEL else "do not differ significantly"
    sentence = (
        f"{title}: Friedman's test over {len(scores)} data sets gives χ² = {test.statistic:.2f}, "
        f"p = {test.p_value:.2g}: the methods {differ} at {LEVEL}."
    )
    with style():
        n_lines = scores.shape[1]
        figure, axes = panels(1, 1, 0.9 + 0.25 * n_lines, 9.0 if n_lines > MANY else 5.5)
        plot_critical_differences(ranked, axes[0, 0], alpha=LEVEL)
        axes[0, 0].grid(visible=False)
    caption = f"critical differences in {title}"
    return [sentence, save(figure, file.with_name(f"{file.name}-{measure}"), caption)]


def against_first(results: Results, section: Section, measure: str) -> str:
    """Return a table that compares the first method of a section with each of the others.

    Parameters
    ----------
    results : Results
    section : Section
    measure : str

    Returns
    -------
    str
        Part of the report.
    """
    scores = section_scores(results, section, measure).dropna()
    first = scores.columns[0]
    found = wilcoxon_holm(
        scores, first, higher_is_better=MEASURES[measure].higher_is_better
    ).sort_values("corrected", kind="stable")
    head = [f"{first}: {MEASURES[measure].title}", "better", "equal", "worse", "p", "p, Holm"]
    rows = [
        [str(other), *map(str, counts), f"{p_value:.2g}", f"{corrected:.2g}"]
        for other, *counts, p_value, corrected in found.itertuples()
    ]
    return markdown_table(head, rows)
