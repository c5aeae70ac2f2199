"""Metrics of labels as functions of three counts: true, predicted, and both.

A metric is a mean over groups of entries: the samples, the labels, or all entries as one group. In
a group it depends only on how many entries are true, how many are predicted, and how many are both,
so a search for a decision rule can follow it while entries become predicted one by one, and rows
that are drawn again need only sums. Counts are sums of weights; they may have any shape.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import Floats

type Ratio = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""From the counts true, predicted and both to a numerator and a denominator."""


def f_beta(
    true: Floats, predicted: Floats, both: Floats, *, b: float = 1.0
) -> tuple[Floats, Floats]:
    """Return those of the F measure; b is the square of beta."""
    return (1 + b) * both, b * true + predicted


def precision(true: Floats, predicted: Floats, both: Floats) -> tuple[Floats, Floats]:
    """Return those of the share of what is predicted that is true."""
    return both, predicted


def recall(true: Floats, predicted: Floats, both: Floats) -> tuple[Floats, Floats]:
    """Return those of the share of what is true that is predicted."""
    return both, true


def jaccard_index(true: Floats, predicted: Floats, both: Floats) -> tuple[Floats, Floats]:
    """Return those of the share of what is true or predicted that is both."""
    return both, true + predicted - both


def quotient(numerator: Floats, denominator: Floats, empty: float) -> Floats:
    """Divide; 0/0 is `empty`.

    Examples
    --------
    >>> quotient(np.array([1.0, 0.0]), np.array([2.0, 0.0]), empty=1)
    array([0.5, 1. ])
    """
    found = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), float(empty))
    np.divide(numerator, denominator, out=found, where=denominator > 0)
    return found


def exact(true: Floats, predicted: Floats, both: Floats) -> Floats:
    """Return 1 where all entries are predicted as they are, else 0."""
    return ((true == both) & (predicted == both)).astype(np.float64)


def right(true: Floats, predicted: Floats, both: Floats) -> Floats:
    """Return the share of entries that are predicted as they are, if counts are shares."""
    return 1 - (true + predicted - 2 * both)


@dataclass(frozen=True)
class Counted:
    """How a metric is counted.

    Attributes
    ----------
    axis : 1, 0 or None
        Over which axis of the label matrix a group extends: 1 for samples, 0 for labels, None
        for all entries together.
    value : callable
        A group's value, given the counts true, predicted, and both; arrays that broadcast.

    Examples
    --------
    >>> found = ratio_of(jaccard_index, axis=1, empty=1.0)
    >>> found.value(np.array([2.0]), np.array([3.0]), np.array([1.0]))
    array([0.25])
    """

    axis: Literal[0, 1] | None
    value: Callable[[Floats, Floats, Floats], Floats]

    def sizes(self, data: FitData) -> Floats:
        """Return the size of each entry in its row, (n_samples, n_labels)."""
        share = self.shares(data)
        return data.known.astype(np.float64) if share is None else share

    def shares(self, data: FitData) -> Floats | None:
        """Return weights of entries as shares of their rows', or None if all count as 1.

        Whether a row is right does not depend on the weights in it, and sums of them are rounded.
        """
        return None if self.value is exact else data.share

    def row_sizes(self, data: FitData) -> Floats:
        """Return the size of each row if all are one group, (n_samples,)."""
        return data.row_sizes

    def entry_sizes(self, data: FitData) -> Floats:
        """Return the size of each entry in its group, (n_samples, n_labels); 0 if unknown."""
        sizes = self.sizes(data)
        if self.axis == 1:
            return sizes
        sizes = sizes * data.weight[:, np.newaxis]
        return sizes if self.axis == 0 else sizes / (data.weight @ self.row_sizes(data))

    def group_shares(self, data: FitData) -> Floats:
        """Return the groups' weights in a mean: (n_samples, 1), (1, n_labels) or (1, 1)."""
        if self.axis == 1:
            return data.weight[:, np.newaxis] / data.weight.sum()
        known = data.known.any(axis=self.axis, keepdims=True)
        return known / known.sum()


def ratio_of(ratio: Ratio, axis: Literal[0, 1] | None, empty: float) -> Counted:
    """Describe a mean of ratios; 0/0 is `empty`."""
    return Counted(axis, partial(_value_of, ratio, empty))


def _value_of(ratio: Ratio, empty: float, *counts: Floats) -> Floats:
    return quotient(*ratio(*counts), empty)
