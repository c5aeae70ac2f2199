"""Whether a claim of a paper holds here: a sentence with the numbers that decide it.

The sentence is computed; what it says changes with the records.
"""

from dataclasses import dataclass

import pandas as pd

from experiments.configuration import Claim
from experiments.measures import MEASURES
from experiments.report.tables import average_ranks, count_datasets
from experiments.results import Results


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
    scores = results.scores(claim.measure).reindex(columns=claim.lines())
    if claim.datasets is not None:
        scores = scores.reindex(index=claim.datasets)
    scores = scores.dropna()
    if scores.empty:
        return Verdict(None, f"Open: {claim.text}. No data set has results of all its methods yet.")
    if claim.by == "wins":
        holds, evidence = _wins(claim, scores)
    else:
        holds, evidence = _places(claim, scores)
    verdict = "Confirmed" if holds else "Refuted"
    over = count_datasets(len(scores))
    return Verdict(holds, f"**{verdict}** here: {claim.text}. {evidence} ({over}).")


def _places(claim: Claim, scores: pd.DataFrame) -> tuple[bool, str]:
    measure = MEASURES[claim.measure]
    if claim.by == "rank":
        values, digits, lower_is_better = average_ranks(scores, claim.measure)[0], 2, True
    else:
        values, digits = scores.mean(), measure.digits
        lower_is_better = not measure.higher_is_better
    keys = values if lower_is_better else -values
    if claim.first_of is None:
        pairs = list(zip(claim.order, claim.order[1:], strict=False))
    else:
        pairs = [(claim.order[0], other) for other in claim.first_of if other != claim.order[0]]
    holds = all(bool(keys[better] < keys[worse]) for better, worse in pairs)
    listed = ", ".join(f"{line} {values[line]:.{digits}f}" for line in keys.sort_values().index)
    name = "Average rank" if claim.by == "rank" else "Mean"
    return holds, f"{name} in {measure.title}: {listed}"


def _wins(claim: Claim, scores: pd.DataFrame) -> tuple[bool, str]:
    measure = MEASURES[claim.measure]
    keys = -scores if measure.higher_is_better else scores
    shares, parts = [], []
    for better, worse in zip(claim.order, claim.order[1:], strict=False):
        wins = (keys[better] <= keys[worse]).sum()
        shares.append(wins / len(keys))
        parts.append(f"{better} is at least as good as {worse} on {wins} of {len(keys)}")
    return bool(min(shares) >= claim.wins), f"In {measure.title} {', and '.join(parts)}"
