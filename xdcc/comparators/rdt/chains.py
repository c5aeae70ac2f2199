"""Chains and binary relevance on the posteriors of a forest.

A chain decides labels one after another, in an order that depends on the instance (dynamic) or not
(static); tests of decided labels are active. Binary relevance decides all labels at once, without
label tests.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.comparators.rdt import _forest_prediction
from xdcc.comparators.rdt.forest import Forest, Weighting

Threshold = Literal["label", "probability"]

THRESHOLDS: tuple[str, ...] = get_args(Threshold)
"""Rules that turn posteriors into labels; see :class:`ChainRule`."""

Candidates = Literal["open", "positive"]

CANDIDATES: tuple[str, ...] = get_args(Candidates)
"""Labels that a dynamic chain decides next; see :class:`ChainRule`."""


class ChainRule(NamedTuple):
    """The decision rule of a chain.

    ``threshold="probability"`` predicts labels whose posterior is at least 0.5; ``"label"`` also
    limits the number of positive labels to R (equation 6). With ``candidates="open"``, the next
    label is the one whose posterior is farthest from 0.5 (equation 5); with ``"positive"``, it is
    the one with the largest posterior, and the chain ends before the first negative label.
    `early_stop` ends a chain when the number of positive labels, R, determines the others.
    """

    order: NDArray[np.int64] | None  # (n_labels,) of a static chain, None for a dynamic one
    threshold: Threshold
    candidates: Candidates
    early_stop: bool


@dataclass(frozen=True)
class ChainTrace:
    """The steps of chains: the label that each step decides, its posterior and the decision.

    Attributes
    ----------
    Y_pred : int8 array of shape (n_samples, n_labels)
        The decisions, by label.
    Y_proba : float64 array of shape (n_samples, n_labels)
        The posterior of each label at its decision, or at the end of the chain.
    labels : int64 array of shape (n_samples, n_labels)
        The label that each step decides, -1 after the end of the chain.
    numbers : float64 array of shape (n_samples, n_labels)
        R, the estimated number of positive labels, at each step; NaN after the end of the chain.

    Examples
    --------
    >>> trace = ChainTrace(
    ...     Y_pred=np.array([[0, 1]], dtype=np.int8),
    ...     Y_proba=np.array([[0.3, 0.9]]),
    ...     labels=np.array([[1, 0]]),
    ...     numbers=np.array([[1.2, 1.1]]),
    ... )
    >>> trace.values(), trace.positive()
    (array([[0.9, 0.3]]), array([[1., 0.]]))
    """

    Y_pred: NDArray[np.int8]
    Y_proba: NDArray[np.float64]
    labels: NDArray[np.int64]
    numbers: NDArray[np.float64]

    def values(self) -> NDArray[np.float64]:
        """Return the posteriors in the order of the steps.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            The posterior of the label that each step decides, NaN after the end of the chain.
        """
        return self._by_step(self.Y_proba)

    def positive(self) -> NDArray[np.float64]:
        """Return the decisions in the order of the steps.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            1 or 0, NaN after the end of the chain.
        """
        return self._by_step(self.Y_pred.astype(np.float64))

    def correct(self, Y_true: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
        """Return whether the decision of each step is correct.

        Parameters
        ----------
        Y_true : array of shape (n_samples, n_labels)
            Zeros and ones.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            1 or 0, NaN after the end of the chain.

        Raises
        ------
        ValueError
            If the shapes of `Y_true` and the predictions differ.
        """
        if np.shape(Y_true) != self.Y_pred.shape:
            raise ValueError(
                f"Y_true has the shape {np.shape(Y_true)}, but the predictions have the shape "
                f"{self.Y_pred.shape}."
            )
        return self._by_step((self.Y_pred == Y_true).astype(np.float64))

    def _by_step(self, by_label: NDArray[np.float64]) -> NDArray[np.float64]:
        taken = np.take_along_axis(by_label, np.maximum(self.labels, 0), axis=1)
        return np.where(self.labels >= 0, taken, np.nan)


def run_chain(
    forest: Forest,
    X: Features,
    rule: ChainRule,
    weighting: Weighting,
    *,
    sigma: float,
    n_threads: int,
) -> ChainTrace:
    """Decide the labels of each row one after another."""
    return ChainTrace(*_forest_prediction.chain(forest, X, rule, sigma, weighting, n_threads))


def decide_at_once(
    Y_proba: NDArray[np.float64], number: NDArray[np.float64], threshold: Threshold
) -> NDArray[np.int8]:
    """Decide all labels at once (binary relevance) from posteriors (n_samples, n_labels).

    ``threshold="label"`` predicts the R labels with the largest posteriors (ties: the lower index),
    where `number` (n_samples,) is R before rounding; ``"probability"`` predicts those with a
    posterior of at least 0.5.
    """
    if threshold == "probability":
        return (Y_proba >= 0.5).astype(np.int8)
    rank = np.argsort(np.argsort(-Y_proba, axis=1, kind="stable"), axis=1)
    return (rank < np.floor(number + 0.5)[:, np.newaxis]).astype(np.int8)
