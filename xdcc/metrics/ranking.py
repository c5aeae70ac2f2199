"""Ranking metrics: only the order of the scores of a sample counts."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Number, check_domain
from xdcc.base.label_rows import Bools, Floats, KnownRows, Labels, Weights, known_score_blocks
from xdcc.metrics.means import divide, weighted_mean
from xdcc.metrics.record import OfRows, metric


def precisions_at(ranked: KnownRows[Floats], k: int) -> Floats:
    """Compute the precision at k of each sample, `(n_counted,)`."""
    gains = _gains(ranked, np.ones(_checked_k(k, ranked)))
    return gains / np.minimum(k, ranked.known.sum(axis=1))


def ndcgs_at(ranked: KnownRows[Floats], k: int) -> Floats:
    """Compute the normalised gain at k of each sample, `(n_counted,)`."""
    discount = 1 / np.log2(np.arange(2, _checked_k(k, ranked) + 2))
    best = np.concatenate(([0.0], discount.cumsum()))
    return divide(
        _gains(ranked, discount), best[np.minimum(k, ranked.truth.sum(axis=1))], zero_division=0
    )


def average_precisions(ranked: KnownRows[Floats]) -> Floats:
    """Compute the average precision of each sample, `(n_counted,)`; 1 without a true label."""
    order = np.argsort(-ranked.predicted, axis=1)
    last = _last_of_equal(np.take_along_axis(ranked.predicted, order, axis=1))
    is_true, is_known = (
        np.take_along_axis(part, order, axis=1) for part in (ranked.truth, ranked.known)
    )
    n_true, n_known = (
        np.take_along_axis(np.cumsum(part, axis=1, dtype=np.float64), last, axis=1)
        for part in (is_true, is_known)
    )
    shares = divide(n_true, n_known, 0)
    shares[~is_true] = 0
    return divide(shares.sum(axis=1), ranked.truth.sum(axis=1, dtype=np.float64), 1)


@metric("coverage error", "scores", "Schapire and Singer 2000", higher_is_better=False)
def coverage_error(Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the mean depth of the ranking that covers all true labels.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN if the label is unknown.
    Y_score : array-like or sparse matrix, shape (n_samples, n_labels)
        Finite numbers, higher for more likely labels. Only their order in a sample counts.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    float
        At best the mean number of true labels, at worst the number of labels. A sample without
        true labels has the depth 0.

    Raises
    ------
    ValueError
        As listed in the module's documentation.

    Notes
    -----
    As :func:`sklearn.metrics.coverage_error`, with support for unknown labels. Source: Schapire,
    Singer: "BoosTexter: A Boosting-based System for Text Categorization" (Machine Learning 39,
    2000), who subtract 1.

    Examples
    --------
    The true label of the first sample has rank 2, that of the second sample rank 1.

    >>> coverage_error([[1, 0, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.3, 0.8]])
    1.5
    """

    def depth(ranked: KnownRows[Floats]) -> Floats:
        lowest = np.where(ranked.truth, ranked.predicted, np.inf).min(axis=1, keepdims=True)
        return (ranked.known & (ranked.predicted >= lowest)).sum(axis=1, dtype=np.float64)

    return _mean_over_rankings(depth, Y_true, Y_score, sample_weight)


