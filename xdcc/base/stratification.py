"""Iterative stratification: every label is about as frequent in each fold as in all rows.

The rows of the rarest label are dealt out first, each to the fold that lacks most rows with that
label, then those of the label that is the rarest among the rows that are left, and so on. Source:
Sechidis, Tsoumakas, Vlahavas: "On the Stratification of Multi-label Data" (ECML PKDD 2011). Folds
are those of the library `iterative-stratification`, which counts all labels of all rows again for
each label.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

type _Random = np.random.RandomState


def deal_out(present: NDArray[np.bool_], n_folds: int, random: _Random) -> NDArray[np.intp]:
    """Deal shuffled rows out to folds by their labels, `(n_rows, n_labels)`; return their folds.

    Examples
    --------
    >>> present = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=bool)
    >>> deal_out(present, 2, np.random.RandomState(0))
    array([0, 0, 1, 1])
    """
    order = np.arange(len(present))
    random.shuffle(order)
    folds = np.empty(len(present), dtype=np.intp)
    folds[order] = _deal_out_in_order(present[order], n_folds, random)
    return folds


def _deal_out_in_order(
    present: NDArray[np.bool_], n_folds: int, random: _Random
) -> NDArray[np.intp]:
    n_rows = len(present)
    by_row, by_label = sparse.csr_array(present), sparse.csc_array(present)
    n_left = present.sum(axis=0)
    shares = np.full(n_folds, 1 / n_folds)
    wanted, wanted_with = (shares * n_rows).tolist(), np.outer(n_left, shares)
    folds = np.full(n_rows, -1, dtype=np.intp)

    while n_left.any():
        label = _one_of(np.flatnonzero(n_left == n_left[n_left > 0].min()), random)
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        for row in rows[folds[rows] < 0]:
            fold = _neediest(wanted_with[label].tolist(), wanted, random)
            labels = by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]
            folds[row] = fold
            wanted_with[labels, fold] -= 1
            n_left[labels] -= 1
            wanted[fold] -= 1

    for row in np.flatnonzero(folds < 0):
        folds[row] = fold = _neediest(wanted, wanted, random)
        wanted[fold] -= 1
    return folds


def _neediest(with_label: Sequence[float], of_all: Sequence[float], random: _Random) -> int:
    """Return the fold that lacks most rows with a label, and most rows among equals."""
    most = max(with_label)
    folds = [fold for fold, lacking in enumerate(with_label) if lacking == most]
    if len(folds) > 1:
        most = max(of_all[fold] for fold in folds)
        folds = [fold for fold in folds if of_all[fold] == most]
    return _one_of(folds, random)


def _one_of(numbers: Sequence[int] | NDArray[np.intp], random: _Random) -> int:
    """Return one of several numbers; a single one needs no draw."""
    return int(numbers[random.choice(len(numbers)) if len(numbers) > 1 else 0])
