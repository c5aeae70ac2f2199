"""Areas under ROC curves of the known entries.

The curve needs the scores of all samples in order, so all known entries are there at once.
"""

from collections.abc import Iterable, Sequence

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

_ENTRIES_AT_ONCE = 2**20


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
    entries = _together(known_score_blocks(Y_true, Y_score, sample_weight))
    area = mean_areas(ranked_labels(entries), entries.weight[np.newaxis]).item()
    if np.isnan(area):
        raise ValueError(
            "No label has known entries of both values, 0 and 1, in samples of positive weight: "
            "macro ROC AUC has no value."
        )
    return area


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
    entries = _together(known_score_blocks(Y_true, Y_score, sample_weight))
    area = ranked_entries(entries).areas(entries.weight[np.newaxis]).item()
    if np.isnan(area):
        raise ValueError(
            "All known entries in samples of positive weight are equal: micro ROC AUC has no value."
        )
    return area


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

    def areas(self, weight: Floats) -> Floats:
        """Compute the area with each of some weights.

        Parameters
        ----------
        weight : float64 array of shape (n_weights, n_samples)
            Weights of the samples.

        Returns
        -------
        float64 array of shape (n_weights,)
            NaN where not both values have weight.
        """
        found = np.full(len(weight), np.nan)
        if not len(self._starts):
            return found
        for rows in row_blocks((len(weight), len(self._truth)), _ENTRIES_AT_ONCE):
            of_entries = weight[rows][:, self._samples]
            if self._share is not None:
                of_entries *= self._share
            true = np.add.reduceat(of_entries * self._truth, self._starts, axis=1)
            other = np.add.reduceat(of_entries * ~self._truth, self._starts, axis=1)
            right = (true * (other.cumsum(axis=1) - other / 2)).sum(axis=1)
            pairs = true.sum(axis=1) * other.sum(axis=1)
            np.divide(right, pairs, out=found[rows], where=pairs > 0)
        return found


def mean_areas(ranked: Sequence[RankedEntries], weight: Floats) -> Floats:
    """Average the areas that there are, with each of some weights; NaN where there is none."""
    areas = np.stack([each.areas(weight) for each in ranked])
    n_areas = (~np.isnan(areas)).sum(axis=0)
    total = np.nansum(areas, axis=0)
    return np.divide(total, n_areas, out=np.full(len(weight), np.nan), where=n_areas > 0)


def ranked_labels(entries: KnownRows[Floats]) -> list[RankedEntries]:
    """Order the known entries of each label."""
    labels = range(entries.known.shape[1])
    return [_ranked(entries, np.flatnonzero(entries.known[:, label]), label) for label in labels]


def ranked_entries(entries: KnownRows[Floats]) -> RankedEntries:
    """Order the known entries of all labels together."""
    return _ranked(entries, *np.nonzero(entries.known))


def _ranked(
    entries: KnownRows[Floats], samples: NDArray[np.intp], labels: NDArray[np.intp] | int
) -> RankedEntries:
    """Order entries, which are known."""
    share = None if entries.share is None else entries.share[samples, labels]
    return RankedEntries(
        entries.truth[samples, labels], entries.predicted[samples, labels], samples, share
    )


def _together(blocks: Iterable[KnownRows[Floats]]) -> KnownRows[Floats]:
    truth, predicted, known, weight, shares = zip(*blocks, strict=True)
    return KnownRows(
        np.concatenate(truth),
        np.concatenate(predicted),
        np.concatenate(known),
        np.concatenate(weight),
        None if shares[0] is None else np.concatenate(shares),
    )
