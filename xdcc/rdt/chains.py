"""Prediction schemes on one forest: chains, binary relevance, label powerset.

The trees do not know which scheme they serve. A chain decides labels one after the other, in an
order that is chosen for every instance (dynamic) or the same for all (static), and label tests on
decided labels are followed; binary relevance decides all at once, without label tests; label
powerset takes the most probable labelset of the training data.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.rdt import _forest_reading
from xdcc.rdt.forest import Forest, Weighting, documented_tree, read_forest

Threshold = Literal["label", "probability"]

THRESHOLDS: tuple[str, ...] = get_args(Threshold)
"""How a posterior becomes a label; see :class:`ChainRule`."""

Candidates = Literal["open", "positive"]

CANDIDATES: tuple[str, ...] = get_args(Candidates)
"""Which labels a dynamic chain looks for: the most certain, or only positive ones."""


class ChainRule(NamedTuple):
    """How a chain decides.

    Attributes
    ----------
    order : int64 array of shape (n_labels,) or None
        The labels in the order of a static chain; None for a dynamic one.
    threshold : {"label", "probability"}
        ``"probability"``: positive where the posterior is at least 0.5. ``"label"``: also no more
        than R positive labels, and no fewer (equation 6).
    candidates : {"open", "positive"}
        ``"open"``: the next label is the one whose posterior is farthest from 0.5 (equation 5).
        ``"positive"``: the one with the largest posterior; the chain ends before the first
        label that would be negative.
    early_stop : bool
        Whether a chain ends when R labels are positive, or all open ones have to be.
    """

    order: NDArray[np.int64] | None
    threshold: Threshold
    candidates: Candidates
    early_stop: bool


@dataclass(frozen=True)
class ChainTrace:
    """What a chain did, iteration by iteration.

    Attributes
    ----------
    Y_pred : int8 array of shape (n_samples, n_labels)
        The decisions, by label.
    Y_proba : float64 array of shape (n_samples, n_labels)
        The posterior of each label when it was decided, or when the chain ended.
    labels : int64 array of shape (n_samples, n_labels)
        The label that was decided in each iteration, -1 where the chain had ended.
    numbers : float64 array of shape (n_samples, n_labels)
        R, the estimated number of positive labels, in each iteration; NaN where the chain had
        ended.

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
        """Posteriors in the order of the iterations.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            The posterior of the label that was decided, NaN where the chain had ended.
        """
        return self._by_iteration(self.Y_proba)

    def positive(self) -> NDArray[np.float64]:
        """Decisions in the order of the iterations.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            1, 0, or NaN where the chain had ended.
        """
        return self._by_iteration(self.Y_pred.astype(np.float64))

    def correct(self, Y_true: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
        """Whether the decision of each iteration was right.

        Parameters
        ----------
        Y_true : array of shape (n_samples, n_labels)
            Zeros and ones.

        Returns
        -------
        float64 array of shape (n_samples, n_labels)
            1, 0, or NaN where the chain had ended.

        Raises
        ------
        ValueError
            If `Y_true` has another shape than the predictions.
        """
        if np.shape(Y_true) != self.Y_pred.shape:
            raise ValueError(
                f"Y_true has shape {np.shape(Y_true)}, but the predictions have "
                f"{self.Y_pred.shape}: (n_samples, n_labels)."
            )
        return self._by_iteration((self.Y_pred == Y_true).astype(np.float64))

    def _by_iteration(self, by_label: NDArray[np.float64]) -> NDArray[np.float64]:
        taken = np.take_along_axis(by_label, np.maximum(self.labels, 0), axis=1)
        return np.where(self.labels >= 0, taken, np.nan)


@documented_tree
def run_chain(
    forest: Forest,
    X: Features,
    rule: ChainRule,
    weighting: Weighting,
    *,
    sigma: float,
    n_threads: int,
) -> ChainTrace:
    """Decide the labels of every row one after the other.

    Parameters
    ----------
    {forest}
    {features}
    {rule}
    {weighting}
    {sigma}
    {n_threads}

    Returns
    -------
    ChainTrace
    """
    return ChainTrace(*_forest_reading.chain(forest, X, rule, sigma, weighting, n_threads))


def decide_at_once(
    Y_proba: NDArray[np.float64], number: NDArray[np.float64], threshold: Threshold
) -> NDArray[np.int8]:
    """Binary relevance: all labels from the same posteriors.

    Parameters
    ----------
    Y_proba : float64 array of shape (n_samples, n_labels)
        Posteriors.
    number : float64 array of shape (n_samples,)
        R, not rounded.
    threshold : {"label", "probability"}
        Whether the R labels with the largest posteriors are positive (ties: the lower index), or
        those with a posterior of at least 0.5.

    Returns
    -------
    int8 array of shape (n_samples, n_labels)
        Zeros and ones.
    """
    if threshold == "probability":
        return (Y_proba >= 0.5).astype(np.int8)
    rank = np.argsort(np.argsort(-Y_proba, axis=1, kind="stable"), axis=1)
    return (rank < np.floor(number + 0.5)[:, np.newaxis]).astype(np.int8)


@documented_tree
def labelset_posteriors(
    forest: Forest, X: Features, weighting: Weighting, n_threads: int
) -> NDArray[np.float64]:
    """Label powerset: the posteriors of the training data's labelsets.

    Parameters
    ----------
    {forest}
    {features}
    weighting : Weighting
        How trees are weighed; the Gini index is that of the labelsets.
    {n_threads}

    Returns
    -------
    float64 array of shape (n_samples, n_labelsets)
    """
    return read_forest(forest, X, weighting, sigma=0.0, labelsets=True, n_threads=n_threads)[0]
