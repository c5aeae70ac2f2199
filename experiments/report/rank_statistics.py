"""Comparison of methods over data sets by ranks (Demšar 2006).

Friedman's test asks whether all methods are alike; if not, Nemenyi's test says which pairs differ,
and a critical-difference diagram shows both. Where one method is compared with each of the others,
Wilcoxon's signed-rank test with Holm's correction says more. The tests and the diagram are those of
SciPy, statsmodels and scikit-posthocs.

J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine
Learning Research 7, 2006.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
import scikit_posthocs
from matplotlib.axes import Axes
from scipy import stats
from statsmodels.stats.multitest import multipletests


class Friedman(NamedTuple):
    """Result of Friedman's test.

    Attributes
    ----------
    statistic : float
        Chi-squared, corrected for ties.
    p_value : float
    """

    statistic: float
    p_value: float


def ranks(scores: pd.DataFrame, *, higher_is_better: bool) -> pd.DataFrame:
    """Rank the methods on each data set.

    Parameters
    ----------
    scores : DataFrame of shape (n_data_sets, n_methods)
        A measure of every method on every data set.
    higher_is_better : bool
        Whether the largest score gets rank 1; else the smallest.

    Returns
    -------
    DataFrame of shape (n_data_sets, n_methods)
        1 is best; tied methods share the mean of their ranks.

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
    """Test whether all methods are alike.

    Parameters
    ----------
    scores : DataFrame of shape (n_data_sets, n_methods)
        A measure of every method on every data set, or its ranks; at least three methods.

    Returns
    -------
    Friedman
    """
    result = stats.friedmanchisquare(*(scores[method] for method in scores))
    return Friedman(float(result.statistic), float(result.pvalue))


def critical_difference(n_methods: int, n_data_sets: int, alpha: float = 0.05) -> float:
    """Compute how far average ranks must be apart for Nemenyi's test to call methods different.

    Parameters
    ----------
    n_methods, n_data_sets : int
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    float
        q sqrt(k (k + 1) / 6 N), where q is the quantile of the studentised range divided by the
        square root of 2 (section 3.2.2 of the paper).
    """
    quantile = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


def nemenyi_test(ranked: pd.DataFrame) -> pd.DataFrame:
    """Compare all pairs of methods.

    Parameters
    ----------
    ranked : DataFrame of shape (n_data_sets, n_methods)
        From :func:`ranks`.

    Returns
    -------
    DataFrame of shape (n_methods, n_methods)
        p-values.
    """
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(ranked.to_numpy())
    return pd.DataFrame(p_values.to_numpy(), ranked.columns, ranked.columns)


def wilcoxon_holm(scores: pd.DataFrame, method: str, *, higher_is_better: bool) -> pd.DataFrame:
    """Compare a method with each of the others.

    Parameters
    ----------
    scores : DataFrame of shape (n_data_sets, n_methods)
        A measure of every method on every data set.
    method : str
        The one that is compared.
    higher_is_better : bool
        Whether a larger score is better.

    Returns
    -------
    DataFrame of shape (n_methods - 1, 5)
        For each other method: on how many data sets `method` is "better", "equal" and "worse"; the
        "p_value" of Wilcoxon's signed-rank test, two-sided, without the data sets where both are
        equal; and that after Holm's correction for so many tests, "corrected".
    """
    others = scores.drop(columns=method)
    ahead = others.rsub(scores[method], axis=0) * (1 if higher_is_better else -1)
    ahead = ahead.round(12)  # differences that are equal but for their last bit
    differ = [ahead[other][ahead[other] != 0] for other in others]
    p_values = [float(stats.wilcoxon(found).pvalue) if len(found) else 1.0 for found in differ]
    table = pd.DataFrame(
        {
            "better": (ahead > 0).sum(),
            "equal": (ahead == 0).sum(),
            "worse": (ahead < 0).sum(),
            "p_value": pd.Series(p_values, others.columns),
        }
    )
    return table.assign(corrected=multipletests(p_values, method="holm")[1])


def plot_critical_differences(ranked: pd.DataFrame, axes: Axes, alpha: float = 0.05) -> None:
    """Draw a critical-difference diagram.

    Methods stand at their average ranks, the best on the left; a bar joins those that Nemenyi's
    test does not tell apart.

    Parameters
    ----------
    ranked : DataFrame of shape (n_data_sets, n_methods)
        From :func:`ranks`.
    axes : matplotlib axes
        Where to draw.
    alpha : float, default=0.05
        Significance level.
    """
    n_data_sets, n_methods = ranked.shape
    diagram = scikit_posthocs.critical_difference_diagram(
        ranked.mean(),
        nemenyi_test(ranked),
        ax=axes,
        alpha=alpha,
        label_fmt_left="{label}  {rank:.2f} ",
        label_fmt_right=" {rank:.2f}  {label}",
        label_props={"fontsize": 9},
        elbow_props={"color": "black", "linewidth": 0.8},
        crossbar_props={"color": "black", "linewidth": 3},
        marker_props={"color": "black", "s": 16},
        text_h_margin=0.04,
    )
    # they come from sets of names, in an order that changes from process to process
    for bar in itertools.chain.from_iterable(diagram["crossbars"]):
        bar.set_xdata(np.sort(bar.get_xdata()))
    axes.set_xlim(0.8, n_methods + 0.2)
    axes.set_xticks(range(1, n_methods + 1))
    length = critical_difference(n_methods, n_data_sets, alpha)
    axes.set_title(f"critical difference {length:.2f} at α = {alpha:g}", fontsize="small")
