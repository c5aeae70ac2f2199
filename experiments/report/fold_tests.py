"""A method beside each other one on every data set, by a paired t-test over its folds.

Folds share training rows, so the test finds differences too often (Bengio and Grandvalet, 2004); it
stands here because the papers use it. Claims are judged by `comparisons.over_folds`, which corrects
for that.
"""

import numpy as np
import pandas as pd

from experiments.engine.configuration import Section
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.comparisons import over_folds
from experiments.report.tables import markdown_table, section_datasets


def fold_tests(results: Results, section: Section, measure: str) -> str:
    """Return a table that compares the first line of a section with each of the others.

    A row for each says on how many data sets the first is better (a win), as good as the test can
    tell (a tie), and worse (a loss); and which the wins and losses are.
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
    """Return 1 where `one` is better, -1 where it is worse, 0 if the test cannot tell them apart.

    None where one of them has no results of the data set.
    """
    if measure not in table:
        return None
    chosen = table[(table["data"] == dataset) & table["line"].isin([one, other])]
    by_fold = chosen.pivot_table(index="fold", columns="line", values=measure).dropna()
    if by_fold.shape[1] < 2 or len(by_fold) < 2:
        return None
    ahead = (by_fold[one] - by_fold[other]).round(12)  # equal but for their last bit
    if not np.isfinite(ahead).all():
        return None
    if not MEASURES[measure].higher_is_better:
        ahead = -ahead
    return over_folds((one, other), dataset, ahead.to_numpy(), test_share=0.0).side
