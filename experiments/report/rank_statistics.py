"""Comparison of methods over data sets by ranks (Demšar 2006).

Friedman's test asks whether all methods are alike; if not, Nemenyi's test says which pairs differ.

J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine
Learning Research 7, 2006.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats


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
    """Test whether methods are alike, at least three, by scores or ranks on data sets (rows)."""
    result = stats.friedmanchisquare(*(scores[method] for method in scores))
    return Friedman(float(result.statistic), float(result.pvalue))


def critical_difference(n_methods: int, n_data_sets: int, alpha: float = 0.05) -> float:
    """Compute how far average ranks must be apart for Nemenyi's test to call methods different.

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
