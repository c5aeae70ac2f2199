"""Tests of claims: confirmed, refuted or undecided, by the test that suits the claim.

A claim is confirmed if the test finds every comparison in its favour, refuted if it finds one
against it, and undecided otherwise. For a claim about most data sets, more than half must be in its
favour, or at least half against it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.engine.configuration import Claim
from experiments.engine.measures import MEASURES
from experiments.engine.results import Results, means_by
from experiments.report.comparisons import (
    Comparison,
    Divisions,
    by_ranks,
    holm,
    of_rows,
    over_data_sets,
    over_divisions,
    over_folds,
    ranks,
)
from experiments.report.tables import count_datasets, markdown_table

OF_ROWS = ("subset_accuracy", "subset_loss")
"""Metrics that count correct or wrong rows."""


@dataclass(frozen=True)
class Verdict:
    """The result of testing a claim."""

    claim: Claim
    word: str
    test: str  # the deciding test, without a full stop
    comparisons: list[Comparison]

    def measure(self) -> str:
        """Return the name of the metric."""
        names = self.claim.measures()
        if len(names) > 1:
            return f"mean rank in {len(names)} measures"
        return MEASURES[names[0]].title

    def counts(self) -> str:
        """Return on how many data sets the claim's comparisons are better, equal and worse."""
        found = self.comparisons
        if self.claim.by == "folds":
            sides = [int(np.sign(one.effect)) for one in found]
            pairs = "" if len({one.names for one in found}) == 1 else " of comparisons"
            better, equal, worse = (sides.count(side) for side in (1, 0, -1))
            return f"better on {better}, equal on {equal}, worse on {worse}{pairs}"
        least = min(found, key=lambda one: (one.better, -one.worse), default=None)
        if least is None:
            return ""
        versus = "" if len(found) == 1 else f" (against {least.names[1]})"
        return f"better on {least.better}, equal on {least.equal}, worse on {least.worse}{versus}"

    def text(self) -> str:
        """Return the part of the report: a sentence, and a table of the comparisons."""
        opening = f"**{self.word.capitalize()}**: {self.claim.text}."
        if not self.comparisons:
            return f"{opening} {self.test}."
        places = any(one.place for one in self.comparisons)
        unit = "folds" if places else "data sets"
        head = [f"{self.measure()}: method", *(["on"] if places else []), "against",
                f"better ({unit})", "equal", "worse", "better by (95 %)", "p"]  # fmt: skip
        rows = [
            [one.names[0], *([one.place] if places else []), one.names[1], str(one.better),
             str(one.equal), str(one.worse), effect(one, self.claim), p_value(one.p_value)]
            for one in self.comparisons
        ]  # fmt: skip
        return f"{opening} {self.test}.\n\n{markdown_table(head, rows, 3 if places else 2)}"


def p_value(value: float) -> str:
    """Return a p-value for a table."""
    if np.isnan(value):
        return "no test"
    return "< .0001" if value < 1e-4 else f"{value:.2g}"


def effect(one: Comparison, claim: Claim) -> str:
    """Return the effect of a comparison with its interval."""
    digits = MEASURES[claim.measure].digits
    if claim.by == "ranks" or len(claim.measures()) > 1:
        digits = 2
    values = np.array([one.effect, one.low, one.high])
    if one.ratio:
        middle, low, high = (f"{value:.2f}" for value in np.exp(values))
        middle += "×"
    else:
        middle, low, high = (f"{value + 0.0:+.{digits}f}" for value in values)
    return middle if np.isnan(values[1]) else f"{middle} ({low} to {high})"


