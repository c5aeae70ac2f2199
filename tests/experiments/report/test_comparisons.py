"""Comparisons of methods: each test against other implementations, by hand, and Demšar's example.

Ranks and tests are held against his worked example (2006) and the published ranks of a paper.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments import PAPERS
from experiments.report.comparisons import (
    Comparison,
    Divisions,
    by_ranks,
    critical_difference,
    friedman_test,
    holm,
    intervals,
    nemenyi_test,
    of_rows,
    over_data_sets,
    over_divisions,
    over_folds,
    ranks,
)

NAMES = ("this", "other")
BY_RANK = pd.DataFrame({"a": [1.0] * 12, "b": [2.0] * 12, "c": [3.0] * 12, "d": [4.0] * 12})


def signed_rank(*differences):
    return over_data_sets(NAMES, pd.Series(differences, dtype=float))


def with_p(p_value):
    return Comparison(NAMES, "", 0, 0, 0, 1.0, 0.0, 2.0, p_value)


def test_ties_are_ties() -> None:
    found = signed_rank(0, 0, 0, 0)
    assert (found.better, found.equal, found.worse) == (0, 4, 0)
    assert found.p_value == 1
    assert found.side == 0
    found = signed_rank(0.01, 0.02, 0.0, 0.04, -0.03)
    assert (found.better, found.equal, found.worse) == (3, 1, 1)


def test_all_signs_alike() -> None:
    assert signed_rank(1, 2, 3, 4).p_value == 2 / 2**4
    found = signed_rank(*range(1, 7))
    assert found.p_value == 2 / 2**6
    assert found.side == 1
    assert signed_rank(*range(-6, 0)).side == -1


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_signed_rank_test_is_that_of_scipy(differences) -> None:
    """SciPy tries all signs, ties included."""
    nonzero = [value for value in differences if value]
    expected = 1.0
    if len(nonzero) > 1:  # SciPy wants two
        expected = stats.wilcoxon(nonzero, method=stats.PermutationMethod()).pvalue
    assert signed_rank(*differences).p_value == pytest.approx(min(expected, 1))


def test_interval_of_the_signed_rank_test() -> None:
    """As R's wilcox.test(x, conf.int = TRUE) has it for ten differences: 8 of 55 are left out."""
    values = np.array([0.8, 1.4, -0.3, 2.1, 0.9, 1.7, 0.2, 1.1, -0.6, 1.3])
    found = signed_rank(*values)
    walsh = sorted((a + b) / 2 for k, a in enumerate(values) for b in values[k:])
    assert (found.effect, found.low, found.high) == pytest.approx((walsh[27], walsh[8], walsh[-9]))
    assert signed_rank(1, 2, 3).low == -np.inf, "three data sets reach no such confidence"


def test_holm_by_hand() -> None:
    """.01 · 5, .011 · 4 raised to that, .03 · 3, .04 · 2 raised to that, .5."""
    p_values = [0.01, 0.04, 0.03, 0.5, 0.011]
    corrected = [one.p_value for one in holm([with_p(p) for p in p_values])]
    assert corrected == pytest.approx([0.05, 0.09, 0.09, 0.5, 0.05])
    alone, untested = holm([with_p(0.04), with_p(np.nan)])
    assert (alone.p_value, untested.side) == (0.04, 0)


def test_folds_by_hand() -> None:
    """Nadeau and Bengio: with tenths to test on the variance is that of 1/10 + 1/9."""
    ahead = np.array([0.02, 0.03, 0.01, 0.04, 0.02, 0.03, 0.02, 0.01, 0.05, 0.03])
    found = over_folds(NAMES, "flags", ahead, 1 / 9)
    error = np.sqrt(ahead.var(ddof=1) * (1 / 10 + 1 / 9))
    assert found.p_value == pytest.approx(2 * stats.t.sf(ahead.mean() / error, 9))
    assert found.high - found.effect == pytest.approx(stats.t.ppf(0.975, 9) * error)
    independent = over_folds(NAMES, "flags", ahead, 0.0)
    assert independent.p_value == pytest.approx(stats.ttest_1samp(ahead, 0).pvalue)
    assert found.p_value > independent.p_value


def test_folds_that_do_not_differ() -> None:
    assert over_folds(NAMES, "cal500", np.zeros(10), 1 / 9).p_value == 1
    assert over_folds(NAMES, "cal500", np.ones(10), 1 / 9).p_value == 0
    assert np.isnan(over_folds(NAMES, "cal500", np.ones(1), 1 / 9).p_value), "one run"


