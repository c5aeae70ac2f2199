"""Areas under ROC and precision-recall curves of the known entries.

A curve needs the scores of all samples in order, so all known entries are there at once.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from xdcc.base.label_rows import (
    Bools,
    Floats,
    KnownRows,
    Labels,
    Weights,
    known_score_blocks,
    row_blocks,
)
from xdcc.metrics.means import divide
from xdcc.metrics.record import Curve, OfCurve, metric

_ENTRIES_AT_ONCE = 2**20


def roc(ones: Floats, zeros: Floats) -> tuple[Floats, Floats]:
    """Weigh the pairs of a 1 and a 0 in the right order, and all pairs."""
    right = (ones * (zeros.cumsum(axis=1) - zeros / 2)).sum(axis=1)
    return right, ones.sum(axis=1) * zeros.sum(axis=1)


def precision_recall(ones: Floats, zeros: Floats) -> tuple[Floats, Floats]:
    """Weigh the entries that are 1 by the precision from their scores on, and by 1."""
    ones_from, all_from = (part[:, ::-1].cumsum(axis=1)[:, ::-1] for part in (ones, ones + zeros))
    return (ones * divide(ones_from, all_from, 0)).sum(axis=1), ones.sum(axis=1)


@metric("macro ROC AUC", "scores", "Fawcett 2006", drawn=OfCurve(roc, by_label=True))
def macro_roc_auc(Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the mean over labels of the area under the ROC curve.

    The area of a label is the share of pairs of a sample that has the label and one that does not
    in which the former has the higher score. A tie counts as half. Parameters are as in
    `coverage_error`, but scores of a label are compared over samples.

    Returns
    -------
    float
        From 0 to 1; 0.5 is chance. Labels whose known entries are all 0 or all 1 have no area and
        are not part of the mean.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or if no label has known entries of both values.

    Notes
    -----
    As :func:`sklearn.metrics.roc_auc_score` with ``average="macro"`` where each label has both
    values, with support for unknown labels.

    Examples
    --------
    >>> macro_roc_auc([[1, 1], [0, 0], [0, 1]], [[0.9, 0.4], [0.1, 0.5], [0.2, 0.6]])
    0.75
    """
    return _area(
        roc,
        ranked_labels,
        known_score_blocks(Y_true, Y_score, sample_weight),
        "No label has known entries of both values, 0 and 1, in samples of positive weight: "
        "macro ROC AUC has no value.",
    )


@metric("micro ROC AUC", "scores", "Fawcett 2006", drawn=OfCurve(roc, by_label=False))
def micro_roc_auc(Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None) -> float:
    """Compute the area under the ROC curve of all known entries together.

    Scores are compared over samples and labels. Parameters are as in `coverage_error`.

    Returns
    -------
    float
        From 0 to 1; 0.5 is chance.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or if all known entries are equal.

    Notes
    -----
    As :func:`sklearn.metrics.roc_auc_score` with ``average="micro"``, with support for unknown
    labels.

    Examples
    --------
    >>> micro_roc_auc([[1, 1], [0, 0], [0, 1]], [[0.9, 0.4], [0.1, 0.5], [0.2, 0.6]]).__round__(4)
    0.8889
    """
    return _area(
        roc,
        ranked_entries,
        known_score_blocks(Y_true, Y_score, sample_weight),
        "All known entries in samples of positive weight are equal: micro ROC AUC has no value.",
    )


@metric(
    "macro average precision",
    "scores",
    "Davis and Goadrich 2006",
    drawn=OfCurve(precision_recall, by_label=True),
)
def macro_average_precision(
    Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None
) -> float:
    """Compute the mean over labels of the average precision, for rare labels.

    The average precision of a label is the mean, over the samples that have the label, of the
    precision among the samples whose scores are at least as high. Parameters are as in
    `coverage_error`, but scores of a label are compared over samples.

    Returns
    -------
    float
        Above 0, at most 1; for random scores about the mean frequency of the labels. Labels
        without known 1 have no average precision and are not part of the mean.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or if no label has a known 1.

    Notes
    -----
    As :func:`sklearn.metrics.average_precision_score` with ``average="macro"`` where each label has
    a 1, with support for unknown labels; scikit-learn counts labels without 1 as 0. The average
    precision is the area under the precision-recall curve by steps, not by trapezoids. In papers on
    multi-label classification, "average precision" often is
    `label_ranking_average_precision_score`, which compares the labels of a sample.

    Examples
    --------
    >>> macro_average_precision([[1, 1], [0, 0], [0, 1]], [[0.9, 0.4], [0.1, 0.5], [0.2, 0.6]])
    0.9166666666666666
    """
    return _area(
        precision_recall,
        ranked_labels,
        known_score_blocks(Y_true, Y_score, sample_weight),
        "No label has a known 1 in a sample of positive weight: macro average precision has no "
        "value.",
    )


