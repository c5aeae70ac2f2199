"""The posterior over known labelsets, for blocks of rows.

With independent labels given x, the known labelsets U and their counts n_U,

    P(U | x)  is proportional to  exp(t * sum over j of log P(y_j = U_j | x)) * n_U ** a,

where the temperature t tells how much the probabilities are trusted (dependent labels repeat each
other: t < 1), and a how much the frequency in training. The sum over labels is, up to a term that
all labelsets of a row share, the sum of log P(y_j = 1) / P(y_j = 0) over the labels *in* U: one
sparse matrix product for a block of rows. So neither the matrix of rows and labelsets nor one of
rows, labels and labelsets is ever there as a whole.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.label_rows import row_blocks
from xdcc.decision.f1_maximiser import LabelsetSizes, SizedMarginals

type Floats = NDArray[np.float64]

_SMALLEST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that one label alone rules out no labelset."""

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

    def blocks(self, proba: Floats) -> "Iterator[PosteriorBlock]":
        """Walk over rows.

        Parameters
        ----------
        proba : float64 array of shape (n_samples, n_labels)
            Checked probabilities.

        Yields
        ------
        PosteriorBlock
            Of the next rows.
        """
        for rows in row_blocks((len(proba), len(self.labelsets)), _BLOCK_ENTRIES):
            p = np.clip(proba[rows].T, _SMALLEST, 1 - _SMALLEST)
            yield PosteriorBlock(self, rows, self.indicators @ (np.log(p) - np.log1p(-p)))


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
        """Predict the labelset of the highest posterior with t = 1.

        Parameters
        ----------
        prior : float
            The exponent a.

        Returns
        -------
        int8 array of shape (n_rows, n_labels)
            Zeros and ones. Ties go to the more frequent labelset, then the first.
        """
        score = self._log_odds + prior * self._known.log_counts[:, np.newaxis]
        return self._known.labelsets[score.argmax(axis=0)]

    def likeliest(self, n_most: int, prior: float) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
        """Find some labelsets of a high posterior with t = 1.

        Parameters
        ----------
        n_most : int
            How many for each row; at most as many as there are.
        prior : float
            The exponent a.

        Returns
        -------
        row : int array of shape (n_rows * n_most,)
            The rows, from 0, in order.
        labelsets : int8 array of shape (n_rows * n_most, n_labels)
            Those of the row, in no order.
        """
        score = self._log_odds + prior * self._known.log_counts[:, np.newaxis]
        likely = np.argpartition(-score, n_most - 1, axis=0)[:n_most].T
        return np.repeat(np.arange(len(likely)), n_most), self._known.labelsets[likely.ravel()]

    def probabilities(self, temperature: float, prior: float) -> Floats:
        """Compute the posterior.

        Parameters
        ----------
        temperature, prior : float
            The exponents t and a.

        Returns
        -------
        float64 array of shape (n_sets, n_rows)
            Each column sums to 1.
        """
        if temperature not in self._tempered:
            highest = self._log_odds.max(axis=0)
            self._tempered[temperature] = np.exp(temperature * (self._log_odds - highest))
        log_counts = self._known.log_counts - self._known.log_counts.max()
        weight = self._tempered[temperature] * np.exp(prior * log_counts)[:, np.newaxis]
        weight /= weight.sum(axis=0)
        return weight

    def best_for_f1(self, temperature: float, prior: float, beta: float) -> NDArray[np.int8]:
        """Predict the labelset, known or not, of the highest expected F-beta.

        Parameters
        ----------
        temperature, prior : float
            The exponents t and a.
        beta : float
            1 for F1.

        Returns
        -------
        int8 array of shape (n_rows, n_labels)
            Zeros and ones.
        """
        parts = self._known.sizes.sum_up(self.probabilities(temperature, prior))
        return SizedMarginals(*parts).maximise(beta).labels.astype(np.int8)
