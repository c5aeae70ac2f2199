"""Labelsets that occur in training: their numbers, and ``KnownLabelsets``, which predicts them.

Labels that are predicted one by one may make a combination that never occurs, for example an empty
one where every row has a label. If whole labelsets count (subset accuracy), the most probable known
labelset can be predicted instead. BOOMER predicts so with its
example-wise loss (equation 19 of the BOOMER paper: the known label vector with the smallest loss);
here it serves every estimator that gives probabilities.

With independent labels given x, the posterior over the known labelsets U with their counts n_U is

    P(U | x)  is proportional to  exp(t * sum over j of log P(y_j = U_j | x)) * n_U ** a,

where the temperature t is the trust in the probabilities (dependent labels repeat each
other: t < 1), and a how much the frequency in training. The sum over labels is, up to a term that
all labelsets of a row share, the sum of log P(y_j = 1) / P(y_j = 0) over the labels *in* U. So
neither the matrix of rows and labelsets nor one of rows, labels and labelsets is ever there as a
whole: decisions are made for a few rows at a time in a kernel (``labelset_rules.h``).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import check_labels
from xdcc.base.libraries import sparse
from xdcc.base.margins import margins_of
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.base.weights import check_weight
from xdcc.decision._labelset_rules import LabelsetRules
from xdcc.decision.cuts import Floats, check_proba

_BLOCK_ENTRIES = 2**20
"""Rows times labelsets of a block: 8 MiB for each of the few matrices that are there at once."""


class LabelsetPosterior:
    """Labelsets in the order in which ties between them are decided, ready for decisions.

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
        sizes = np.count_nonzero(self.labelsets, axis=1)
        self._rules = LabelsetRules(
            np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
            np.nonzero(self.labelsets)[1].astype(np.int32),
            self.log_counts,
            labelsets.shape[1],
        )

    def decide(
        self, margins: Floats, rules: Sequence[tuple[bool, float, float, float]]
    ) -> NDArray[np.int8]:
        """Predict labels, `(n_rules, n_samples, n_labels)`, from log-odds, by several rules.

        A rule has four values: whether the expected F-beta is maximised instead of the posterior
        probability; t; a; and beta. Among labelsets with equal posteriors the more frequent one is
        predicted, then the first.
        """
        return self._rules.decide(np.ascontiguousarray(margins, dtype=np.float64), rules)

    def likeliest(
        self, margins: Floats, n_most: int, prior: float
    ) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
        """Find the `n_most` labelsets of the highest posterior with t = 1 and a = `prior`.

        Returns the rows, `(n_rows * n_most,)`, in order, and their labelsets, `(n_rows * n_most,
        n_labels)`, in no order within a row. `n_most` is at most the number of known labelsets.
        """
        indicators = sparse.csr_array(self.labelsets.astype(np.float64))
        found = [np.empty((0, n_most), dtype=np.intp)]
        for rows in row_blocks((len(margins), len(self.labelsets)), _BLOCK_ENTRIES):
            score = indicators @ margins[rows].T + prior * self.log_counts[:, np.newaxis]
            found.append(np.argpartition(-score, n_most - 1, axis=0)[:n_most].T)
        likely = np.concatenate(found)
        return np.repeat(np.arange(len(likely)), n_most), self.labelsets[likely.ravel()]


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


@stored
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

    labelsets: Annotated[NDArray[np.int8], Shape(None, None)]
    counts: Annotated[NDArray[Any], Shape("labelsets")]

    def __init__(self, labelsets: NDArray[np.int8], counts: NDArray[Any]) -> None:
        self.labelsets = labelsets
        self.counts = counts
        self._posterior = LabelsetPosterior(labelsets, counts)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labelsets.shape[1])

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
        return cls(labelsets, np.bincount(number, rows.row_weight))

    def most_probable(self, Y_proba: ArrayLike, *, prior: float = 0.0) -> NDArray[np.int64]:
        """Predict the known labelset with the largest probability in each row.

        The labels' probabilities are multiplied as if they were independent, times the
        labelset's count to the power of `prior`. Ties go to the more frequent labelset, then to
        the lexicographically smaller one.

        Parameters
        ----------
        Y_proba : array-like of shape (n_samples, n_labels)
            Probabilities. They are clipped to [1e-6, 1 - 1e-6], so that no label alone rules out a
            labelset.
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
        margins = margins_of(check_proba(Y_proba))
        return self.posterior_of(margins).decide(margins, [(False, 1.0, prior, 1.0)])[0].astype(int)

    def posterior_of(self, margins: Floats) -> LabelsetPosterior:
        """Get the posterior over these labelsets, for rows of such log-odds.

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
        return self._posterior
