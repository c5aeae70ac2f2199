"""Reference implementation of BOOMER: the search for conditions, and the heads of rules.

Each condition on each attribute gives a mask of rows. The gradients and full Hessians of these rows
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
    """The random numbers of a rule, whose seed it takes."""

    def bootstrap(self, n_rows: int) -> NDArray[np.int64]:
        """Draw rows with replacement and return the count of each row."""
        return np.bincount([self.below(n_rows) for _ in range(n_rows)], minlength=n_rows)

    def attributes(self, n: int, n_features: int) -> list[int]:
        """Draw distinct attributes in ascending order."""
        if n >= n_features:
            return list(range(n_features))
        drawn: list[int] = []
        for last in range(n_features - n, n_features):
            candidate = self.below(last + 1)
            drawn.append(last if candidate in drawn else candidate)
        return sorted(drawn)


class RatedCondition(NamedTuple):
    """A candidate condition; the gain is g' (H + l2 I)^-1 g over the rows that it covers."""

    feature: int
    relation: str
    threshold: float
    label: int  # of a single-label head, or -1
    gain: float


def covered(column: NDArray[np.float32], relation: str, threshold: float) -> NDArray[np.bool_]:
    """Mark the rows that a condition covers; missing values are never covered."""
    if relation == "<=":
        return column <= threshold
    if relation == ">":
        return column > threshold
    if relation == "=":
        return column == threshold
    return (column != threshold) & ~np.isnan(column)


def conditions(column: NDArray[np.float32], nominal: bool) -> Iterator[tuple[str, float]]:
    """Yield the conditions (relation, threshold) on an attribute.

    `column` has the values in the rows covered so far. Thresholds are midpoints of neighbouring
    values, or the values of a nominal attribute.
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
    """Assign labels to bins by their own best scores, separately for each sign.

    `share` is the number of bins per label of the same sign, rounded up. The bin is -1 for labels
    whose score is 0.
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
    """Solve equation 16, with label bins if `share` is not 0."""
    matrix = hessian + l2 * np.eye(len(gradient))
    if share == 0:
        return np.linalg.solve(matrix, -gradient)
    bins = bin_labels(gradient, hessian, l2, share)
    indicator = (bins[:, None] == np.unique(bins[bins >= 0])).astype(np.float64)
    binned = indicator.T @ matrix @ indicator
    return indicator @ np.linalg.solve(binned, -(indicator.T @ gradient))


def single_scores(gradient: Floats, hessian: Floats, l2: float) -> Floats:
    """Compute the best score of each label if the others are 0 (equation 17)."""
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
    """Evaluate all candidates for the next condition of a rule (lines 3 to 6 of Algorithm 3).

    `weight` (n_samples,) counts each row in the sample, 0 for rows that the rule does not cover.
    `gradients` (n_samples, n_labels) and `hessians` (n_samples, n_labels, n_labels) are the
    derivatives of the loss. `label` is that of a single-label rule with conditions, or -1.
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
