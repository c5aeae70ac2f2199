"""Labelsets that occur in training: their numbers, and ``KnownLabelsets``, which predicts them.

Labels that are read off probabilities one by one may make a combination that never occurs, an
empty one for example where every row has a label. Whoever wants whole labelsets right (subset
accuracy) can take the known labelset that is most probable instead. BOOMER predicts so with its
example-wise loss (equation 19 of the BOOMER paper: the known label vector with the smallest loss);
here it serves every estimator that gives probabilities.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.fit_data import check_weight
from xdcc.base.labels import check_labels
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.labelset_posterior import LabelsetPosterior, PosteriorBlock


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
    counts : int or float array of shape (n_labelsets,)
        How often each occurs; with weights, how much its rows weigh.

    Examples
    --------
    >>> known = KnownLabelsets.of([[1, 0], [0, 1], [0, 1]])
    >>> known.labelsets.tolist(), known.counts.tolist()
    ([[0, 1], [1, 0]], [2, 1])
    >>> known.most_probable([[0.9, 0.8]])
    array([[1, 0]])
    """

    def __init__(self, labelsets: NDArray[np.int8], counts: NDArray[Any]) -> None:
        self.labelsets = labelsets
        self.counts = counts
        self._posterior = LabelsetPosterior(labelsets, counts)

    @classmethod
    def of(cls, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Collect the labelsets of some rows.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. Rows with an unknown label are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; those of weight 0 are left out.

        Returns
        -------
        KnownLabelsets

        Raises
        ------
        ValueError
            If Y is not as described, or every row has an unknown label.
        """
        labels = check_labels(Y).Y
        weight = check_weight(sample_weight, len(labels))
        whole = ~np.isnan(labels).any(axis=1)
        if weight is not None:
            whole &= weight > 0
        if not whole.any():
            raise ValueError("Every row of Y has an unknown label: there is no known labelset.")
        labelsets, number = np.unique(labels[whole].astype(np.int8), axis=0, return_inverse=True)
        return cls(labelsets, np.bincount(number, None if weight is None else weight[whole]))

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
        found = np.empty(proba.shape, dtype=np.int64)
        for block in self.posterior_blocks(proba):
            found[block.rows] = block.most_probable(prior)
        return found

    def posterior_blocks(self, proba: Floats) -> Iterator[PosteriorBlock]:
        """Walk over rows with the posterior over these labelsets.

        Parameters and results are as in :meth:`LabelsetPosterior.blocks`.

        Raises
        ------
        ValueError
            If there is another number of labels.
        """
        n_labels = self.labelsets.shape[1]
        if proba.shape[1] != n_labels:
            raise ValueError(
                f"Y_proba has {proba.shape[1]} labels, the known labelsets have {n_labels}."
            )
        yield from self._posterior.blocks(proba)
