"""SHAP values of a mixture's margins, whose sums are exact.

The first level is linear in the margins of its members, so its values are their weighted sum. A
second level is a booster on these margins, which is neither linear nor a function of the features
one by one. Its values are those of a game in which the features are revealed: given the features in
S, the margin m_k of a member is its bias plus the contributions of S, and the gain is what the
second level makes of all m_k. They are averaged over orders in which the features are revealed. In
each order the gains add up to the margin less that of the biases, so the sums are exact for any
number of orders. There are as many as ``N_ORDERS``, each with its reverse, or all orders if
they are not more. Source: Štrumbelj, Kononenko: "Explaining prediction models and individual
predictions with feature contributions" (Knowledge and Information Systems 41, 2014).
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from xdcc.automatic.mixture import Margins, Member, second_level
from xdcc.base.contributions import Contributions
from xdcc.base.features import Features
from xdcc.decision.contributions import mean_contributions
from xdcc.decision.cuts import Floats

N_ORDERS = 32
"""Orders of the features that the values of a second level are averaged over."""

_ENTRIES_AT_ONCE = 2**23
"""Margins that the second level is given in one call."""


def mixed_contributions(
    members: Sequence[Member], stacked: Sequence[Member], X: Features, n_labels: int
) -> Contributions:
    """Explain the log-odds of a mixture, whose second level is `stacked`, for the rows X.

    Raises
    ------
    TypeError
        If a member cannot be explained; the message names its class.
    """
    of_members = [
        member.calibration.contributions(mean_contributions(member.estimators, X))
        for member in members
    ]
    mixed = Contributions.total([member.share for member in members], of_members)
    for level in stacked:
        end = second_level([member.margins(X, n_labels) for member in members])
        predict = partial(level.margins, n_labels=n_labels)
        own = through_second_level(predict, of_members, end)
        mixed = Contributions.total([1 - level.share, level.share], [mixed, own])
    return mixed


def through_second_level(
    predict: Callable[[Margins], Floats], of_members: Sequence[Contributions], end: Margins
) -> Contributions:
    """Explain what a second level makes of the margins of members.

    Parameters
    ----------
    predict : callable
        From margins of shape (n, n_members * n_labels) to those of the second level, (n, n_labels).
    of_members : sequence of Contributions
        They explain the margins of each member.
    end : float32 array of shape (n_samples, n_members * n_labels)
        Margins of the members.

    Returns
    -------
    Contributions
        The bias is the margin of the members' biases.
    """
    biases = second_level([each.bias for each in of_members])
    steps = np.concatenate([each.values for each in of_members], axis=1).transpose(0, 2, 1)
    bias, total = predict(biases), predict(end)
    n_rows, n_features, n_margins = steps.shape
    orders = feature_orders(n_features)
    values = np.zeros((n_rows, n_features, bias.shape[1]))
    at_once = max(1, _ENTRIES_AT_ONCE // max(1, len(orders) * n_margins))
    for row in range(n_rows):
        # After each feature but the last one; the last gain leads to the margin itself. So do those
        # before it if nothing is added after them, although the sum can differ in its last digit.
        ordered = steps[row][orders]
        known = biases[row] + np.cumsum(ordered, axis=1)[:, :-1]
        adds_later = np.logical_or.accumulate(ordered.any(axis=2)[:, ::-1], axis=1)[:, -2::-1]
        gains = [np.broadcast_to(bias[row], (len(orders), 1, bias.shape[1]))]
        for begin in range(0, n_features - 1, at_once):
            part = known[:, begin : begin + at_once]
            found = predict(part.reshape(-1, n_margins).astype(np.float32))
            found = found.reshape(len(orders), -1, bias.shape[1])
            is_known = adds_later[:, begin : begin + at_once, np.newaxis]
            gains.append(np.where(is_known, found, total[row]))
        gains.append(np.broadcast_to(total[row], (len(orders), 1, bias.shape[1])))
        np.add.at(values[row], orders, np.diff(np.concatenate(gains, axis=1), axis=1))
    return Contributions(values.transpose(0, 2, 1) / len(orders), bias)


def feature_orders(n_features: int) -> NDArray[np.intp]:
    """Draw orders of the features and their reverses, or list all if these are not more.

    Examples
    --------
    >>> feature_orders(2)
    array([[0, 1],
           [1, 0]])
    >>> feature_orders(5).shape
    (32, 5)
    """
    if factorial(min(n_features, N_ORDERS)) <= N_ORDERS:
        return np.array(list(permutations(range(n_features))))
    random = np.random.default_rng(0)
    drawn = np.array([random.permutation(n_features) for _ in range(N_ORDERS // 2)])
    return np.concatenate((drawn, drawn[:, ::-1]))