def test_rows_of_one_test_part() -> None:
    found = of_rows(NAMES, "yeast", (148, 208), 917)
    assert found.side == -1
    assert found.p_value == pytest.approx(stats.fisher_exact([[148, 769], [208, 709]]).pvalue)
    # Newcombe 1998, Table II: 56/70 and 48/80 differ by .0524 to .3339
    p, q = 56 / 70, 48 / 80
    wilson = [stats.binomtest(*n).proportion_ci(0.95, "wilson") for n in ((56, 70), (48, 80))]
    low = p - q - np.hypot(p - wilson[0].low, wilson[1].high - q)
    assert low == pytest.approx(0.0524, abs=5e-5)
    assert of_rows(NAMES, "yeast", (70, 70), 70).low == pytest.approx(-of_rows(
        NAMES, "yeast", (70, 70), 70).high)  # fmt: skip


def test_average_ranks() -> None:
    first, last = by_ranks([("a", "d"), ("b", "a")], BY_RANK)
    length = critical_difference(4, 12)
    assert (first.effect, first.low, first.high) == (3, 3 - length, 3 + length)
    assert (first.side, last.side) == (1, 0)


def test_pairs_are_not_told_apart_where_friedman_finds_nothing() -> None:
    scores = pd.DataFrame(np.random.default_rng(2).normal(size=(30, 3)), columns=list("abc"))
    ranked = ranks(scores, higher_is_better=True)
    assert all(one.side == 0 for one in by_ranks([("a", "b"), ("a", "c")], ranked))


def test_intervals_take_off_what_rows_have_in_common() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.01, size=(20, 3))
    hard = rng.normal(scale=10, size=(20, 1))
    alone = intervals(pd.DataFrame(noise))
    together = intervals(pd.DataFrame(noise + hard))
    pd.testing.assert_series_equal(alone[1], together[1])
    assert 0.003 < together[1].mean() < 0.007
    assert intervals(pd.DataFrame([[1.0, 2.0]]))[1].isna().all()


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


def test_average_ranks_of_the_example() -> None:
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


def divisions(*means, spread=0.01, number=10):
    """Differences around each mean, of the same variance; twice as many training as test rows."""
    noise = spread * np.where(np.arange(number) % 2, 1.0, -1.0)
    return {str(k): Divisions(mean + noise, 200, 100) for k, mean in enumerate(means)}


def test_data_sets_that_differ_more_than_divisions_are_the_sample() -> None:
    """With equal variances within, the t-test of the means of data sets."""
    means = [0.02, 0.05, 0.09, -0.01, 0.04]
    found = over_divisions(NAMES, divisions(*means))
    expected = stats.ttest_1samp(means, 0)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-4)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-4)
    assert (found.better, found.equal, found.worse) == (4, 0, 1)


def test_data_sets_that_are_alike_have_the_error_of_their_divisions() -> None:
    """Nadeau and Bengio's variance, weighted by its inverse; t with 2 degrees of freedom."""
    alike = divisions(0.02, 0.02, 0.02)
    alike["2"] = Divisions(alike["2"].ahead, 100, 100)
    variance = alike["0"].ahead.var(ddof=1)
    weights = 1 / (variance * np.array([0.1 + 0.5, 0.1 + 0.5, 0.1 + 1.0]))
    error = weights.sum() ** -0.5
    found = over_divisions(NAMES, alike)
    assert found.effect == pytest.approx(0.02)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.02 / error, 2))
    assert found.high - found.effect == pytest.approx(stats.t.ppf(0.975, 2) * error)


def test_a_data_set_without_differences_does_not_decide_alone() -> None:
    of_data = divisions(0.03, 0.05, 0.04) | {"same": Divisions(np.zeros(10), 200, 100)}
    found = over_divisions(NAMES, of_data)
    assert 0.01 < found.effect < 0.05
    assert found.equal == 1
    same = {name: Divisions(np.zeros(10), 200, 100) for name in "abc"}
    assert over_divisions(NAMES, same).p_value == 1


def test_one_data_set_or_one_division_is_no_test() -> None:
    for of_data in (divisions(0.1), divisions(0.1, 0.2, spread=0, number=1)):
        found = over_divisions(NAMES, of_data)
        assert np.isnan(found.p_value)
        assert found.effect == pytest.approx(
            np.mean([one.ahead.mean() for one in of_data.values()])
        )
        assert found.side == 0
    assert np.isnan(over_divisions(NAMES, {}).effect)
