"""Derivatives of the losses of BOOMER by the scores (equation 12)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

type Floats = NDArray[np.float64]

LABEL_WISE: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "logistic_label_wise": (lambda m: -expit(-m), lambda m: expit(m) * expit(-m)),
    "squared_label_wise": (lambda m: -2 * (1 - m), lambda m: np.full_like(m, 2.0)),
    # The second derivative is 0 at the kink.
    "squared_hinge_label_wise": (
        lambda m: -2 * np.maximum(0, 1 - m),
        lambda m: np.where(m < 1, 2.0, 0.0),
    ),
}
"""First and second derivative of a label's loss by the margin y p."""


def derivatives(loss: str, Y: NDArray[np.integer], scores: Floats) -> tuple[Floats, Floats]:
    """Compute gradients, `(n_samples, n_labels)`, and Hessian matrices, one for each row.

    Examples
    --------
    >>> gradients, hessians = derivatives("squared_label_wise", np.array([[1]]), np.zeros((1, 1)))
    >>> gradients, hessians
    (array([[-2.]]), array([[[2.]]]))
    """
    signs, identity = 2.0 * Y - 1, np.eye(scores.shape[1])
    if loss in LABEL_WISE:
        slope, curvature = LABEL_WISE[loss]
        return signs * slope(signs * scores), curvature(signs * scores)[:, :, None] * identity
    # -y exp(-y p) / (1 + sum) and, with the shares q = |g|, diag(q) - g g'.
    exponents = -signs * scores
    most = np.maximum(exponents.max(axis=1, keepdims=True), 0)
    powers = np.exp(exponents - most)
    shares = powers / (np.exp(-most) + powers.sum(axis=1, keepdims=True))
    signed = signs * shares
    return -signed, shares[:, :, None] * identity - signed[:, :, None] * signed[:, None, :]
