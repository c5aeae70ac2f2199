"""Ranks and tests against Demšar's worked example (2006) and the published ranks of a paper."""

import numpy as np
import pandas as pd
import pytest

from experiments import PAPERS
from experiments.report.comparisons import (
    critical_difference,
    friedman_test,
    nemenyi_test,
    ranks,
)

# Table 6 there: AUC of C4.5 with four ways of tuning. The table prints .975 for the last two on
# the data set "voting", but ranks them 2 and 3.
METHODS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
AUC = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=METHODS,
)


def test_average_ranks() -> None:
    ranked = ranks(AUC, higher_is_better=True)
    np.testing.assert_allclose(ranked.mean(), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    np.testing.assert_array_equal(ranked.iloc[5], [1, 2.5, 4, 2.5])
    np.testing.assert_array_equal(ranks(-AUC, higher_is_better=False), ranked)


def test_friedman() -> None:
    # By hand: 12 * 14 / (4 * 5) * (sum of the squared average ranks - 4 * 25 / 4) = 9.28. Three
    # pairs of ties and one of four methods: 3 * (8 - 2) + (64 - 4) = 78 of 14 * (64 - 4) = 840.
    found = friedman_test(AUC)
    assert found.statistic * (1 - 78 / 840) == pytest.approx(9.28, abs=0.005)
    assert 0.01 < found.p_value < 0.05
    assert friedman_test(ranks(AUC, higher_is_better=True)).statistic == pytest.approx(
        found.statistic
    )


def test_critical_difference() -> None:
    # q is 2.569 at 0.05 and 2.291 at 0.10 for four methods (Table 5 there).
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=0.005)


def test_nemenyi_agrees_with_the_critical_difference() -> None:
    ranked = ranks(AUC, higher_is_better=True)
    p_values = nemenyi_test(ranked)
    mean = ranked.mean()
    for one in METHODS:
        for other in METHODS:
            apart = abs(mean[one] - mean[other])
            for alpha in (0.05, 0.10):
                significant = apart > critical_difference(4, 14, alpha)
                assert (p_values.loc[one, other] < alpha) == significant
    # As in the paper: at 0.10 the first differs from the second and the last, not from the third.
    assert (p_values["C4.5"] < 0.10).tolist() == [False, True, False, True]


def test_missing_score() -> None:
    scores = AUC.copy()
    scores.loc[3, "C4.5+m"] = np.nan
    with pytest.raises(ValueError, match=r"The score of C4\.5\+m on 3 is missing"):
        ranks(scores, higher_is_better=True)


def test_published_ranks() -> None:
    """The LaCovaC paper's tables have the average ranks of its Table 3."""
    table = pd.read_csv(PAPERS / "lacovac-2016" / "published.csv")
    for measure, better, expected in (
        ("subset_accuracy", True, {"LP": 2.42, "LaCovaC": 2.69, "BR": 6.80}),
        ("hamming_loss", False, {"CC": 1.69, "LaCovaC": 2.73, "LPBR": 6.57}),
    ):
        scores = table[table.measure == measure].pivot(
            index="dataset", columns="method", values="value"
        )
        average = ranks(scores, higher_is_better=better).mean()
        for method, rank in expected.items():
            assert average[method] == pytest.approx(rank, abs=0.01)
