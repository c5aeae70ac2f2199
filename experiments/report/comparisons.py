"""Comparisons of two methods: counts, effect with its interval, and a test.

Over data sets Wilcoxon's signed-rank test compares two methods, Friedman's and Nemenyi's their
average ranks (Friedman's tests whether all methods are equal; if not, Nemenyi's tests which pairs
differ); over the folds of one data set a t-test whose variance is corrected for training parts that
overlap; over the random divisions of several data sets a random-effects model of these differences,
so that divisions are not taken for data sets. With one test part, Fisher's exact test compares the
numbers of correct rows. Predictions are not kept, so rows cannot be paired (McNemar), and this test
is conservative. The p-values of several comparisons have Holm's correction.

J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine
Learning Research 7, 2006. C. Nadeau, Y. Bengio: Inference for the generalization error. Machine
Learning 52, 2003. R. C. Paule, J. Mandel: Consensus values and weighting factors. Journal of
Research of the National Bureau of Standards 87, 1982. J. Hartung, G. Knapp: A refined method for
the meta-analysis of controlled clinical trials with binary outcome. Statistics in Medicine 20,
2001. A Bayesian relative of that model for classifiers: G. Corani and others, Machine Learning 106,
2017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

LEVEL = 0.05
"""Significance level; the confidence of intervals is 1 minus this."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of two methods."""

    names: tuple[str, str]  # the method of interest, and the other
    place: str  # the data set; empty for all of them
    better: int  # number of data sets or folds
    equal: int
    worse: int
    effect: float  # how much better it is, and the ends of the interval; NaN if there is none
    low: float
    high: float
    p_value: float  # two-sided; NaN without a test
    ratio: bool = False  # whether the effect is a logarithm: times are compared by their ratio

    @property
    def side(self) -> int:
        """1 if the first is better, -1 if it is worse, 0 if the test finds no difference."""
        return int(np.sign(self.effect)) if self.p_value < LEVEL else 0