def _rows(of_data: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of training and test rows of a data set's first part."""
    return {part: int(of_data[f"{part}_rows"].iloc[0]) for part in ("train", "test")}


def judge(claim: Claim, results: Results) -> Verdict:
    """Test a claim."""
    ways: dict[str, Callable[[Claim, pd.DataFrame, Results], tuple[list[Comparison], str]]] = {
        "data sets": _over_data_sets,
        "ranks": _by_ranks,
        "folds": _over_folds,
        "divisions": _over_divisions,
    }
    table = results.table
    if claim.along is not None:
        chosen = [params.get(claim.along) for params in table["params"]]
        table = table.assign(line=[
            f"{line}, {claim.along} {value}"
            for line, value in zip(table["line"], chosen, strict=True)
        ])  # fmt: skip
    if not set(claim.names()) <= set(table["line"]):
        return Verdict(claim, "undecided", "Some of its methods have no results yet", [])
    found, test = ways[claim.by](claim, table, results)
    return Verdict(claim, _word(claim, found), test, found)


def _word(claim: Claim, found: list[Comparison]) -> str:
    sides = [one.side for one in found]
    if claim.of == "most":
        confirmed, refuted = 2 * sides.count(1) > len(sides), 2 * sides.count(-1) >= len(sides)
    else:
        confirmed, refuted = min(sides, default=0) == 1, min(sides, default=0) == -1
    return "confirmed" if confirmed else "refuted" if refuted else "undecided"


def _means(claim: Claim, table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the mean per data set and line."""
    means = means_by("data", table, measure, sort=False)
    means = means.reindex(columns=claim.names())
    return means if claim.datasets is None else means.reindex(index=claim.datasets)


def _better(measure: str, values: pd.DataFrame) -> pd.DataFrame:
    """Return values for which larger is better; times are converted to their logarithms."""
    if measure == "train_time":
        values = np.log(values.clip(lower=1e-3))
    return values if MEASURES[measure].higher_is_better else -values


def _complete(claim: Claim, table: pd.DataFrame) -> pd.DataFrame:
    """Return the compared values (larger is better) on the data sets that all lines have.

    For several metrics this is the negative mean rank.
    """
    tables = [_better(m, _means(claim, table, m)) for m in claim.measures()]
    complete = pd.concat(tables, axis=1).dropna().index
    tables = [one.loc[complete] for one in tables]
    if len(tables) == 1:
        return tables[0]
    return -sum(ranks(one, higher_is_better=True) for one in tables) / len(tables)


def _over_data_sets(
    claim: Claim, table: pd.DataFrame, results: Results
) -> tuple[list[Comparison], str]:
    scores = _complete(claim, table)
    ratio = claim.measure == "train_time"
    pairs = claim.pairs()
    found = [
        over_data_sets((one, other), scores[one] - scores[other], ratio=ratio)
        for one, other in pairs
    ]
    corrected = f", Holm over {len(pairs)}" if len(pairs) > 1 else ""
    return holm(found), (
        f"Wilcoxon's signed-rank test over {count_datasets(len(scores))}{corrected}"
    )


def _by_ranks(claim: Claim, table: pd.DataFrame, results: Results) -> tuple[list[Comparison], str]:
    ranked = ranks(_complete(claim, table), higher_is_better=True)
    listed = ", ".join(f"{line} {rank:.2f}" for line, rank in ranked.mean().sort_values().items())
    return by_ranks(claim.pairs(), ranked), (
        f"Friedman's and Nemenyi's tests over {count_datasets(len(ranked))}; average ranks {listed}"
    )


def _over_folds(
    claim: Claim, table: pd.DataFrame, results: Results
) -> tuple[list[Comparison], str]:
    measure = claim.measure
    found, n_folds = [], 1
    for data in claim.datasets or list(table["data"].unique()):
        of_data = table[table["data"] == data]
        folds = means_by("fold", of_data, measure)
        if not set(claim.names()) <= set(folds.columns):
            continue
        folds = folds[claim.names()].dropna()
        rows = _rows(of_data)
        n_folds = max(n_folds, len(folds))
        for one, other in claim.pairs():
            better = _better(measure, folds)
            if len(folds) == 1 and measure in OF_ROWS:
                wrong = not MEASURES[measure].higher_is_better
                shares = better[[one, other]].iloc[0] + wrong
                right = tuple(round(share * rows["test"]) for share in shares)
                found.append(of_rows((one, other), data, right, rows["test"]))
            else:
                found.append(
                    over_folds(
                        (one, other),
                        data,
                        (better[one] - better[other]).to_numpy(),
                        rows["test"] / rows["train"],
                        ratio=measure == "train_time",
                    )
                )
    corrected = f", Holm over {len(found)}" if len(found) > 1 else ""
    if n_folds > 1:
        return holm(found), f"A paired t-test over the {n_folds} test parts, corrected{corrected}"
    if measure in OF_ROWS:
        return holm(found), f"Fisher's exact test of the test rows, not paired{corrected}"
    return found, "One run each, which no test can compare"


def _over_divisions(
    claim: Claim, table: pd.DataFrame, results: Results
) -> tuple[list[Comparison], str]:
    """Compare on the divisions that all lines have, data set by data set."""
    measure, ratio = claim.measure, claim.measure == "train_time"
    divided: dict[str, tuple[pd.DataFrame, dict[str, int]]] = {}
    for data in claim.datasets or list(table["data"].unique()):
        of_data = table[table["data"] == data]
        folds = means_by("fold", of_data, measure)
        folds = folds.reindex(columns=claim.names()).dropna()
        if len(folds) > 1:
            rows = _rows(of_data)
            divided[data] = _better(measure, folds), rows
    pairs = claim.pairs()
    found = [
        over_divisions(
            (one, other),
            {
                data: Divisions((folds[one] - folds[other]).to_numpy(), rows["train"], rows["test"])
                for data, (folds, rows) in divided.items()
            },
            ratio=ratio,
        )
        for one, other in pairs
    ]
    numbers = [len(folds) for folds, _ in divided.values()]
    corrected = f", Holm over {len(pairs)}" if len(pairs) > 1 else ""
    return holm(found), (
        f"A random-effects model over {count_datasets(len(divided))} and {sum(numbers)} random "
        f"divisions{corrected}"
    )
