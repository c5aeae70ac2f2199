"""Metrics of multi-label predictions, with explicit conventions.

Each metric compares ``Y_true``, ``(n_samples, n_labels)`` with entries 0 and 1, with predictions of
the same shape and returns a float. Label metrics take ``Y_pred`` with entries 0 and 1 and are
between 0 and 1. Ranking metrics take ``Y_score``, finite numbers that are higher for more likely
labels: probabilities or other scores. All inputs are array-likes, DataFrames or scipy.sparse
matrices.

- *Label names*: If both are DataFrames, columns are matched by name.
- *Unknown labels*: NaN in ``Y_true`` is an unknown label. It is ignored, and so is its prediction;
  a sample (for macro averages: a label) without known entries is not part of the mean.
- *Zero division*: F1, precision, recall and Jaccard are ratios of counts. ``zero_division`` (0 or
  1) is the value of 0/0. The defaults follow the papers on multi-label boosting and chains: 1 for
  means over samples, since predicting no label for a sample without labels is perfect; 0 for micro
  and macro averages.
- *Ties*: Labels with equal scores share the worst of their ranks, as in scikit-learn, so equal
  scores for all labels are never a good ranking.
- *Weights*: ``sample_weight`` ``(n_samples,)``, finite and not negative, counts a sample as that
  many samples.
- *Errors*: ``ValueError`` for inputs that are not two-dimensional, not numeric, empty, or of
  different shapes or names; for entries other than 0, 1 (and NaN in ``Y_true``) and scores that are
  not finite; if no entry is known; and for invalid weights or a ``zero_division`` other than 0 and
  1.

Implementation: `known_blocks` and `known_score_blocks` check the input and yield the known entries
in blocks of rows, so sparse matrices never become dense as a whole. Each metric is a ratio of sums,
or a mean of ratios, over the blocks (`_total`). Counts are summed per sample, per label, or over
all entries, before `_f1`, `_precision`, `_recall` or `_jaccard` divides them. Ranking metrics are
means over samples.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from xdcc.base.label_rows import (
    Bools,
    Floats,
    KnownRows,
    Labels,
    Weights,
    known_blocks,
    known_score_blocks,
    matching_share,
)

type ZeroOrOne = Literal[0, 1]


def hamming_loss(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the Hamming loss: the share of the known entries with a wrong prediction.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN if the label is unknown.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    float
        From 0 (all predictions are correct) to 1.

    Raises
    ------
    ValueError
        As listed in the module's documentation.

    Examples
    --------
    >>> hamming_loss([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.16666666666666666
    """

    def wrong_and_known(entries: KnownRows[Bools]) -> Floats:
        wrong = (entries.truth != entries.predicted).sum(axis=1)
        return np.array([entries.weight @ wrong, entries.weight @ entries.known.sum(axis=1)])

    wrong, known = _total(wrong_and_known, Y_true, Y_pred, sample_weight)
    return float(wrong / known)