def holm(found: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of a family of comparisons (Holm's step-down procedure)."""
    tested = [k for k, one in enumerate(found) if not np.isnan(one.p_value)]
    corrected = list(found)
    least = 0.0
    for rank, k in enumerate(sorted(tested, key=lambda k: found[k].p_value)):
        least = max(least, min(1.0, (len(tested) - rank) * found[k].p_value))
        corrected[k] = replace(found[k], p_value=least)
    return corrected


def over_data_sets(names: tuple[str, str], ahead: pd.Series, *, ratio: bool = False) -> Comparison:
    """Compare two methods by Wilcoxon's signed-rank test.

    `ahead` is how much better the first is on each data set. Data sets on which both are equal are
    not part of the test. The effect is the median of the means of all pairs of differences (Hodges
    and Lehmann), with the interval that belongs to the test.
    """
    values = ahead.to_numpy(dtype=float).round(12)  # equal except for rounding
    p_value = _signed_rank_p_value(values[values != 0])
    sums = np.add.outer(values, values) / 2
    walsh = np.sort(sums[np.triu_indices(len(values))])
    cut = _signed_rank_quantile(len(values))
    low, high = (walsh[cut], walsh[-1 - cut]) if cut >= 0 else (-np.inf, np.inf)
    return Comparison(
        names, "", *_counts(values), float(np.median(walsh)), low, high, p_value, ratio
    )


def by_ranks(pairs: Sequence[tuple[str, str]], ranked: pd.DataFrame) -> list[Comparison]:
    """Compare average ranks by Nemenyi's test, if Friedman's finds any difference.

    The ranks have shape (n_data_sets, n_methods). The effect is the difference of the average
    ranks. If Friedman's test finds no difference, its p-value replaces smaller p-values of pairs.
    """
    p_values, overall = nemenyi_test(ranked), friedman_test(ranked).p_value
    length = critical_difference(ranked.shape[1], len(ranked), LEVEL)
    found = []
    for one, other in pairs:
        ahead = (ranked[other] - ranked[one]).to_numpy()
        mean = float(ahead.mean())
        p_value = max(float(p_values.loc[one, other]), overall if overall >= LEVEL else 0.0)
        found.append(
            Comparison(
                (one, other), "", *_counts(ahead), mean, mean - length, mean + length, p_value
            )
        )
    return found


def over_folds(
    names: tuple[str, str],
    place: str,
    ahead: np.ndarray,
    test_share: float,
    *,
    ratio: bool = False,
) -> Comparison:
    """Compare two methods on the folds of one data set.

    `ahead` is how much better the first is in each fold. There are `test_share` test rows per
    training row. Folds are not independent samples, so the variance of their mean is increased by
    that share.
    """
    values = np.asarray(ahead, dtype=float).round(12)
    number, mean = len(values), float(values.mean())
    if number < 2:
        return Comparison(names, place, *_counts(values), mean, np.nan, np.nan, np.nan, ratio)
    error = float(np.sqrt(values.var(ddof=1) * (1 / number + test_share)))
    quantile = stats.t.ppf(1 - LEVEL / 2, number - 1)
    if error > 0:
        p_value = float(2 * stats.t.sf(abs(mean) / error, number - 1))
    else:
        p_value = 1.0 if mean == 0 else 0.0
    reach = quantile * error
    return Comparison(
        names, place, *_counts(values), mean, mean - reach, mean + reach, p_value, ratio
    )


class Divisions(NamedTuple):
    """How much better a method is on the divisions of a data set."""

    ahead: np.ndarray  # of shape (n_divisions,)
    n_train: int
    n_test: int

    def variance(self) -> float:
        """Return the corrected variance of the mean, at least that of one test row in a division.

        Without the least value, a data set on which no division differs would decide alone.
        """
        values = np.asarray(self.ahead, dtype=float)
        one_row = 1 / self.n_test**2 / len(values)
        scale = 1 / len(values) + self.n_test / self.n_train
        return float(max(values.var(ddof=1), one_row) * scale)


def over_divisions(
    names: tuple[str, str], of_data: Mapping[str, Divisions], *, ratio: bool = False
) -> Comparison:
    """Compare two methods over data sets and random divisions of each.

    Each data set gives a mean difference with its corrected variance (`over_folds`). A
    random-effects model gives the mean over all data sets like these: Paule and Mandel's variance
    between data sets, the model's standard error, and Student's t (Hartung and Knapp). Without two
    data sets and two divisions of each there is no test.
    """
    means = np.array([np.mean(one.ahead) for one in of_data.values()]).round(12)
    if len(means) < 2 or min(len(one.ahead) for one in of_data.values()) < 2:
        middle = float(means.mean()) if len(means) else np.nan
        return Comparison(names, "", *_counts(means), middle, np.nan, np.nan, np.nan, ratio)
    variances = np.array([one.variance() for one in of_data.values()])
    with np.errstate(divide="ignore"):  # of its index of heterogeneity, if all means are equal
        model = combine_effects(means, variances, method_re="iterated")
    mean, error, freedom = float(model.mean_effect_re), float(model.sd_eff_w_re), len(means) - 1
    reach = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, freedom))
    return Comparison(names, "", *_counts(means), mean, mean - reach, mean + reach, p_value, ratio)


def of_rows(names: tuple[str, str], place: str, right: tuple[int, int], n_rows: int) -> Comparison:
    """Compare the numbers of correct rows of two methods on one test part, by Fisher's exact test.

    The effect is the difference of the shares, with Newcombe's interval.
    """
    table = [[count, n_rows - count] for count in right]
    (one, low_one, high_one), (other, low_other, high_other) = (
        (count / n_rows, *stats.binomtest(count, n_rows).proportion_ci(1 - LEVEL, "wilson"))
        for count in right
    )
    ahead = one - other
    low = ahead - float(np.hypot(one - low_one, high_other - other))
    high = ahead + float(np.hypot(high_one - one, other - low_other))
    p_value = float(stats.fisher_exact(table).pvalue)
    return Comparison(names, place, *_counts(np.array([ahead])), ahead, low, high, p_value)


