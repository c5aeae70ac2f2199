"""Label metrics: predictions that are 0 or 1."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from xdcc.base.label_rows import (
    Bools,
    Floats,
    KnownRows,
    Labels,
    Weights,
    known_blocks,
    matching_share,
)
from xdcc.metrics.counted import (
    Counted,
    Ratio,
    exact,
    f_beta,
    jaccard_index,
    precision,
    ratio_of,
    recall,
    right,
)
from xdcc.metrics.means import ZeroOrOne, divide, weighted_mean
from xdcc.metrics.record import METRICS, metric

_SOURCE = "Tsoumakas, Katakis and Vlahavas 2010"
"""Their chapter defines all of these metrics."""


@metric("Hamming accuracy", "labels", _SOURCE, counted=Counted(None, right))
def hamming_accuracy(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the known entries with a correct prediction, 1 - `hamming_loss`.

    Examples
    --------
    >>> hamming_accuracy([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.8333333333333334
    """
    return 1.0 - hamming_loss(Y_true, Y_pred, sample_weight=sample_weight)


@metric("subset accuracy", "labels", _SOURCE, counted=Counted(1, exact))
def subset_accuracy(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the samples for which all known labels are correct (exact match).

    Samples without a known label do not count. Parameters and errors are as in `hamming_loss`.

    Examples
    --------
    >>> subset_accuracy([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.5
    """
    return matching_share(Y_true, Y_pred, sample_weight)


@metric(
    "example-based F1",
    "labels",
    _SOURCE,
    counted=ratio_of(f_beta, axis=1, empty=1.0),
    in_xgboost="example_f1",
)
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
    return _mean_of_ratios(f_beta, Y_true, Y_pred, zero_division, sample_weight)


@metric("Hamming loss", "labels", _SOURCE, higher_is_better=False, in_xgboost="hamming_loss")
def hamming_loss(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the Hamming loss: the share of the known entries with a wrong prediction.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN if the label is unknown.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1.
    sample_weight : array-like, shape (n_samples,) or (n_samples, n_labels), optional
        Weights of the samples or entries.

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
        parts = (entries.truth != entries.predicted, entries.known)
        return np.array([entries.weight @ entries.row_sums(part) for part in parts])

    wrong, known = _total(wrong_and_known, Y_true, Y_pred, sample_weight)
    return float(wrong / known)


@metric("subset loss", "labels", _SOURCE, higher_is_better=False, in_xgboost="subset_loss")
def subset_loss(Y_true: Labels, Y_pred: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the share of the samples with a wrong label (subset 0/1 loss), 1 - `subset_accuracy`.

    Examples
    --------
    >>> subset_loss([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.5
    """
    return 1.0 - subset_accuracy(Y_true, Y_pred, sample_weight=sample_weight)


@metric("jaccard", "labels", _SOURCE, counted=ratio_of(jaccard_index, axis=1, empty=1.0))
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
    return _mean_of_ratios(jaccard_index, Y_true, Y_pred, zero_division, sample_weight)


@metric(
    "micro F1",
    "labels",
    _SOURCE,
    counted=ratio_of(f_beta, axis=None, empty=0.0),
    in_xgboost="micro_f1",
)
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
    return _of_all_entries(f_beta, Y_true, Y_pred, zero_division, sample_weight)


@metric(
    "macro F1",
    "labels",
    _SOURCE,
    counted=ratio_of(f_beta, axis=0, empty=0.0),
    in_xgboost="macro_f1",
)
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
    return _mean_over_labels(f_beta, Y_true, Y_pred, zero_division, sample_weight)


@metric("example-based precision", "labels", _SOURCE)
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
    return _mean_of_ratios(precision, Y_true, Y_pred, zero_division, sample_weight)


@metric("example-based recall", "labels", _SOURCE)
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
    return _mean_of_ratios(recall, Y_true, Y_pred, zero_division, sample_weight)


@metric("micro precision", "labels", _SOURCE)
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
    return _of_all_entries(precision, Y_true, Y_pred, zero_division, sample_weight)


@metric("micro recall", "labels", _SOURCE)
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
    return _of_all_entries(recall, Y_true, Y_pred, zero_division, sample_weight)


@metric("macro precision", "labels", _SOURCE)
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
    return _mean_over_labels(precision, Y_true, Y_pred, zero_division, sample_weight)


@metric("macro recall", "labels", _SOURCE)
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
    return _mean_over_labels(recall, Y_true, Y_pred, zero_division, sample_weight)


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
    found = {}
    for name, record in METRICS.items():
        if record.takes == "labels":
            found[name] = record.function(Y_true, Y_pred, sample_weight=sample_weight)
        if name == "macro_f1":
            found["macro_f1_zero_division_1"] = macro_f1(
                Y_true, Y_pred, zero_division=1, sample_weight=sample_weight
            )
    return found


def _mean_of_ratios(
    ratio: Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    def ratio_of_samples(entries: KnownRows[Bools]) -> Floats:
        counts = _counts(entries, entries.row_sums)
        return divide(*ratio(*counts), zero_division)

    return _mean_over_samples(ratio_of_samples, Y_true, Y_pred, weights)


def _mean_over_samples(
    metric: Callable[[KnownRows[Bools]], Floats | Bools],
    Y_true: Labels,
    Y_pred: Labels,
    weights: Weights,
) -> float:
    blocks = known_blocks(Y_true, Y_pred, weights)
    return weighted_mean((block.weight, metric(block)) for block in blocks)


def _mean_over_labels(
    ratio: Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    known, *counts = label_sums(Y_true, Y_pred, weights)
    known_labels = known > 0
    of_known = (count[known_labels] for count in counts)
    return float(divide(*ratio(*of_known), zero_division).mean())


def _of_all_entries(
    ratio: Ratio, Y_true: Labels, Y_pred: Labels, zero_division: ZeroOrOne, weights: Weights
) -> float:
    _, *counts = label_sums(Y_true, Y_pred, weights).sum(axis=1, keepdims=True)
    return float(divide(*ratio(*counts), zero_division).item())


def label_sums(Y_true: Labels, Y_pred: Labels, weights: Weights) -> Floats:
    """Compute weighted sums for each label: known, true, predicted, both; `(4, n_labels)`."""

    def sums(entries: KnownRows[Bools]) -> Floats:
        known = entries.label_sums(entries.known)
        return np.stack((known, *_counts(entries, entries.label_sums)))

    return _total(sums, Y_true, Y_pred, weights)


def _counts(
    entries: KnownRows[Bools], add_up: Callable[[Bools], Floats]
) -> tuple[Floats, Floats, Floats]:
    """Add up what is true, predicted, and both."""
    both = entries.truth & entries.predicted
    return add_up(entries.truth), add_up(entries.predicted), add_up(both)


def _total(
    sums: Callable[[KnownRows[Bools]], Floats], Y_true: Labels, Y_pred: Labels, weights: Weights
) -> Floats:
    """Sum the values of a function over the blocks of rows."""
    return reduce(np.add, map(sums, known_blocks(Y_true, Y_pred, weights)))