@metric(
    "label ranking loss", "scores", "Tsoumakas, Katakis and Vlahavas 2010", higher_is_better=False
)
def label_ranking_loss(Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the mean share of wrongly ordered pairs of a true and a false label.

    A tie counts as wrong. Parameters and errors are as in `coverage_error`.

    Returns
    -------
    float
        From 0 (all true labels have higher scores than all false ones) to 1. A sample without such
        a pair, since none or all of its known labels are true, has the loss 0.

    Notes
    -----
    As :func:`sklearn.metrics.label_ranking_loss`, with support for unknown labels. Source:
    Tsoumakas, Katakis, Vlahavas: "Mining Multi-label Data" (Data Mining and Knowledge Discovery
    Handbook, 2010).

    Examples
    --------
    One of the two pairs of the first sample is in the wrong order, and none of the second.

    >>> label_ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.3, 0.8]])
    0.25
    """

    def wrong_pairs(ranked: KnownRows[Floats]) -> Floats:
        other = ranked.known & ~ranked.truth
        # Sort by ascending score, true labels first among equal scores, so that ties are wrong.
        order = np.lexsort((~ranked.truth, ranked.predicted), axis=1)
        true_below = np.take_along_axis(ranked.truth, order, axis=1).cumsum(axis=1)
        wrong = true_below * np.take_along_axis(other, order, axis=1)
        n_true, n_other = (part.sum(axis=1, dtype=np.float64) for part in (ranked.truth, other))
        return divide(wrong.sum(axis=1, dtype=np.float64), n_true * n_other, 0)

    return _mean_over_rankings(wrong_pairs, Y_true, Y_score, sample_weight)


@metric("one-error", "scores", "Schapire and Singer 2000", higher_is_better=False)
def one_error(Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the samples in which the label with the highest score is not true.

    If several labels share the highest score, all of them must be true. Parameters and errors are
    as in `coverage_error`.

    Returns
    -------
    float
        From 0 to 1. A sample without true labels counts as 0, as in `label_ranking_loss`.

    Notes
    -----
    Source: Schapire, Singer: "BoosTexter: A Boosting-based System for Text Categorization"
    (Machine Learning 39, 2000), where each sample has a label.

    Examples
    --------
    >>> one_error([[1, 0, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.3, 0.8]])
    0.5
    """

    def is_wrong(ranked: KnownRows[Floats]) -> Bools:
        best_true = np.where(ranked.truth, ranked.predicted, -np.inf).max(axis=1)
        best_other = np.where(ranked.known & ~ranked.truth, ranked.predicted, -np.inf).max(axis=1)
        return ranked.truth.any(axis=1) & (best_other >= best_true)

    return _mean_over_rankings(is_wrong, Y_true, Y_score, sample_weight)


@metric(
    "label ranking average precision",
    "scores",
    "Tsoumakas, Katakis and Vlahavas 2010",
    name="label_ranking_average_precision",
    drawn=OfRows(average_precisions),
)
def label_ranking_average_precision_score(
    Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None
) -> float:
    """Compute the mean precision of the ranking at the true labels.

    The precision at a true label is the share of true labels among the labels whose scores are at
    least as high. It is averaged over the true labels of a sample, then over samples. Parameters
    and errors are as in `coverage_error`.

    Returns
    -------
    float
        Above 0, at best 1. A sample in which none or all known labels are true has 1.

    Notes
    -----
    As :func:`sklearn.metrics.label_ranking_average_precision_score`, with support for unknown
    labels. Source: Tsoumakas, Katakis, Vlahavas: "Mining Multi-label Data" (Data Mining and
    Knowledge Discovery Handbook, 2010), "average precision".

    Examples
    --------
    The true label of the first sample has rank 2, that of the second sample rank 1.

    >>> label_ranking_average_precision_score(
    ...     [[1, 0, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.3, 0.8]]
    ... )
    0.75
    """
    return _mean_over_rankings(average_precisions, Y_true, Y_score, sample_weight)


@metric("precision at k", "scores", "Prabhu and Varma 2014", drawn=OfRows(precisions_at))
def precision_at_k(
    Y_true: Labels, Y_score: Labels, *, k: int, sample_weight: Weights = None
) -> float:
    """Compute the mean share of true labels among the k labels with the highest scores.

    Parameters
    ----------
    Y_true, Y_score, sample_weight
        As in `coverage_error`.
    k : int
        From 1 to the number of labels.

    Returns
    -------
    float
        From 0 to 1; a sample without true labels has 0. In a sample with fewer than k known labels,
        it is the share among these. Of labels with equal scores at the end of the k, it is the mean
        over all choices.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or for another k.

    Examples
    --------
    >>> precision_at_k([[1, 1, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.9, 0.8]], k=2)
    0.75
    """
    precisions = partial(precisions_at, k=k)
    return _mean_over_rankings(precisions, Y_true, Y_score, sample_weight)


