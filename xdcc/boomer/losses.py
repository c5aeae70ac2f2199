"""Losses of BOOMER as functions of labels and scores, with their derivatives.

Labels are 0 and 1 in arrays and -1 and +1 in formulas. The kernel (``derivatives.pxd``) has its
own gradients and Hessians, row by row; these here are plain NumPy: for tests, for the evaluation
set and for prediction, which needs the losses of whole labelsets and probabilities.

What a loss says of probabilities: a labelset y has the weight exp(-loss(y, p)) with the logistic
losses. For the label-wise one this is the product of the labels' sigmoids. The squared losses are
minimal at p = 2 P(y = 1) - 1, so that P(y = 1) is (1 + p) / 2, cut to [0, 1].
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from xdcc.base.label_rows import row_blocks

type Floats = NDArray[np.float64]
type Binary = NDArray[np.integer] | NDArray[np.floating]

_SMALLEST = 1e-6
"""Probabilities of the squared losses are kept this far from 0 and 1 in a labelset's weight."""

_EXACT = 300.0
"""Scores up to this size have exponentials that float64 can hold and sum up."""


class Loss(ABC):
    """A loss of scores, one row at a time.

    Attributes
    ----------
    decomposable : bool
        Whether it is a sum over labels.
    """

    decomposable = True

    @abstractmethod
    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of every row.

        Parameters
        ----------
        Y : array of shape (n_samples, n_labels)
            Zeros and ones.
        scores : float64 array of shape (n_samples, n_labels)
            Scores.

        Returns
        -------
        float64 array of shape (n_samples,)
        """

    @abstractmethod
    def gradients(self, Y: Binary, scores: Floats) -> Floats:
        """First derivatives with respect to the scores (equation 12), shape as `scores`."""

    @abstractmethod
    def hessians(self, Y: Binary, scores: Floats) -> Floats:
        """Second derivatives (equation 12), shape (n_samples, n_labels, n_labels)."""

    @abstractmethod
    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of every labelset in every row, shape (n_samples, n_labelsets)."""

    def labelset_log_weights(self, labelsets: Binary, scores: Floats) -> Floats:
        """Logarithm of what a labelset's probability is proportional to, as `labelset_losses`."""
        return -self.labelset_losses(labelsets, scores)

    def marginals(self, scores: Floats) -> Floats | None:
        """Probability of every label, shape as `scores`; None if only labelsets have one."""
        return None


class LabelWiseLoss(Loss):
    """A sum over labels of a function of the margin y p."""

    @abstractmethod
    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""

    @abstractmethod
    def slope(self, margin: Floats) -> Floats:
        """Its first derivative."""

    @abstractmethod
    def curvature(self, margin: Floats) -> Floats:
        """Its second derivative."""

    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of every row."""
        return self.of_margin(_signs(Y) * scores).sum(axis=1)

    def gradients(self, Y: Binary, scores: Floats) -> Floats:
        """First derivatives."""
        signs = _signs(Y)
        return signs * self.slope(signs * scores)

    def hessians(self, Y: Binary, scores: Floats) -> Floats:
        """Second derivatives: diagonal matrices."""
        diagonal = self.curvature(_signs(Y) * scores)
        return diagonal[:, :, None] * np.eye(scores.shape[1])

    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of every labelset in every row."""
        present = labelsets.astype(np.float64)
        return self.of_margin(scores) @ present.T + self.of_margin(-scores) @ (1 - present).T


class LogisticLabelWise(LabelWiseLoss):
    """Sum of log(1 + exp(-y p)) over labels (equation 6)."""

    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""
        return -log_expit(margin)

    def slope(self, margin: Floats) -> Floats:
        """First derivative."""
        return -expit(-margin)

    def curvature(self, margin: Floats) -> Floats:
        """Second derivative."""
        return expit(margin) * expit(-margin)

    def marginals(self, scores: Floats) -> Floats:
        """Probability of every label: the sigmoid."""
        return expit(scores)


