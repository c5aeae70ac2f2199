"""The search for a rule's next condition, and rules' heads.

Every condition on every attribute makes a mask. The gradients and full Hessians of the masked rows
are summed, and the linear system is solved.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.reference.random_numbers import Random

type Floats = NDArray[np.float64]


class RuleRandom(Random):
    """What a rule draws with the kernels' random numbers; its seed is that of the rule."""

    def bootstrap(self, n_rows: int) -> NDArray[np.int64]:
        """Draw rows with replacement: how often each of them is drawn."""
        return np.bincount([self.below(n_rows) for _ in range(n_rows)], minlength=n_rows)

    def attributes(self, n: int, n_features: int) -> list[int]:
        """Draw different attributes, sorted."""
        if n >= n_features:
            return list(range(n_features))
        drawn: list[int] = []
        for last in range(n_features - n, n_features):
            candidate = self.below(last + 1)
            drawn.append(last if candidate in drawn else candidate)
        return sorted(drawn)


class RatedCondition(NamedTuple):
    """A condition that a rule could get.

    Attributes
    ----------
    feature : int
        The attribute.
    relation : {"<=", ">", "=", "!="}
        How its values are compared.
    threshold : float
        With what.
    label : int
        The label of a single-label head, or -1.
    gain : float
        g' (H + l2 I)^-1 g over the rows that the rule covers with this condition.
    """

    feature: int
    relation: str
    threshold: float
    label: int
    gain: float


def covered(column: NDArray[np.float32], relation: str, threshold: float) -> NDArray[np.bool_]:
    """Tell for which rows a condition holds; for none whose value is missing.

    Parameters
    ----------
    column : float32 array of shape (n_samples,)
        Values of an attribute, NaN where missing.
    relation : {"<=", ">", "=", "!="}
        How they are compared.
    threshold : float
        With what.

    Returns
    -------
    bool array of shape (n_samples,)
    """
    if relation == "<=":
        return column <= threshold
    if relation == ">":
        return column > threshold
    if relation == "=":
        return column == threshold
    return (column != threshold) & ~np.isnan(column)


def conditions(column: NDArray[np.float32], nominal: bool) -> Iterator[tuple[str, float]]:
    """List the conditions on an attribute: halfway between neighbouring values, or its values.

    Parameters
    ----------
    column : float32 array of shape (n_covered,)
        Values in the rows that are covered so far, NaN where missing.
    nominal : bool
        Whether conditions compare for equality.

    Yields
    ------
    tuple of str and float
        Relation and threshold.
    """
    values = np.unique(column[~np.isnan(column)])
    if nominal:
        for value in values:
            yield from (("=", float(value)), ("!=", float(value)))
        return
    for low, high in pairwise(values):
        middle = np.float32((float(low) + float(high)) / 2)
        threshold = float(middle if middle < high else low)
        yield from (("<=", threshold), (">", threshold))


def bin_labels(gradient: Floats, hessian: Floats, l2: float, share: float) -> NDArray[np.int64]:
    """Put labels into bins by their own best scores, those above and those below 0 apart.

    Parameters
    ----------
    gradient, hessian : float arrays of shapes (n_labels,) and (n_labels, n_labels)
        Sums over the covered rows.
    l2 : float
        L2 weight.
    share : float
        Number of bins of either sign per label of that sign, rounded up.

    Returns
    -------
    int array of shape (n_labels,)
        Numbers of bins, -1 for labels whose score would be 0.
    """
    criterion = -gradient / (np.diag(hessian) + l2)
    bins = np.full(len(gradient), -1)
    for sign in (1, -1):
        of_sign = sign * criterion > 0
        if not of_sign.any():
            continue
        size = np.abs(criterion[of_sign])
        n_bins = int(np.ceil(share * len(size)))
        width = np.ptp(size)
        position = (size - size.min()) / (width if width > 0 else 1) * n_bins
        bins[of_sign] = bins.max() + 1 + np.minimum(position.astype(int), n_bins - 1)
    return bins


def complete_head(gradient: Floats, hessian: Floats, l2: float, share: float = 0.0) -> Floats:
    """Solve equation 16, for bins of labels if `share` is not 0.

    Parameters
    ----------
    gradient, hessian, l2, share
        As for `bin_labels`.

    Returns
    -------
    float array of shape (n_labels,)
        Scores.
    """
    matrix = hessian + l2 * np.eye(len(gradient))
    if share == 0:
        return np.linalg.solve(matrix, -gradient)
    bins = bin_labels(gradient, hessian, l2, share)
    indicator = (bins[:, None] == np.unique(bins[bins >= 0])).astype(np.float64)
    binned = indicator.T @ matrix @ indicator
    return indicator @ np.linalg.solve(binned, -(indicator.T @ gradient))


def single_scores(gradient: Floats, hessian: Floats, l2: float) -> Floats:
    """Best score of every label when the others are 0 (equation 17)."""
    return -gradient / (np.diag(hessian) + l2)


def rate_conditions(
    X: NDArray[np.float32],
    nominal: NDArray[np.bool_],
    weight: NDArray[np.int64],
    gradients: Floats,
    hessians: Floats,
    attributes: list[int],
    *,
    l2: float,
    complete: bool,
    label: int = -1,
    share: float = 0.0,
    min_coverage: int = 1,
) -> list[RatedCondition]:
    """Rate every condition that a rule could get next (lines 3 to 6 of Algorithm 3).

    Parameters
    ----------
    X : float32 array of shape (n_samples, n_features)
        NaN is a missing value.
    nominal : bool array of shape (n_features,)
        Which attributes are nominal.
    weight : int array of shape (n_samples,)
        How often each row is in the sample, 0 where the rule does not cover it.
    gradients, hessians : arrays of shapes (n_samples, n_labels), (n_samples, n_labels, n_labels)
        Derivatives of the loss.
    attributes : list of int
        Attributes that were drawn.
    l2 : float
        L2 weight.
    complete : bool
        Whether heads are complete.
    label : int, default=-1
        The label of a single-label rule that has conditions already.
    share : float, default=0.0
        As for `bin_labels`.
    min_coverage : int, default=1
        Fewest rows that a rule covers.

    Returns
    -------
    list of RatedCondition
    """
    rated = []
    inside = weight > 0
    for feature in attributes:
        for relation, threshold in conditions(X[inside, feature], bool(nominal[feature])):
            mask = inside & covered(X[:, feature], relation, threshold)
            if not min_coverage <= mask.sum() < inside.sum():
                continue
            g = (weight[mask, None] * gradients[mask]).sum(axis=0)
            h = (weight[mask, None, None] * hessians[mask]).sum(axis=0)
            if complete:
                rated.append(
                    RatedCondition(
                        feature, relation, threshold, -1, float(-g @ complete_head(g, h, l2, share))
                    )
                )
                continue
            gains = -g * single_scores(g, h, l2)
            best = int(gains.argmax()) if label < 0 else label
            rated.append(RatedCondition(feature, relation, threshold, best, float(gains[best])))
    return rated
