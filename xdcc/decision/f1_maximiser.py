"""The labelset with the highest expected example-based F1 (general F-measure maximiser).

Thresholding marginal probabilities at 0.5 is best for Hamming loss, not for F1. Which labelset is
best for F1 depends on the joint distribution only through `SizedMarginals`,

    P(y_j = 1, |y| = s)   for each label j and each size s of a labelset, and P(|y| = 0).

For a predicted labelset h of size k > 0 the expected F1 is the sum over its labels of

    delta_jk = sum over s of 2 P(y_j = 1, |y| = s) / (s + k),

so the best h of size k holds the k labels with the largest delta_jk, and the best of all is found
by comparing the sizes. For F-beta, (1 + b) |y and h| / (b |y| + |h|) with b the square of beta, the
fraction is (1 + b) / (b s + k). The empty labelset scores P(|y| = 0), because 0/0 is 1 as in
`xdcc.metrics.example_f1`. Source: Dembczyński, Waegeman, Cheng, Hüllermeier: "An Exact Algorithm
for F-Measure Maximization" (NeurIPS 2011), Algorithm 1.

The distribution comes as weighted labelsets (`SizedMarginals.of_labelsets`) or as labelsets drawn
for each row (`SizedMarginals.of_samples`).
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.label_rows import row_blocks

type Floats = NDArray[np.float64]

_ROUNDING = 1e-6
"""How far probabilities may lie below 0 and their sum above 1, as sums of float32 do."""

_ROWS_AT_ONCE = 64
"""Rows of which as many labels are looked at as the one with most possible labels has."""

_MARGIN = 1e-9
"""Limits of what is looked at are wider by this share, for rounding."""


class F1Maximum(NamedTuple):
    """Predicted labelsets and what they are expected to score.

    Attributes
    ----------
    labels : int array of shape (n_samples, n_labels)
        Zeros and ones.
    expected_f1 : float array of shape (n_samples,)
        Expected example-based F1, 0 to 1.

    Examples
    --------
    >>> best = SizedMarginals.of_samples([[[1, 0], [1, 1]]]).maximise()
    >>> best.labels, best.expected_f1
    (array([[1, 0]]), array([0.83333333]))
    """

    labels: NDArray[np.int64]
    expected_f1: Floats


@documented
class SizedMarginals(NamedTuple):
    """For each row, how probable a label is together with the size of the labelset.

    Attributes
    ----------
    joint : float array of shape (n_samples, n_labels, n_sizes)
        ``P(y_j = 1, |y| = s)``.
    sizes : int array of shape (n_sizes,)
        The sizes s, each at least 1 and at most n_labels.
    empty : float array of shape (n_samples,)
        ``P(|y| = 0)``.

    Examples
    --------
    >>> labelsets, probabilities = [[0, 0], [1, 0], [1, 1]], [[0.4, 0.3, 0.3]]
    >>> SizedMarginals.of_labelsets(labelsets, probabilities).maximise()
    F1Maximum(labels=array([[1, 1]]), expected_f1=array([0.5]))
    """

    joint: Floats
    sizes: NDArray[np.intp]
    empty: Floats

    @classmethod
    def of_labelsets(cls, labelsets: ArrayLike, probabilities: ArrayLike) -> Self:
        """Sum up labelsets that are the same for all rows and have a probability in each.

        Parameters
        ----------
        labelsets : array-like of shape (n_sets, n_labels)
            Zeros and ones.
        probabilities : array-like of shape (n_samples, n_sets)
            Not negative; each row sums to 1.

        Returns
        -------
        SizedMarginals

        {raises_for_arguments}
        """
        sets = _check_binary(labelsets, "labelsets", 2)
        weight = _check_probabilities(probabilities)
        if weight.shape[1] != len(sets):
            raise ValueError(
                f"probabilities has {weight.shape[1]} columns for {len(sets)} labelsets."
            )
        return cls(*LabelsetSizes(sparse.csr_array(sets)).sum_up(weight.T))

    @classmethod
    def of_samples(cls, samples: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Sum up labelsets that were drawn for each row.

        Parameters
        ----------
        samples : array-like of shape (n_samples, n_draws, n_labels)
            Zeros and ones.
        weights : array-like of shape (n_samples, n_draws), optional
            Probability of each draw; not negative, each row sums to 1. None counts all draws
            equally.

        Returns
        -------
        SizedMarginals

        {raises_for_arguments}
        """
        draws = _check_binary(samples, "samples", 3)
        if weights is None:
            weight = np.full(draws.shape[:2], 1 / draws.shape[1])
        else:
            weight = _check_probabilities(weights)
            if weight.shape != draws.shape[:2]:
                raise ValueError(
                    f"weights has the shape {weight.shape}; samples needs {draws.shape[:2]}."
                )
        size = draws.sum(axis=2).astype(np.intp)
        sizes = np.unique(size[size > 0])
        # weight of a draw in the column of its size: (n_samples, n_draws, n_sizes)
        by_size = weight[:, :, None] * (size[:, :, None] == sizes)
        joint = draws.transpose(0, 2, 1) @ by_size
        return cls(joint, sizes, (weight * (size == 0)).sum(axis=1))

    def maximise(self, beta: float = 1.0) -> F1Maximum:
        """Find the labelset with the highest expected F1, or F-beta, for each row.

        Of equally good labelsets the smaller one is taken, of equally good labels the first.

        Parameters
        ----------
        beta : float, default=1.0
            How much more recall counts than precision; not negative.

        Returns
        -------
        F1Maximum

        Raises
        ------
        ValueError
            If shapes do not fit, a size is not between 1 and n_labels, a probability is
            negative or not finite, or beta is negative.
        """
        self._check()
        check_domain("beta", beta, Number(low=0))
        n_samples, n_labels, _ = self.joint.shape
        labels = np.zeros((n_samples, n_labels), dtype=np.int64)
        expected = np.empty(n_samples)
        possible, largest = self._limits(beta**2)
        n_possible = possible.sum(axis=1)
        # Rows with about as many possible labels stand together, each with its own labels.
        by_number = np.argsort(n_possible, kind="stable")
        for begin in range(0, n_samples, _ROWS_AT_ONCE):
            rows = by_number[begin : begin + _ROWS_AT_ONCE]
            n_most = max(1, int(n_possible[rows[-1]]))
            # The possible labels first, in their order.
            kept = np.argsort(~possible[rows], axis=1, kind="stable")[:, :n_most]
            kept.sort(axis=1)
            joint = np.take_along_axis(self.joint[rows], kept[:, :, None], axis=1)
            n_sizes = min(n_most, int(largest[rows].max()))
            chosen, expected[rows] = _best_of(joint, self.sizes, self.empty[rows], beta**2, n_sizes)
            found = np.zeros((len(rows), n_labels), dtype=np.int64)
            np.put_along_axis(found, kept, chosen, axis=1)
            labels[rows] = found
        return F1Maximum(labels, expected)

    def _limits(self, b: float) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Tell which labels can be in a best labelset, (n_samples, n_labels), and how many.

        A best labelset h* scores at least F, what the best single label or no label scores.

        Let it be of size k + 1, j in h*, h the others. Without j, h scores no more than h*, while
        j brings at most p_j (1 + b) / (b + k + 1) and what it takes from the others is at least
        what h scores / (b s + k + 1), s being the largest size. So
        p_j >= F (b + k + 1) / ((1 + b) (b s + k + 2)), which is least at k = 1 (for k = 0,
        p_j >= F). And with k labels, h* scores at most (1 + b) E|y| / (b + k), which limits k.
        """
        proba = self.joint.sum(axis=2)
        if not len(self.sizes):
            return proba > 0, np.ones(len(proba), dtype=np.intp)
        single = (self.joint @ ((1 + b) / (b * self.sizes + 1))).max(axis=1)
        least = (1 - _MARGIN) * np.maximum(single, self.empty)
        share = (b + 2) / ((1 + b) * (b * self.sizes.max() + 3))
        most = (1 + b) * proba.sum(axis=1) / np.maximum(least, np.finfo(np.float64).tiny) - b
        largest = np.clip(most, 1, proba.shape[1]).astype(np.intp)
        return proba >= share * least[:, None], largest

    def _check(self) -> None:
        if self.joint.ndim != 3 or self.joint.shape[2] != len(self.sizes):
            raise ValueError(
                f"joint has the shape {self.joint.shape}; it must be (n_samples, n_labels, "
                f"{len(self.sizes)}), the last for the sizes."
            )
        n_samples, n_labels, _ = self.joint.shape
        if self.empty.shape != (n_samples,):
            raise ValueError(f"empty has the shape {self.empty.shape}, expected ({n_samples},).")
        outside = (self.sizes < 1) | (self.sizes > n_labels)
        if outside.any():
            raise ValueError(
                f"sizes has {self.sizes[outside][0]}; a size is between 1 and {n_labels}."
            )
        for name, values in (("joint", self.joint), ("empty", self.empty)):
            if not (values >= -_ROUNDING).all() or not np.isfinite(values).all():
                raise ValueError(f"{name} has a probability that is negative or not finite.")


class LabelsetSizes:
    """The sums over labelsets behind `SizedMarginals.of_labelsets`, as one sparse product.

    Parameters
    ----------
    labelsets : sparse CSR array of shape (n_sets, n_labels)
        Zeros and ones.
    """

    def __init__(self, labelsets: sparse.csr_array) -> None:
        n_sets, self._n_labels = labelsets.shape
        size = np.asarray(labelsets.sum(axis=1)).astype(np.intp)
        self._sizes, position = np.unique(size[size > 0], return_inverse=True)
        self._is_empty = size == 0
        of_set = np.zeros(n_sets, dtype=np.intp)
        of_set[~self._is_empty] = position
        entries = labelsets.tocoo()
        # A row for each pair of a label and a size; labelset u has the ones of its labels there.
        pair = entries.col * np.intp(len(self._sizes)) + of_set[entries.row]
        self._sum = sparse.csr_array(
            (np.ones(len(pair)), (pair, entries.row)),
            shape=(self._n_labels * len(self._sizes), n_sets),
        )

    def sum_up(self, probabilities: Floats) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Compute joint, sizes and empty of `SizedMarginals` for `(n_sets, n_samples)`."""
        shape = (self._n_labels, len(self._sizes), probabilities.shape[1])
        joint = (self._sum @ probabilities).reshape(shape).transpose(2, 0, 1)
        empty = probabilities[self._is_empty].sum(axis=0)
        return np.ascontiguousarray(joint), self._sizes, empty