@metric(
    "micro average precision",
    "scores",
    "Davis and Goadrich 2006",
    drawn=OfCurve(precision_recall, by_label=False),
)
def micro_average_precision(
    Y_true: Labels, Y_score: Labels, *, sample_weight: Weights = None
) -> float:
    """Compute the average precision of all known entries together.

    Scores are compared over samples and labels. Parameters are as in `coverage_error`, and the
    average precision is as in `macro_average_precision`.

    Returns
    -------
    float
        Above 0, at most 1; for random scores about the frequency of 1.

    Raises
    ------
    ValueError
        As listed in the module's documentation, or if no known entry is 1.

    Notes
    -----
    As :func:`sklearn.metrics.average_precision_score` with ``average="micro"``, with support for
    unknown labels.

    Examples
    --------
    >>> micro_average_precision([[1, 1], [0, 0], [0, 1]], [[0.9, 0.4], [0.1, 0.5], [0.2, 0.6]])
    0.9166666666666666
    """
    return _area(
        precision_recall,
        ranked_entries,
        known_score_blocks(Y_true, Y_score, sample_weight),
        "No known entry in a sample of positive weight is 1: micro average precision has no value.",
    )


class RankedEntries:
    """Entries in the order of their scores, for areas with any weights of the samples.

    Parameters
    ----------
    truth : bool array of shape (n_entries,)
        Whether each entry is 1.
    score : float64 array of shape (n_entries,)
        Higher for more likely entries.
    samples : int array of shape (n_entries,)
        The sample of each entry.
    share : float64 array of shape (n_entries,), optional
        Weight of each entry as a share of its sample's; 1 if None.
    """

    def __init__(
        self, truth: Bools, score: Floats, samples: NDArray[np.intp], share: Floats | None = None
    ) -> None:
        order = np.argsort(score)
        ascending = score[order]
        self._samples, self._truth = samples[order], truth[order]
        self._share = None if share is None else share[order]
        is_first = np.concatenate(([True], ascending[1:] != ascending[:-1]))
        self._starts = np.flatnonzero(is_first[: len(score)])

    def areas(self, curve: Curve, weight: Floats) -> Floats:
        """Compute the area under a curve with each of some weights.

        Parameters
        ----------
        curve : callable
            `roc` or `precision_recall`.
        weight : float64 array of shape (n_weights, n_samples)
            Weights of the samples.

        Returns
        -------
        float64 array of shape (n_weights,)
            NaN where the curve has no value: no 1 has weight, or for `roc` no 0.
        """
        found = np.full(len(weight), np.nan)
        if not len(self._starts):
            return found
        for rows in row_blocks((len(weight), len(self._truth)), _ENTRIES_AT_ONCE):
            of_entries = weight[rows][:, self._samples]
            if self._share is not None:
                of_entries *= self._share
            ones, zeros = (
                np.add.reduceat(of_entries * is_value, self._starts, axis=1)
                for is_value in (self._truth, ~self._truth)
            )
            area, highest = curve(ones, zeros)
            np.divide(area, highest, out=found[rows], where=highest > 0)
        return found


def mean_areas(curve: Curve, ranked: Sequence[RankedEntries], weight: Floats) -> Floats:
    """Average the areas that there are, with each of some weights; NaN where there is none."""
    areas = np.stack([each.areas(curve, weight) for each in ranked])
    n_areas = (~np.isnan(areas)).sum(axis=0)
    total = np.nansum(areas, axis=0)
    return np.divide(total, n_areas, out=np.full(len(weight), np.nan), where=n_areas > 0)


def ranked_labels(entries: KnownRows[Floats]) -> list[RankedEntries]:
    """Order the known entries of each label."""
    labels = range(entries.known.shape[1])
    return [_ranked(entries, np.flatnonzero(entries.known[:, label]), label) for label in labels]


def ranked_entries(entries: KnownRows[Floats]) -> list[RankedEntries]:
    """Order the known entries of all labels together."""
    return [_ranked(entries, *np.nonzero(entries.known))]


def _ranked(
    entries: KnownRows[Floats], samples: NDArray[np.intp], labels: NDArray[np.intp] | int
) -> RankedEntries:
    """Order entries, which are known."""
    share = None if entries.share is None else entries.share[samples, labels]
    return RankedEntries(
        entries.truth[samples, labels], entries.predicted[samples, labels], samples, share
    )


def _area(
    curve: Curve,
    rank: Callable[[KnownRows[Floats]], list[RankedEntries]],
    blocks: Iterable[KnownRows[Floats]],
    missing: str,
) -> float:
    """Compute a mean area; a ValueError with the message `missing` if it has no value."""
    entries = together(blocks)
    area = mean_areas(curve, rank(entries), entries.weight[np.newaxis]).item()
    if np.isnan(area):
        raise ValueError(missing)
    return area


def together(blocks: Iterable[KnownRows[Floats]]) -> KnownRows[Floats]:
    """Join blocks of rows."""
    truth, predicted, known, weight, shares = zip(*blocks, strict=True)
    return KnownRows(
        np.concatenate(truth),
        np.concatenate(predicted),
        np.concatenate(known),
        np.concatenate(weight),
        None if shares[0] is None else np.concatenate(shares),
    )
