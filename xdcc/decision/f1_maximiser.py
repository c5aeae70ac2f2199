"""The labelset with the highest expected example-based F1 (general F-measure maximiser).

Thresholding marginal probabilities at 0.5 is best for Hamming loss, not for F1. Which labelset is
best for F1 depends on the joint distribution only through `SizedMarginals`,

    P(y_j = 1, |y| = s)   for each label j and each size s of a labelset, and P(|y| = 0).

For a predicted labelset h of size k > 0 the expected F1 is the sum over its labels of

    delta_jk = sum over s of 2 P(y_j = 1, |y| = s) / (s + k),

so the best h of size k holds the k labels with the largest delta_jk, and the best of all is found
by comparing the sizes. For F-beta, (1 + b) |y and h| / (b |y| + |h|) with b the square of beta, the
fraction is (1 + b) / (b s + k). The empty labelset scores P(|y| = 0), because 0/0 is 1 as in
`xdcc.metrics.example_f1`.

The best labelset h* scores at least F, what the best single label or no label scores, which limits
the labels and sizes to look at. Let h* be of size k + 1, j in h*, h the others. Without j, h scores
no more than h*, while j brings at most p_j (1 + b) / (b + k + 1) and what it takes from the others
is at least what h scores / (b s + k + 1), s being the largest size. So
p_j >= F (b + k + 1) / ((1 + b) (b s + k + 2)), which is least at k = 1 (for k = 0, p_j >= F). And
with k labels, h* scores at most (1 + b) E|y| / (b + k), which limits k.

Source: Dembczyński, Waegeman, Cheng, Hüllermeier: "An Exact Algorithm
for F-Measure Maximization" (NeurIPS 2011), Algorithm 1.

The distribution comes as weighted labelsets (`SizedMarginals.of_labelsets`) or as labelsets drawn
for each row (`SizedMarginals.of_samples`).
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.decision._labelset_rules import maximise_f1

type Floats = NDArray[np.float64]

_ROUNDING = 1e-6
"""Tolerance for probabilities below 0 and sums above 1, as sums of float32 can be."""


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
    >>> labelsets, probabilities = [[0, 0], [1, 0], [1, 1]], [[0.2, 0.2, 0.6]]
    >>> SizedMarginals.of_labelsets(labelsets, probabilities).maximise()
    F1Maximum(labels=array([[1, 1]]), expected_f1=array([0.73333333]))
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
        size = sets.sum(axis=1).astype(np.intp)
        sizes = np.unique(size[size > 0])
        joint = [weight[:, size == s] @ sets[size == s] for s in sizes]
        nothing = np.empty((len(weight), sets.shape[1], 0))
        empty = weight @ (size == 0)
        return cls(np.stack(joint, axis=2) if joint else nothing, sizes, empty)

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

        Among equally good labelsets, the smallest is returned; among equally good labels, the
        first is taken.

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
        joint, empty = (
            np.ascontiguousarray(part, dtype=np.float64) for part in (self.joint, self.empty)
        )
        return F1Maximum(*maximise_f1(joint, self.sizes.astype(np.int64), empty, beta))

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
