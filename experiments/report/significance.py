"""The section on significance: Friedman's test, Nemenyi's, and the critical-difference diagram.

After Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006.
"""

from pathlib import Path

import scikit_posthocs
from scipy import stats

from experiments.configuration import Section
from experiments.measures import MEASURES
from experiments.report.plots import panels, style
from experiments.report.save import save
from experiments.report.tables import average_ranks, section_scores
from experiments.results import Results

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
    statistic, p = stats.friedmanchisquare(*scores.to_numpy().T)
    sentence = (
        f"{title}: Friedman's test over {len(scores)} data sets gives χ² = {statistic:.2f}, "
        f"p = {p:.2g}: the methods {'differ' if p < LEVEL else 'do not differ significantly'} at "
        f"{LEVEL}."
    )
    ranks, _ = average_ranks(scores, measure)
    with style():
        figure, axes = panels(1, 1, 0.6 + 0.28 * len(ranks))
        scikit_posthocs.critical_difference_diagram(
            ranks, scikit_posthocs.posthoc_nemenyi_friedman(scores), ax=axes[0, 0]
        )
    caption = f"critical differences in {title}"
    return [sentence, save(figure, file.with_name(f"{file.name}-{measure}"), caption)]
