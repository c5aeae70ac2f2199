"""Labels that are the same in all training rows: nothing can be learned of them but that."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.labels import Labels
from xdcc.decision.cuts import Floats


class ConstantLabels(NamedTuple):
    """Which labels have one value only, where they are known.

    Attributes
    ----------
    value : float64 array of shape (n_labels,)
        Their value, NaN for the other labels.
    proba : float64 array of shape (n_labels,)
        Probability that such a label is 1 in a new row, NaN for the other labels. It is that of
        Laplace's rule of succession, as no number of rows makes it certain that the next one is no
        different.

    Examples
    --------
    >>> constant = ConstantLabels.of(np.array([[0, 1], [0, 0]], np.float32), None)
    >>> constant.value, constant.proba
    (array([ 0., nan]), array([0.25,  nan]))
    """

    value: Floats
    proba: Floats

    @classmethod
    def of(cls, Y: Labels, weight: NDArray[np.floating] | None) -> Self:
        """Find them.

        Parameters
        ----------
        Y : float32 array of shape (n_samples, n_labels)
            0, 1, or NaN where a label is unknown.
        weight : float array of shape (n_samples,) or None
            Weights of the rows; those of weight 0 do not count.

        Returns
        -------
        ConstantLabels
        """
        known = ~np.isnan(Y)
        if weight is not None:
            known &= weight[:, np.newaxis] > 0
        n_known, n_present = known.sum(axis=0), ((Y == 1) & known).sum(axis=0)
        is_constant = (n_present == 0) | (n_present == n_known)
        value = np.where(is_constant, (n_present > 0).astype(np.float64), np.nan)
        return cls(value, np.where(is_constant, (n_present + 1) / (n_known + 2), np.nan))

    @property
    def varied(self) -> NDArray[np.bool_]:
        """Which labels have both values, (n_labels,)."""
        return np.isnan(self.value)

    def in_proba(self, proba: Floats) -> Floats:
        """Put their probabilities in place of others.

        Parameters
        ----------
        proba : float64 array of shape (n_samples, n_labels)
            Probabilities.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            A new one.
        """
        return np.where(self.varied, proba, self.proba)
