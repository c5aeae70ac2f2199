"""Whether a claim of a paper holds here: a sentence with the numbers that decide it.

The sentence is computed; what it says changes with the records.
"""

from dataclasses import dataclass

import pandas as pd

from experiments.engine.configuration import Claim
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results
from experiments.report.tables import average_ranks, count_datasets


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim.

    Attributes
    ----------
    holds : bool or None
        None where it cannot be decided.
    sentence : str
    """

    holds: bool | None
    sentence: str


def judge(claim: Claim, results: Results) -> Verdict:
    """Decide a claim.

    Parameters
    ----------
    claim : Claim
    results : Results

    Returns
    -------
    Verdict
    """
    tables = _scores(claim, results)
    scores = tables[0]
    if scores.empty:
        return Verdict(None, f"Open: {claim.text}. No data set has results of all its methods yet.")
    if claim.by == "wins":
        holds, evidence = _wins(claim, scores)
    elif claim.by == "mean":
        kind = MEASURES[claim.measure]
        holds, evidence = _places(
            claim, scores.mean(), kind.digits, higher_is_better=kind.higher_is_better
        )
        evidence = f"Mean in {kind.title}: {evidence}"
    else:
        measures = claim.measures()
        pairs = zip(tables, measures, strict=True)
        ranks = [average_ranks(table, measure)[0] for table, measure in pairs]
        holds, evidence = _places(claim, sum(ranks) / len(ranks), 2, higher_is_better=False)
        titles = " and ".join(MEASURES[m].title for m in measures)
        evidence = f"Average rank in {titles}: {evidence}"
    verdict = "Confirmed" if holds else "Refuted"
    over = count_datasets(len(scores))
    return Verdict(holds, f"**{verdict}** here: {claim.text}. {evidence} ({over}).")


def _scores(claim: Claim, results: Results) -> list[pd.DataFrame]:
    """Return a table per measure, of the data sets that have all lines in all measures."""
    tables = [results.scores(m).reindex(columns=claim.lines()) for m in claim.measures()]
    if claim.datasets is not None:
        tables = [table.reindex(index=claim.datasets) for table in tables]
    complete = pd.concat(tables, axis=1).dropna().index
    return [table.loc[complete] for table in tables]


def _places(
    claim: Claim, values: pd.Series, digits: int, *, higher_is_better: bool
) -> tuple[bool, str]:
    keys = -values if higher_is_better else values
    if claim.first_of is None:
        pairs = list(zip(claim.order, claim.order[1:], strict=False))
    else:
        pairs = [(claim.order[0], other) for other in claim.first_of if other != claim.order[0]]
    holds = all(bool(keys[better] < keys[worse]) for better, worse in pairs)
    listed = ", ".join(f"{line} {values[line]:.{digits}f}" for line in keys.sort_values().index)
    return holds, listed


def _wins(claim: Claim, scores: pd.DataFrame) -> tuple[bool, str]:
    measure = MEASURES[claim.measure]
    keys = -scores if measure.higher_is_better else scores
    shares, parts = [], []
    for better, worse in zip(claim.order, claim.order[1:], strict=False):
        wins = (keys[better] <= keys[worse]).sum()
        shares.append(wins / len(keys))
        parts.append(f"{better} is at least as good as {worse} on {wins} of {len(keys)}")
    return bool(min(shares) >= claim.wins), f"In {measure.title} {', and '.join(parts)}"
