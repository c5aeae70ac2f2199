"""Verdicts: which test decides what, and what is said of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.engine.configuration import Claim
from experiments.engine.results import Results
from experiments.report.claims import judge

DATA = ["flags", "emotions", "birds", "scene", "yeast", "enron", "medical", "image"]
N_FOLDS = 10


def made(lines, measure="example_f1", n_folds=1, params=None):
    """Results of lines, each an array of a number per data set, or per data set and fold."""
    rows = [
        {"data": data, "line": line, "fold": fold, "seed": 0, measure: value,
         "params": (params or {}).get(line, {}), "train_rows": 900, "test_rows": 100}
        for line, values in lines.items()
        for data, of_data in zip(DATA, np.reshape(values, (-1, n_folds)), strict=False)
        for fold, value in enumerate(of_data)
    ]  # fmt: skip
    empty = pd.DataFrame(columns=["data"])
    return Results(pd.DataFrame(rows), empty, 0)


def claim(measure="example_f1", **keys):
    return Claim(text="it is so", measure=measure, **keys)


STEPS = np.linspace(0.01, 0.05, 8)
BASE = np.linspace(0.4, 0.7, 8)
OF_EIGHT = made({"A": BASE + 0.2, "B": BASE + 0.2 - STEPS, "C": BASE, "twin": BASE + 0.2})


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"order": ["A", "B"]}, "confirmed"),
        ({"order": ["B", "A"]}, "refuted"),
        ({"order": ["A", "twin"]}, "undecided"),
        ({"order": ["A", "B", "C"]}, "confirmed"),
        ({"order": ["A", "C", "B"]}, "refuted"),
        ({"order": ["A"], "first_of": ["B", "C", "twin"]}, "undecided"),
        ({"order": ["A", "B"], "datasets": ["flags", "birds", "scene"]}, "undecided"),
        ({"order": ["A"], "first_of": ["B", "C"], "by": "ranks"}, "undecided"),
        ({"order": ["C"], "first_of": ["A", "B"], "by": "ranks"}, "refuted"),
    ],
)
def test_over_data_sets(keys, word):
    verdict = judge(claim(**keys), OF_EIGHT)
    assert verdict.word == word
    assert verdict.text().startswith(f"**{word.capitalize()}**: it is so.")
    assert "data sets" in verdict.test


def test_what_is_said():
    verdict = judge(claim(order=["A"], first_of=["B", "twin"]), OF_EIGHT)
    assert verdict.text().splitlines() == [
        "**Undecided**: it is so. Wilcoxon's signed-rank test over 8 data sets, Holm over 2.",
        "",
        "| example-based F1: method | against | better (data sets) | equal | worse | "
        "better by (95 %) | p |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| A | B | 8 | 0 | 0 | +0.030 (+0.016 to +0.044) | 0.016 |",
        "| A | twin | 0 | 8 | 0 | +0.000 (+0.000 to +0.000) | 1 |",
    ]
    assert verdict.counts() == "better on 0, equal on 8, worse on 0 (against twin)"


def test_times_are_compared_by_their_ratio():
    seconds = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    results = made({"A": seconds, "B": 4 * seconds}, "train_time")
    verdict = judge(claim("train_time", order=["A", "B"]), results)
    assert verdict.word == "confirmed"
    assert "| 4.00× (4.00 to 4.00) |" in verdict.text()


def of_folds(*steps):
    noise = np.random.default_rng(0).normal(scale=0.005, size=(8, N_FOLDS))
    ahead = np.array(steps)[:, None] + noise * np.sign(np.array(steps))[:, None]
    return made({"A": 0.5 + ahead, "B": np.full((8, N_FOLDS), 0.5)}, n_folds=N_FOLDS)


@pytest.mark.parametrize(
    ("steps", "of", "word"),
    [
        ([0.1] * 8, "all", "confirmed"),
        ([0.1] * 7 + [0.0], "all", "undecided"),  # a tie is not better
        ([0.1] * 7 + [-0.1], "all", "refuted"),
        ([0.1] * 5 + [0.0] * 3, "most", "confirmed"),
        ([0.1] * 4 + [0.0] * 4, "most", "undecided"),  # half is not most
        ([0.1] * 4 + [-0.1] * 4, "most", "refuted"),
    ],
)
def test_over_folds(steps, of, word):
    verdict = judge(claim(order=["A", "B"], by="folds", of=of), of_folds(*steps))
    assert verdict.word == word
    assert verdict.test == "A paired t-test over the 10 test parts, corrected, Holm over 8"
    assert len(verdict.comparisons) == 8


@pytest.mark.parametrize(
    ("steps", "word"),
    [([0.1] * 8, "confirmed"), ([-0.1] * 8, "refuted"), ([0.1, -0.1] * 4, "undecided")],
)
def test_over_divisions_of_all_data_sets(steps, word):
    results = of_folds(*steps)
    verdict = judge(claim(order=["A", "B"], by="divisions"), results)
    assert verdict.word == word
    assert verdict.test == "A random-effects model over 8 data sets and 80 random divisions"
    assert verdict.comparisons[0].effect == pytest.approx(np.mean(steps), abs=0.003)
    # a division that a line does not have is left out, and so is a data set of one division
    table = results.table
    few = (table["data"] == "flags") & (table["fold"] > 0) & (table["line"] == "B")
    gone = (table["data"] == "yeast") & (table["fold"] == 3)
    some = judge(verdict.claim, replace(results, table=table[~(few | gone)]))
    assert some.test == "A random-effects model over 7 data sets and 69 random divisions"


def test_some_data_sets():
    verdict = judge(
        claim(order=["A", "B"], by="folds", datasets=["flags", "birds"]),
        of_folds(0.1, -0.1, 0.1, -0.1, 0, 0, 0, 0),
    )
    assert verdict.word == "confirmed"
    assert [one.place for one in verdict.comparisons] == ["flags", "birds"]


def test_one_test_part_is_compared_by_its_rows_or_not_at_all():
    for measure, values in (
        ("subset_accuracy", {"A": [0.8], "B": [0.4]}),
        ("subset_loss", {"A": [0.2], "B": [0.6]}),
    ):
        verdict = judge(claim(measure, order=["A", "B"], by="folds"), made(values, measure))
        assert verdict.word == "confirmed"
        assert verdict.test.startswith("Fisher's exact test of the test rows")
        assert verdict.comparisons[0].effect == pytest.approx(0.4)
    verdict = judge(claim(order=["A", "B"], by="folds"), made({"A": [0.8], "B": [0.4]}))
    assert verdict.word == "undecided"
    assert verdict.test == "One run each, which no test can compare"
    assert "| no test |" in verdict.text()


def test_along_a_parameter():
    table = {"A": BASE + STEPS, "B": BASE}
    results = made(table, params={"A": {"sigma": 1.0}, "B": {"sigma": 0.0}})
    results.table["line"] = "chain"
    keys = {"order": ["chain"], "along": "sigma"}
    assert judge(claim(**keys, values=[1.0, 0.0]), results).word == "confirmed"
    verdict = judge(claim(**keys, values=[0.0, 1.0]), results)
    assert verdict.word == "refuted"
    assert verdict.comparisons[0].names == ("chain, sigma 0.0", "chain, sigma 1.0")


def test_mean_rank_in_several_measures():
    results = made({"A": BASE, "B": BASE + 0.1})
    results.table["hamming_loss"] = [0.3] * 8 + [0.1] * 8
    verdict = judge(claim(order=["B", "A"], more_measures=["hamming_loss"]), results)
    assert verdict.word == "confirmed"
    assert verdict.measure() == "mean rank in 2 measures"
    assert verdict.comparisons[0].effect == 1
    # only data sets with all metrics count
    results.table.loc[results.table["data"] == "yeast", "hamming_loss"] = np.nan
    assert "over 7 data sets" in judge(verdict.claim, results).test


def test_without_results():
    verdict = judge(claim(order=["A", "D"]), OF_EIGHT)
    assert verdict.word == "undecided"
    assert verdict.text().endswith("Some of its methods have no results yet.")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"order": ["A"]}, "order needs two lines, or first_of, or along"),
        ({"order": ["A"], "along": "sigma"}, "give both along and values"),
        ({"order": ["A", "B"], "by": "ranks"}, "by: ranks needs three lines"),
        (
            {"order": ["A", "B"], "by": "folds", "more_measures": ["jaccard"]},
            "more_measures cannot be used",
        ),
        (
            {"order": ["A", "B"], "by": "divisions", "more_measures": ["jaccard"]},
            "more_measures cannot be used with by: divisions",
        ),
    ],
)
def test_claims_that_cannot_be_judged(keys, message):
    with pytest.raises(ValueError, match=message):
        claim(**keys)