def _counts(ahead: np.ndarray) -> tuple[int, int, int]:
    return int((ahead > 0).sum()), int((ahead == 0).sum()), int((ahead < 0).sum())


def _sums_of_ranks(ranks: np.ndarray) -> np.ndarray:
    """Return the probabilities that ranks with random signs sum up to at most 0, 1, 2 and so on."""
    distribution: np.ndarray = np.ones(1)
    for rank in ranks:
        distribution = np.convolve(distribution, [0.5, *[0.0] * (rank - 1), 0.5])
    return np.cumsum(distribution)


def _signed_rank_p_value(differences: np.ndarray) -> float:
    """Return the two-sided p-value; exact also with ties, whose ranks are multiples of 1/2."""
    doubled = np.rint(2 * stats.rankdata(np.abs(differences))).astype(int)
    positive, negative = doubled[differences > 0].sum(), doubled[differences < 0].sum()
    return float(min(1.0, 2 * _sums_of_ranks(doubled)[min(positive, negative)]))


def _signed_rank_quantile(number: int) -> int:
    """Return the number of means of pairs beyond each end of the interval; -1 if there is none."""
    at_most = _sums_of_ranks(np.arange(1, number + 1))
    return int(np.searchsorted(at_most, LEVEL / 2, side="right")) - 1


def intervals(scores: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return means of columns, and the half-widths of intervals for comparisons by eye.

    The intervals do not include differences between rows: each row's mean is subtracted first, and
    the variance is corrected for that (Cousineau and Morey). With one row or one column the
    half-width is NaN.

    R. D. Morey: Confidence intervals from normalized data: a correction to Cousineau (2005).
    Tutorials in Quantitative Methods for Psychology 4, 2008.
    """
    n_rows, n_columns = scores.shape
    middle = scores.mean()
    if n_rows < 2 or n_columns < 2:
        return middle, middle * np.nan
    own = scores.sub(scores.mean(axis=1), axis=0)
    error = own.std(ddof=1) * np.sqrt(n_columns / (n_columns - 1) / n_rows)
    return middle, error * float(stats.t.ppf(1 - LEVEL / 2, n_rows - 1))


class Friedman(NamedTuple):
    """Result of Friedman's test."""

    statistic: float  # chi-squared, corrected for ties
    p_value: float


def ranks(scores: pd.DataFrame, *, higher_is_better: bool) -> pd.DataFrame:
    """Rank the methods (columns) on each data set (rows): 1 is best, ties share their mean rank.

    Raises
    ------
    ValueError
        If a score is missing.
    """
    if scores.isna().any(axis=None):
        data, method = scores.isna().stack().idxmax()
        raise ValueError(f"The score of {method} on {data} is missing; ranks need all of them.")
    return scores.rank(axis=1, ascending=not higher_is_better, method="average")


def friedman_test(scores: pd.DataFrame) -> Friedman:
    """Test whether at least three methods are equal, by scores or ranks on data sets (rows)."""
    result = stats.friedmanchisquare(*(scores[method] for method in scores))
    return Friedman(float(result.statistic), float(result.pvalue))


def critical_difference(n_methods: int, n_data_sets: int, alpha: float = 0.05) -> float:
    """Compute the difference of average ranks from which Nemenyi's test finds methods different.

    It is q sqrt(k (k + 1) / 6 N), where q is the quantile of the studentised range divided by the
    square root of 2 (section 3.2.2 of the paper).
    """
    quantile = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


def nemenyi_test(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the p-values of all pairs of methods, ranked by :func:`ranks`."""
    n_data_sets, n_methods = ranked.shape
    mean = ranked.mean().to_numpy()
    scale = np.sqrt(n_methods * (n_methods + 1) / (12 * n_data_sets))
    apart = np.abs(np.subtract.outer(mean, mean)) / scale
    p_values = stats.studentized_range.sf(apart, n_methods, np.inf)
    return pd.DataFrame(p_values, ranked.columns, ranked.columns)