def hamming_accuracy(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the known entries with a correct prediction, 1 - `hamming_loss`.

    Examples
    --------
    >>> hamming_accuracy([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.8333333333333334
    """
    return 1.0 - hamming_loss(Y_true, Y_pred, sample_weight=sample_weight)


def subset_accuracy(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the samples for which all known labels are correct (exact match).

    Samples without a known label do not count. Parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> subset_accuracy([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.5
    """
    return matching_share(Y_true, Y_pred, sample_weight)


def subset_loss(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the samples with a wrong label (subset 0/1 loss), 1 - `subset_accuracy`.

    Examples
    --------
    >>> subset_loss([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.5
    """
    return 1.0 - subset_accuracy(Y_true, Y_pred, sample_weight=sample_weight)


def example_f1(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 1, sample_weight: Weights = None
) -> float:
    """Compute the mean over samples of ``2 |true and predicted| / (|true| + |predicted|)``.

    ``zero_division`` (default 1, as in the XDCC and BOOMER papers) is the F1 of a sample without
    true and predicted labels. Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> example_f1([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.8333333333333333
    """
    return _mean_of_ratios(_f1, Y_true, Y_pred, zero_division, sample_weight)


def example_precision(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 1, sample_weight: Weights = None
) -> float:
    """Compute the mean over samples of ``|true and predicted| / |predicted|``.

    ``zero_division`` (default 1, as in `example_f1`) is the precision of a sample without predicted
    labels, even if it has true labels. Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> example_precision([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    1.0
    """
    return _mean_of_ratios(_precision, Y_true, Y_pred, zero_division, sample_weight)


def example_recall(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 1, sample_weight: Weights = None
) -> float:
    """Compute the mean over samples of ``|true and predicted| / |true|``.

    ``zero_division`` (default 1, as in `example_f1`) is the recall of a sample without true labels,
    even if labels are predicted. Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> example_recall([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.75
    """
    return _mean_of_ratios(_recall, Y_true, Y_pred, zero_division, sample_weight)


def jaccard(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 1, sample_weight: Weights = None
) -> float:
    """Compute the mean over samples of ``|true and predicted| / |true or predicted|``.

    Older papers call it "multi-label accuracy". ``zero_division`` (default 1, as in the papers) is
    the value of a sample without true and predicted labels. Other parameters and errors are as in
    `hamming_loss`.

    Examples
    --------
    >>> jaccard([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.75
    """
    return _mean_of_ratios(_jaccard, Y_true, Y_pred, zero_division, sample_weight)


def micro_f1(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the F1 of the counts summed over all entries.

    ``zero_division`` (default 0, as in the papers) is the value if no entry is true or predicted.
    Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> micro_f1([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.8
    """
    return _of_all_entries(_f1, Y_true, Y_pred, zero_division, sample_weight)


def micro_precision(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the share of all predicted labels that are true.

    ``zero_division`` (default 0, as in `micro_f1`) is the value if no label is predicted. Other
    parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> micro_precision([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    1.0
    """
    return _of_all_entries(_precision, Y_true, Y_pred, zero_division, sample_weight)


def micro_recall(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the share of all true labels that are predicted.

    ``zero_division`` (default 0, as in `micro_f1`) is the value if no label is true. Other
    parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> micro_recall([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.6666666666666666
    """
    return _of_all_entries(_recall, Y_true, Y_pred, zero_division, sample_weight)


def macro_f1(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the mean of the F1 over labels.

    ``zero_division`` is the F1 of a label that is never true and never predicted. The code of the
    XDCC paper reports both conventions; the default is 0. With rare labels, they differ
    considerably, so state which one you report. Other parameters and errors are as in
    `hamming_loss`.

    Examples
    --------
    >>> macro_f1([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.6666666666666666
    """
    return _mean_over_labels(_f1, Y_true, Y_pred, zero_division, sample_weight)


def macro_precision(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the mean of the precision over labels.

    ``zero_division`` (default 0, as in `macro_f1`) is the precision of a label that is never
    predicted. Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> macro_precision([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.6666666666666666
    """
    return _mean_over_labels(_precision, Y_true, Y_pred, zero_division, sample_weight)


def macro_recall(
    Y_true: Labels, Y_pred: Labels, *, zero_division: ZeroOrOne = 0, sample_weight: Weights = None
) -> float:
    """Compute the mean of the recall over labels.

    ``zero_division`` (default 0, as in `macro_f1`) is the recall of a label that is never true.
    Other parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> macro_recall([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.6666666666666666
    """
    return _mean_over_labels(_recall, Y_true, Y_pred, zero_division, sample_weight)


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
        return _divide(wrong.sum(axis=1, dtype=np.float64), n_true * n_other, 0)

    return _mean_over_rankings(wrong_pairs, Y_true, Y_score, sample_weight)


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

    def precision(ranked: KnownRows[Floats]) -> Floats:
        order = np.argsort(-ranked.predicted, axis=1)
        last = _last_of_equal(np.take_along_axis(ranked.predicted, order, axis=1))
        is_true, is_known = (
            np.take_along_axis(part, order, axis=1) for part in (ranked.truth, ranked.known)
        )
        n_true, n_known = (
            np.take_along_axis(np.cumsum(part, axis=1, dtype=np.float64), last, axis=1)
            for part in (is_true, is_known)
        )
        shares = _divide(n_true, n_known, 0)
        shares[~is_true] = 0
        return _divide(shares.sum(axis=1), ranked.truth.sum(axis=1, dtype=np.float64), 1)

    return _mean_over_rankings(precision, Y_true, Y_score, sample_weight)


def evaluate(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> dict[str, float]:
    """Compute all label metrics, in a fixed order that starts with the three of the XDCC paper.

    Each metric has its default `zero_division`; macro F1 is reported with both values, as
    ``macro_f1`` (0) and ``macro_f1_zero_division_1``. Parameters and errors are as in
    `hamming_loss`.

    Returns
    -------
    dict of str to float
        Accuracies, losses, Jaccard and F1, then precision and recall (example, micro, macro).

    Examples
    --------
    >>> metrics = evaluate([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    >>> metrics["subset_accuracy"], metrics["micro_f1"]
    (0.5, 0.8)
    """
    return {
        name: metric(Y_true, Y_pred, sample_weight=sample_weight)
        for name, metric in _EVALUATED.items()
    }


_EVALUATED: dict[str, Callable[..., float]] = {
    "hamming_accuracy": hamming_accuracy,
    "subset_accuracy": subset_accuracy,
    "example_f1": example_f1,
    "hamming_loss": hamming_loss,
    "subset_loss": subset_loss,
    "jaccard": jaccard,
    "micro_f1": micro_f1,
    "macro_f1": macro_f1,
    "macro_f1_zero_division_1": partial(macro_f1, zero_division=1),
    "example_precision": example_precision,
    "example_recall": example_recall,
    "micro_precision": micro_precision,
    "micro_recall": micro_recall,
    "macro_precision": macro_precision,
    "macro_recall": macro_recall,
}


@dataclass(frozen=True)
class _Counts:
    """(Weighted) numbers of entries that are true, predicted, and both, for each ratio."""

    true: Floats
    predicted: Floats
    both: Floats


type _Ratio = Callable[[_Counts], tuple[Floats, Floats]]


def _f1(counts: _Counts) -> tuple[Floats, Floats]:
    return 2 * counts.both, counts.true + counts.predicted


def _precision(counts: _Counts) -> tuple[Floats, Floats]:
    return counts.both, counts.predicted


def _recall(counts: _Counts) -> tuple[Floats, Floats]:
    return counts.both, counts.true


def _jaccard(counts: _Counts) -> tuple[Floats, Floats]:
    return counts.both, counts.true + counts.predicted - counts.both


def _mean_of_ratios(
    ratio: _Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    def ratio_of_samples(entries: KnownRows[Bools]) -> Floats:
        counts = _counts(entries, lambda mask: mask.sum(axis=1, dtype=np.float64))
        return _divide(*ratio(counts), zero_division)

    return _mean_over_samples(ratio_of_samples, Y_true, Y_pred, weights)


def _mean_over_samples(
    metric: Callable[[KnownRows[Bools]], Floats | Bools],
    Y_true: Labels,
    Y_pred: Labels,
    weights: Weights,
) -> float:
    blocks = known_blocks(Y_true, Y_pred, weights)
    return _weighted_mean((block.weight, metric(block)) for block in blocks)


def _mean_over_rankings(
    metric: Callable[[KnownRows[Floats]], Floats | Bools],
    Y_true: Labels,
    Y_score: Labels,
    weights: Weights,
) -> float:
    blocks = known_score_blocks(Y_true, Y_score, weights)
    return _weighted_mean((block.weight, metric(block)) for block in blocks)


def _weighted_mean(blocks: Iterable[tuple[Floats, Floats | Bools]]) -> float:
    """Compute the weighted mean of values per sample, given blocks of weights and values."""
    # Summing both in the same way makes a mean of ones exactly 1.
    sums = (np.array([(weight * value).sum(), weight.sum()]) for weight, value in blocks)
    value, weight = reduce(np.add, sums)
    return float(value / weight)


def _last_of_equal(values: Floats) -> NDArray[np.intp]:
    """Find the last position of equal values for each value, in sorted rows."""
    n_columns = values.shape[1]
    is_last = np.ones(values.shape, dtype=bool)
    is_last[:, :-1] = values[:, :-1] != values[:, 1:]
    ends = np.where(is_last, np.arange(n_columns), n_columns)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def _mean_over_labels(
    ratio: _Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    known, *counts = _total(_label_sums, Y_true, Y_pred, weights)
    known_labels = known > 0
    of_known = _Counts(*(count[known_labels] for count in counts))
    return float(_divide(*ratio(of_known), zero_division).mean())


def _of_all_entries(
    ratio: _Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    _, *counts = _total(_label_sums, Y_true, Y_pred, weights).sum(axis=1, keepdims=True)
    return float(_divide(*ratio(_Counts(*counts)), zero_division).item())


def _label_sums(entries: KnownRows[Bools]) -> Floats:
    """Compute weighted sums for each label: known, true, predicted, both."""
    counts = _counts(entries, lambda mask: entries.weight @ mask)
    return np.stack((entries.weight @ entries.known, counts.true, counts.predicted, counts.both))


def _counts(entries: KnownRows[Bools], add_up: Callable[[Bools], Floats]) -> _Counts:
    return _Counts(
        true=add_up(entries.truth),
        predicted=add_up(entries.predicted),
        both=add_up(entries.truth & entries.predicted),
    )


def _total(
    sums: Callable[[KnownRows[Bools]], Floats], Y_true: Labels, Y_pred: Labels, weights: Weights
) -> Floats:
    """Sum the values of a function over the blocks of rows."""
    return reduce(np.add, map(sums, known_blocks(Y_true, Y_pred, weights)))


def _divide(numerator: Floats, denominator: Floats, zero_division: ZeroOrOne) -> Floats:
    if zero_division not in (0, 1):
        raise ValueError(f"zero_division must be 0 or 1, got {zero_division!r}")
    quotient = np.full(numerator.shape, float(zero_division))
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
