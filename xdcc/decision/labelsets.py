"""Labelsets that occur in training: their numbers, and ``KnownLabelsets``, which predicts them.

Labels that are predicted one by one may make a combination that never occurs, for example an empty
one where every row has a label. If whole labelsets count (subset accuracy), the most probable known
labelset can be predicted instead. BOOMER predicts so with its
example-wise loss (equation 19 of the BOOMER paper: the known label vector with the smallest loss);
here it serves every estimator that gives probabilities.

`PosteriorBlock` is the posterior over them, for a block of rows. With independent labels given x,
the known labelsets U and their counts n_U,

    P(U | x)  is proportional to  exp(t * sum over j of log P(y_j = U_j | x)) * n_U ** a,

where the temperature t tells how much the probabilities are trusted (dependent labels repeat each
other: t < 1), and a how much the frequency in training. The sum over labels is, up to a term that
all labelsets of a row share, the sum of log P(y_j = 1) / P(y_j = 0) over the labels *in* U: one
sparse matrix product for a block of rows. So neither the matrix of rows and labelsets nor one of
rows, labels and labelsets is ever there as a whole.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import check_weight, row_blocks
from xdcc.base.labels import check_labels
from xdcc.base.margins import margins_of
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.f1_maximiser import LabelsetSizes, SizedMarginals

_BLOCK_ENTRIES = 2**20
"""Rows times labelsets of a block: 8 MiB for each of the few matrices that are there at once."""


class LabelsetPosterior:
    """Labelsets in the order in which ties between them are decided, ready for products.

    Parameters
    ----------
    labelsets : int8 array of shape (n_sets, n_labels)
        Zeros and ones, distinct.
    counts : array of shape (n_sets,)
        How often each occurs, or how much its rows weigh; positive.
    """

    def __init__(self, labelsets: NDArray[np.int8], counts: NDArray[np.floating]) -> None:
        by_count = np.lexsort((np.arange(len(counts)), -counts))
        self.labelsets = labelsets[by_count]
        self.log_counts = np.log(counts[by_count])
        self.indicators = sparse.csr_array(self.labelsets.astype(np.float64))
        self.sizes = LabelsetSizes(self.indicators)

    def blocks(self, margins: Floats) -> "Iterator[PosteriorBlock]":
        """Walk over rows, given their log-odds `(n_samples, n_labels)`."""
        for rows in row_blocks((len(margins), len(self.labelsets)), _BLOCK_ENTRIES):
            yield PosteriorBlock(self, rows, self.indicators @ margins[rows].T)


class PosteriorBlock:
    """The posterior for some rows, for any temperature and prior.

    Attributes
    ----------
    rows : slice
        Which rows.
    """

    def __init__(self, known: LabelsetPosterior, rows: slice, log_odds: Floats) -> None:
        self.rows = rows
        self._known = known
        self._log_odds = log_odds  # (n_sets, n_rows)
        self._tempered: dict[float, Floats] = {}

    def most_probable(self, prior: float) -> NDArray[np.int8]:
        """Predict the labelset of the highest posterior with t = 1 and a = `prior`.

        Ties go to the more frequent labelset, then the first.
        """
        score = self._log_odds + prior * self._known.log_counts[:, np.newaxis]
        return self._known.labelsets[score.argmax(axis=0)]

    def likeliest(self, n_most: int, prior: float) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
        """Find the `n_most` labelsets of the highest posterior with t = 1 and a = `prior`.

        Returns the rows, `(n_rows * n_most,)`, in order, and their labelsets, `(n_rows * n_most,
        n_labels)`, in no order within a row. `n_most` is at most the number of known labelsets.
        """
        score = self._log_odds + prior * self._known.log_counts[:, np.newaxis]
        likely = np.argpartition(-score, n_most - 1, axis=0)[:n_most].T
        return np.repeat(np.arange(len(likely)), n_most), self._known.labelsets[likely.ravel()]

    def probabilities(self, temperature: float, prior: float) -> Floats:
        """Compute the posterior, `(n_sets, n_rows)`, with t = `temperature` and a = `prior`."""
        if temperature not in self._tempered:
            highest = self._log_odds.max(axis=0)
            self._tempered[temperature] = np.exp(temperature * (self._log_odds - highest))
        log_counts = self._known.log_counts - self._known.log_counts.max()
        weight = self._tempered[temperature] * np.exp(prior * log_counts)[:, np.newaxis]
        weight /= weight.sum(axis=0)
        return weight

    def best_for_f1(self, temperature: float, prior: float, beta: float) -> NDArray[np.int8]:
        """Predict the labelset, known or not, of the highest expected F-beta."""
        parts = self._known.sizes.sum_up(self.probabilities(temperature, prior))
        return SizedMarginals(*parts).maximise(beta).labels.astype(np.int8)


def number_labelsets(
    Y: NDArray[np.floating], sample_weight: NDArray[np.floating] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Give numbers to the distinct labelsets of some rows, the most frequent first.

    Returns them, `(n_labelsets, n_labels)`, equally frequent ones in lexicographic order, and the
    number of each row's labelset. Frequencies are weighted.

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

    _stored = MappingProxyType({"labelsets": NDArray[np.int8], "counts": NDArray[Any]})

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
        data = check_labels(Y)
        return cls.of_data(data._replace(sample_weight=check_weight(sample_weight, len(data.Y))))

    @classmethod
    def of_data(cls, data: FitData) -> Self:
        """Collect the labelsets of checked rows, as `of` does."""
        rows = data.take(data.whole)
        if not len(rows.Y):
            raise ValueError("Every row of Y has an unknown label: there is no known labelset.")
        labelsets, number = np.unique(rows.Y.astype(np.int8), axis=0, return_inverse=True)
        return cls(labelsets, np.bincount(number, rows.sample_weight))

    def most_probable(self, Y_proba: ArrayLike, *, prior: float = 0.0) -> NDArray[np.int64]:
        """Predict the known labelset with the largest probability in each row.

        The labels' probabilities are multiplied as if they were independent, times the
        labelset's count to the power of `prior`. Ties go to the more frequent labelset, then to
        the lexicographically smaller one.

        Parameters
        ----------
        Y_proba : array-like of shape (n_samples, n_labels)
            Probabilities. Those below 1e-6 count as 1e-6, so that one label alone rules out no
            labelset; likewise at 1.
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
        for block in self.posterior_blocks(margins_of(proba)):
            found[block.rows] = block.most_probable(prior)
        return found

    def posterior_blocks(self, margins: Floats) -> Iterator[PosteriorBlock]:
        """Walk over rows with the posterior over these labelsets.

        Parameters and results are as in :meth:`LabelsetPosterior.blocks`.

        Raises
        ------
        ValueError
            If there is another number of labels.
        """
        n_labels = self.labelsets.shape[1]
        if margins.shape[1] != n_labels:
            raise ValueError(
                f"Y_proba has {margins.shape[1]} labels, the known labelsets have {n_labels}."
            )
        yield from self._posterior.blocks(margins)