def _best_of(
    joint: Floats, sizes: NDArray[np.intp], empty: Floats, b: float, n_sizes: int
) -> tuple[NDArray[np.int64], Floats]:
    """Find the best labelset of up to `n_sizes` labels for some rows, and what it is to score."""
    n_rows, n_labels, _ = joint.shape
    k = np.arange(1, n_sizes + 1)
    labels = np.zeros((n_rows, n_labels), dtype=np.int64)
    expected = np.empty(n_rows)
    gain = (1 + b) / (b * sizes + k[:, None])
    is_taken = np.arange(n_labels) < k[:, None]
    for rows in row_blocks((n_rows, n_sizes * n_labels)):
        delta = gain @ joint[rows].transpose(0, 2, 1)  # (n_rows, n_sizes, n_labels)
        best_first = -np.sort(-delta, axis=2)
        of_size = (best_first * is_taken).sum(axis=2)
        scores = np.column_stack((empty[rows], of_size))
        size = scores.argmax(axis=1)
        expected[rows] = scores.max(axis=1)
        of_chosen = delta[np.arange(len(size)), np.maximum(size, 1) - 1]
        chosen = np.argsort(-of_chosen, axis=1, kind="stable")
        np.put_along_axis(labels[rows], chosen, np.arange(n_labels) < size[:, None], axis=1)
    return labels, expected


def _check_binary(values: ArrayLike, name: str, n_dimensions: int) -> Floats:
    """Return zeros and ones as floats, for matrix products."""
    array = np.asarray(values)
    if array.ndim != n_dimensions or 0 in array.shape:
        raise ValueError(
            f"{name} has the shape {array.shape}; expected {n_dimensions} dimensions of at least 1."
        )
    if not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} has other values than 0 and 1.")
    return array.astype(np.float64)


def _check_probabilities(values: ArrayLike) -> Floats:
    """Return a matrix of probabilities, the rows of which sum to 1."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"Probabilities have the shape {array.shape}; expected a matrix.")
    if not (array >= -_ROUNDING).all():
        raise ValueError("A probability is negative or NaN.")
    total = array.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(total - 1) <= _ROUNDING * array.shape[1] + 1e-9))
    if len(wrong):
        raise ValueError(
            f"The probabilities of row {wrong[0]} sum to {total[wrong[0]]:g}, expected 1."
        )
    return array
