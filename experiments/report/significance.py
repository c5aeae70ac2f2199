"""A section on significance: Friedman's test, Nemenyi's, and what both say as a diagram."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.comparisons import LEVEL
from experiments.report.plots import GREY, panels, style
from experiments.report.rank_statistics import critical_difference, friedman_test, ranks
from experiments.report.save import save
from experiments.report.tables import section_scores


def significance(results: Results, section: Section, measure: str, file: Path) -> list[str]:
    """Return a sentence with the tests, and the diagram where the methods differ.

    Its file is `file` with the measure's name and an ending.
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
    sentence = (
        f"{title}: Friedman's test over {len(scores)} data sets ({', '.join(scores.index)}) gives "
        f"χ² = {test.statistic:.2f}, p = {test.p_value:.2g}: the methods "
    )
    if test.p_value >= LEVEL:
        return [f"{sentence}do not differ significantly at {LEVEL}, so no pair is compared."]
    with style():
        figure = _diagram(ranked.mean().to_dict(), len(scores), title)
    caption = f"critical differences in {title}"
    return [
        f"{sentence}differ at {LEVEL}.",
        save(figure, file.with_name(f"{file.name}-{measure}"), caption),
    ]


def _diagram(average: dict[str, float], n_data_sets: int, title: str) -> Figure:
    """Draw a row per method, the best on top, with half the critical difference to each side.

    Nemenyi's test tells two methods apart where their bars do not overlap.
    """
    lines = sorted(average, key=lambda line: average[line])
    length = critical_difference(len(lines), n_data_sets, LEVEL)
    figure, axes = panels(1, 1, 1.2 + 0.24 * len(lines), 7.5)
    ax = axes[0, 0]
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
    return figure
