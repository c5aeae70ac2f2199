"""Labelsets that occur in training: their numbers, and ``KnownLabelsets``, which predicts them.

Labels that are read off probabilities one by one may make a combination that never occurs, an
empty one for example where every row has a label. Whoever wants whole labelsets right (subset
accuracy) can take the known labelset that is most probable instead. BOOMER predicts so with its
example-wise loss (equation 19 of the BOOMER paper: the known label vector with the smallest loss);
here it serves every estimator that gives probabilities.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import check_labels
from xdcc.decision.cuts import check_proba

_SMALLEST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that one label alone rules out no labelset."""


def number_labelsets(
    Y: NDArray[np.floating], sample_weight: NDArray[np.floating] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Give numbers to the distinct labelsets of some rows, the most frequent first.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        Zeros and ones.
    sample_weight : float array of shape (n_samples,), optional
        Weights of the rows in the frequencies.

    Returns
    -------
    labelsets : int8 array of shape (n_labelsets, n_labels)
        Equally frequent ones in lexicographic order.
    labelset : int32 array of shape (n_samples,)
        Number of each row's labelset.

    Examples
    --------
    >>> number_labelsets(np.array([[0, 1], [1, 0], [1, 0]]))
    (array([[1, 0],
           [0, 1]], dtype=int8), array([1, 0, 0], dtype=int32))
    """
    labelsets, labelset = np.unique(Y.astype(np.int8), axis=0, return_inverse=True)
    by_frequency = np.argsort(-np.bincount(labelset, sample_weight), kind="stable")
    return labelsets[by_frequency], np.argsort(by_frequency)[labelset].astype(np.int32)


@documented
class KnownLabelsets:
    """The distinct labelsets of training data.

    Attributes
    ----------
    labelsets : int8 array of shape (n_labelsets, n_labels)
        Zeros and ones, in lexicographic order.
    counts : int array of shape (n_labelsets,)
        How often each occurs.

    Examples
    --------
    >>> known = KnownLabelsets.of([[1, 0], [0, 1], [0, 1]])
    >>> known.labelsets.tolist(), known.counts.tolist()
    ([[0, 1], [1, 0]], [2, 1])
    >>> known.most_probable([[0.9, 0.8]])
    array([[1, 0]])
    """

    def __init__(self, labelsets: NDArray[np.int8], counts: NDArray[np.intp]) -> None:
        self.labelsets = labelsets
        self.counts = counts

    @classmethod
    def of(cls, Y: Any) -> Self:
        """Collect the labelsets of some rows.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. Rows with an unknown label are left out.

        Returns
        -------
        KnownLabelsets

        Raises
        ------
        ValueError
            If Y is not as described, or every row has an unknown label.
        """
        labels = check_labels(Y).Y
        whole = labels[~np.isnan(labels).any(axis=1)]
        if not len(whole):
            raise ValueError("Every row of Y has an unknown label: there is no known labelset.")
        labelsets, counts = np.unique(whole.astype(np.int8), axis=0, return_counts=True)
        return cls(labelsets, counts)

    def most_probable(self, Y_proba: ArrayLike, *, prior: float = 0.0) -> NDArray[np.int64]:
        """Predict the known labelset with the largest probability in each row.

        The labels' probabilities are multiplied as if they were independent, times the
        labelset's count to the power of `prior`. Ties go to the more frequent labelset, then to
        the lexicographically smaller one.

        Parameters
        ----------
        Y_proba : array-like of shape (n_samples, n_labels)
            Probabilities.
        prior : float, default=0.0
            Not negative. How much frequent labelsets are preferred; choose it on validation data.

        {returns_labels}

        Raises
        ------
        ValueError
            If the probabilities are not as described or have another number of labels, or
            `prior` is negative.
        """
        check_domain("prior", prior, Number(low=0))
        proba = check_proba(Y_proba)
        n_labels = self.labelsets.shape[1]
        if proba.shape[1] != n_labels:
            raise ValueError(
                f"Y_proba has {proba.shape[1]} labels, the known labelsets have {n_labels}."
            )
        order = np.lexsort((np.arange(len(self.counts)), -self.counts))
        labelsets = self.labelsets[order].astype(np.float64)
        bonus = prior * np.log(self.counts[order])
        found = np.empty((len(proba), n_labels), dtype=np.int64)
        for rows in row_blocks((len(proba), len(labelsets))):
            p = np.clip(proba[rows], _SMALLEST, 1 - _SMALLEST)
            log_odds = np.log(p) - np.log1p(-p)
            # The sum of log(1 - p) is the same for all labelsets of a row.
            found[rows] = labelsets[(log_odds @ labelsets.T + bonus).argmax(axis=1)]
        return found