class _SquaredLoss(LabelWiseLoss):
    """What the squared losses have in common: the meaning of a score."""

    def marginals(self, scores: Floats) -> Floats:
        """Probability of every label: (1 + p) / 2 within [0, 1]."""
        return np.clip((1 + scores) / 2, 0, 1)

    def labelset_log_weights(self, labelsets: Binary, scores: Floats) -> Floats:
        """Logarithm of the product of the labels' probabilities."""
        proba = np.clip(self.marginals(scores), _SMALLEST, 1 - _SMALLEST)
        present = labelsets.astype(np.float64)
        return np.log(proba) @ present.T + np.log1p(-proba) @ (1 - present).T


class SquaredLabelWise(_SquaredLoss):
    """Sum of (y - p)^2 over labels, which is (1 - y p)^2."""

    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""
        return (1 - margin) ** 2

    def slope(self, margin: Floats) -> Floats:
        """First derivative."""
        return -2 * (1 - margin)

    def curvature(self, margin: Floats) -> Floats:
        """Second derivative."""
        return np.full_like(margin, 2.0)


class SquaredHingeLabelWise(_SquaredLoss):
    """Sum of max(0, 1 - y p)^2 over labels."""

    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""
        return np.maximum(0, 1 - margin) ** 2

    def slope(self, margin: Floats) -> Floats:
        """First derivative."""
        return -2 * np.maximum(0, 1 - margin)

    def curvature(self, margin: Floats) -> Floats:
        """Second derivative; 0 at the edge."""
        return np.where(margin < 1, 2.0, 0.0)


class LogisticExampleWise(Loss):
    """log(1 + sum of exp(-y p) over labels) (equation 7)."""

    decomposable = False

    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of every row."""
        exponents = -_signs(Y) * scores
        return logsumexp(np.hstack((exponents, np.zeros((len(scores), 1)))), axis=1)

    def gradients(self, Y: Binary, scores: Floats) -> Floats:
        """First derivatives: -y exp(-y p) / (1 + sum)."""
        return -_signs(Y) * self._shares(Y, scores)

    def hessians(self, Y: Binary, scores: Floats) -> Floats:
        """Second derivatives: diag(q) - g g' with the shares q = |g|."""
        shares = self._shares(Y, scores)
        signed = _signs(Y) * shares
        diagonal = shares[:, :, None] * np.eye(scores.shape[1])
        return diagonal - signed[:, :, None] * signed[:, None, :]

    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of every labelset in every row (the minimum is equation 19)."""
        present = labelsets.astype(np.float64)
        losses = np.empty((len(scores), len(labelsets)))
        small = np.abs(scores).max(axis=1) <= _EXACT
        moderate = scores[small]
        losses[small] = np.log1p(np.exp(-moderate) @ present.T + np.exp(moderate) @ (1 - present).T)
        for row in np.flatnonzero(~small):
            for block in row_blocks(present.shape):
                exponents = (1 - 2 * present[block]) * scores[row]
                losses[row, block] = np.logaddexp(0, logsumexp(exponents, axis=1))
        return losses

    def _shares(self, Y: Binary, scores: Floats) -> Floats:
        exponents = -_signs(Y) * scores
        most = np.maximum(exponents.max(axis=1, keepdims=True), 0)
        powers = np.exp(exponents - most)
        return powers / (np.exp(-most) + powers.sum(axis=1, keepdims=True))


LOSSES: dict[str, Loss] = {
    "logistic_label_wise": LogisticLabelWise(),
    "logistic_example_wise": LogisticExampleWise(),
    "squared_label_wise": SquaredLabelWise(),
    "squared_hinge_label_wise": SquaredHingeLabelWise(),
}
"""The losses by the names that `BoomerClassifier` takes."""


def _signs(Y: Binary) -> Floats:
    return 2 * Y.astype(np.float64) - 1
