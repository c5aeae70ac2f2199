"""The losses of BOOMER, in NumPy.

Prediction uses them for the losses and probabilities of labelsets, and the evaluation set for its
loss; training has their derivatives (``derivatives.pxd``). Labels are 0 and 1 in arrays, -1 and +1
in formulas.

Probabilities: with the logistic losses, a labelset y has the weight exp(-loss(y, p)), which is the
product of the labels' sigmoids for the label-wise loss. The squared losses are minimal at
p = 2 P(y = 1) - 1, so P(y = 1) is (1 + p) / 2, clipped to [0, 1].
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from xdcc.base.label_rows import row_blocks

type Floats = NDArray[np.float64]
type Binary = NDArray[np.integer] | NDArray[np.floating]

_SMALLEST = 1e-6
"""The weight of a labelset clips probabilities of the squared losses this far from 0 and 1."""

_EXACT = 300.0
"""Exponentials of scores up to this size, and their sums, fit into float64."""


class Loss(ABC):
    """A loss of labels `Y` and scores, both (n_samples, n_labels)."""

    decomposable = True
    """Whether the loss is a sum over labels."""

    @abstractmethod
    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of each row, shape (n_samples,)."""

    @abstractmethod
    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of each labelset for each row, shape (n_samples, n_labelsets)."""

    def labelset_log_weights(self, labelsets: Binary, scores: Floats) -> Floats:
        """Unnormalised log-probability of each labelset, shape (n_samples, n_labelsets)."""
        return -self.labelset_losses(labelsets, scores)

    def marginals(self, scores: Floats) -> Floats | None:
        """Probability of each label, or None if the loss defines only those of labelsets."""
        return None


class LabelWiseLoss(Loss):
    """A sum over labels of a function of the margin y p."""

    @abstractmethod
    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""

    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of each row."""
        return self.of_margin(_signs(Y) * scores).sum(axis=1)

    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of each labelset for each row."""
        present = labelsets.astype(np.float64)
        return self.of_margin(scores) @ present.T + self.of_margin(-scores) @ (1 - present).T


class LogisticLabelWise(LabelWiseLoss):
    """Sum of log(1 + exp(-y p)) over labels (equation 6)."""

    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""
        return -log_expit(margin)

    def marginals(self, scores: Floats) -> Floats:
        """Probability of each label: the sigmoid."""
        return expit(scores)


class _SquaredLoss(LabelWiseLoss):
    """Probabilities shared by the squared losses."""

    def marginals(self, scores: Floats) -> Floats:
        """Probability of each label: (1 + p) / 2, clipped to [0, 1]."""
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


class SquaredHingeLabelWise(_SquaredLoss):
    """Sum of max(0, 1 - y p)^2 over labels."""

    def of_margin(self, margin: Floats) -> Floats:
        """Loss of each margin."""
        return np.maximum(0, 1 - margin) ** 2


class LogisticExampleWise(Loss):
    """log(1 + sum of exp(-y p) over labels) (equation 7)."""

    decomposable = False

    def values(self, Y: Binary, scores: Floats) -> Floats:
        """Loss of each row."""
        exponents = -_signs(Y) * scores
        return logsumexp(np.hstack((exponents, np.zeros((len(scores), 1)))), axis=1)

    def labelset_losses(self, labelsets: Binary, scores: Floats) -> Floats:
        """Loss of each labelset for each row (equation 19 takes the minimum)."""
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


LOSSES: dict[str, Loss] = {
    "logistic_label_wise": LogisticLabelWise(),
    "logistic_example_wise": LogisticExampleWise(),
    "squared_label_wise": SquaredLabelWise(),
    "squared_hinge_label_wise": SquaredHingeLabelWise(),
}
"""Losses by the values of the parameter `loss`."""


def _signs(Y: Binary) -> Floats:
    return 2 * Y.astype(np.float64) - 1