@metric("NDCG at k", "scores", "Järvelin and Kekäläinen 2002", drawn=OfRows(ndcgs_at))
def ndcg_at_k(Y_true: Labels, Y_score: Labels, *, k: int, sample_weight: Weights = None) -> float:
    """Compute the mean normalised discounted cumulative gain of the k highest scores.

    A true label on rank i adds 1 / log2(i + 1) if i is at most k. The sum is divided by its highest
    possible value. Parameters and errors are as in `precision_at_k`.

    Returns
    -------
    float
        From 0 to 1; a sample without true labels has 0. Labels with equal scores share the mean of
        their gains.

    Notes
    -----
    As :func:`sklearn.metrics.ndcg_score`, with support for unknown labels. Source: Järvelin,
    Kekäläinen: "Cumulated Gain-based Evaluation of IR Techniques" (ACM Transactions on Information
    Systems 20, 2002).

    Examples
    --------
    The true label of the first sample has rank 2, that of the second sample rank 1.

    >>> ndcg_at_k([[1, 0, 0], [0, 0, 1]], [[0.4, 0.7, 0.1], [0.2, 0.3, 0.8]], k=2).__round__(4)
    0.8155
    """
    return _mean_over_rankings(partial(ndcgs_at, k=k), Y_true, Y_score, sample_weight)


def _mean_over_rankings(
    metric: Callable[[KnownRows[Floats]], Floats | Bools],
    Y_true: Labels,
    Y_score: Labels,
    weights: Weights,
) -> float:
    def of_samples(block: KnownRows[Floats]) -> tuple[Floats, Floats | Bools]:
        _check_equal_shares(block)
        return block.weight, metric(block)

    return weighted_mean(map(of_samples, known_score_blocks(Y_true, Y_score, weights)))


def _check_equal_shares(ranked: KnownRows[Floats]) -> None:
    """Stop if the known labels of a sample have different weights."""
    if ranked.share is not None and (ranked.share != ranked.known).any():
        raise ValueError(
            "A metric of rankings compares the labels of a sample: it takes weights of samples, "
            "(n_samples,), not of entries, other than 0 (unknown)."
        )


def _checked_k(k: int, ranked: KnownRows[Floats]) -> int:
    check_domain("k", k, Number(low=1, high=ranked.truth.shape[1], whole=True))
    return k


def _gains(ranked: KnownRows[Floats], discount: Floats) -> Floats:
    """Sum the discounts of the ranks of true labels; labels with equal scores share their mean."""
    score = np.where(ranked.known, ranked.predicted, -np.inf)
    order = np.argsort(-score, axis=1)
    last = _last_of_equal(np.take_along_axis(score, order, axis=1))
    first = _first_of_equal(last)
    total = np.zeros(score.shape[1] + 1)
    total[1 : len(discount) + 1] = discount
    total = total.cumsum()
    gain = (total[last + 1] - total[first]) / (last - first + 1)
    return (gain * np.take_along_axis(ranked.truth, order, axis=1)).sum(axis=1)


def _last_of_equal(values: Floats) -> NDArray[np.intp]:
    """Find the last position of equal values for each value, in sorted rows."""
    n_columns = values.shape[1]
    is_last = np.ones(values.shape, dtype=bool)
    is_last[:, :-1] = values[:, :-1] != values[:, 1:]
    ends = np.where(is_last, np.arange(n_columns), n_columns)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def _first_of_equal(last: NDArray[np.intp]) -> NDArray[np.intp]:
    """Find the first position of equal values, given the last one of each value."""
    first = np.zeros_like(last)
    first[:, 1:] = np.where(last[:, 1:] == last[:, :-1], 0, last[:, :-1] + 1)
    return np.maximum.accumulate(first, axis=1)
