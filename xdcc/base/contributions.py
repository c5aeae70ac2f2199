"""``Contributions``: margins as sums over the features, which is what SHAP values are.

Models that are linear functions of the margins of others are explained by the same functions of
their contributions.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]

_MOST_ROUNDING = 1e-3
"""Largest relative error of a sum over many trees in single precision."""


class Contributions(NamedTuple):
    """The contribution of each feature to each margin.

    Attributes
    ----------
    values : float64 array of shape (n_samples, n_labels, n_features)
        Contributions of the features.
    bias : float64 array of shape (n_samples, n_labels)
        The margin if nothing of the row is known, to which contributions are added.

    Examples
    --------
    >>> found = Contributions(np.array([[[0.5, -1.0]]]), np.array([[2.0]]))
    >>> found.margins, found.scaled(2, 1).margins
    (array([[1.5]]), array([[4.]]))
    >>> Contributions.total([0.5, 0.5], [found, found.scaled(0, 0)]).margins
    array([[0.75]])
    """

    values: Floats
    bias: Floats

    @property
    def margins(self) -> Floats:
        """The margins that they add up to, `(n_samples, n_labels)`."""
        return self.values.sum(axis=2) + self.bias

    def scaled(self, slope: Floats | float, intercept: Floats | float) -> Self:
        """Explain ``slope * margins + intercept``; each is a number, or one for each label."""
        slope = np.broadcast_to(slope, self.bias.shape[1:])
        return type(self)(self.values * slope[:, np.newaxis], self.bias * slope + intercept)

    def rounded_to(self, margins: NDArray[np.floating]) -> Self:
        """Explain margins that differ by rounding: divide the rest in proportion to the sizes.

        A RuntimeError says that they differ by more.
        """
        size = np.abs(self.values)
        total = size.sum(axis=2) + np.abs(self.bias)
        rest = margins - self.margins
        if (np.abs(rest) > _MOST_ROUNDING * (1 + total)).any():
            most = np.abs(rest).max()
            raise RuntimeError(f"Contributions differ from the margins by up to {most:.3g}.")
        share = np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
        return type(self)(
            self.values + share[:, :, np.newaxis] * size, self.bias + share * np.abs(self.bias)
        )

    @classmethod
    def total(cls, weights: Sequence[float], parts: Sequence[Self]) -> Self:
        """Explain a weighted sum of margins; `parts` explain each of them."""
        values, bias = np.zeros(parts[0].values.shape), np.zeros(parts[0].bias.shape)
        for weight, part in zip(weights, parts, strict=True):
            values += weight * part.values
            bias += weight * part.bias
        return cls(values, bias)

    @classmethod
    def mean(cls, parts: Sequence[Self]) -> Self:
        """Explain the mean of margins; `parts` explain each of them."""
        return cls.total([1 / len(parts)] * len(parts), parts)
