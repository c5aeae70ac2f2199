"""``LabelCosts``: a metric for known costs of wrong labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.stored import stored
from xdcc.decision.cuts import Floats
from xdcc.decision.label_metrics import validation_data
from xdcc.metrics.counted import Counted


def _minus_wrong(true: Floats, predicted: Floats, both: Floats) -> Floats:
    return -(true + predicted - 2 * both)


@stored
@dataclass(frozen=True)
class LabelCosts(Counted):
    """Minus the mean cost of a row, where a wrong label has a price.

    A label that is predicted wrongly costs `false_positive`, one that is missed `false_negative`;
    right ones and unknown ones cost nothing. As a `measure` it makes the cost as low as possible.
    With right probabilities a label is best predicted where its probability is at least
    false_positive / (false_positive + false_negative) (Elkan: "The Foundations of Cost-Sensitive
    Learning", IJCAI 2001, equation 2).

    Parameters
    ----------
    false_positive, false_negative : float, sequence of float or dict, default=1.0
        At least 0, for all labels or one for each; not both 0 for a label. A dict has names of
        labels; others cost 1.

    Attributes
    ----------
    axis : None
        All entries are one group.
    value : callable
        Minus the costs of the entries, from three sums of costs.

    Examples
    --------
    >>> costs = LabelCosts(false_positive=1.0, false_negative=[9.0, 1.0])
    >>> costs.thresholds(2)
    array([0.1, 0.5])
    >>> costs.score([[1, 0], [1, 1]], [[0, 0], [1, 0]])
    -5.0
    """

    axis: None = field(default=None, init=False, repr=False)
    value: Callable[[Floats, Floats, Floats], Floats] = field(
        default_factory=lambda: _minus_wrong, init=False, repr=False
    )
    false_positive: float | Sequence[float] | NDArray[Any] | Mapping[str, float] = 1.0
    false_negative: float | Sequence[float] | NDArray[Any] | Mapping[str, float] = 1.0

    def __post_init__(self) -> None:
        """Stop if a cost is invalid."""
        for name in ("false_positive", "false_negative"):
            given = getattr(self, name)
            cost = np.asarray([*given.values()] if isinstance(given, Mapping) else given)
            if cost.dtype.kind not in "iuf" or cost.ndim > 1 or not np.isfinite(cost).all():
                raise ValueError(f"{name} must be a finite number, or one for each label.")
            if cost.size and (cost < 0).any():
                raise ValueError(f"{name} must not be negative, got {cost.min()}.")

    def named(self, label_names: Sequence[str]) -> "LabelCosts":
        """Replace dicts by a cost for each label.

        Parameters
        ----------
        label_names : sequence of str
            Names of all labels, in their order.

        Returns
        -------
        LabelCosts

        Raises
        ------
        ValueError
            If there is no label of a name.

        Examples
        --------
        >>> LabelCosts(false_negative={"fraud": 20}).named(["new", "fraud"]).false_negative
        [1.0, 20]
        """
        found = {}
        for side in ("false_positive", "false_negative"):
            costs = getattr(self, side)
            if isinstance(costs, Mapping):
                for name in costs:
                    if name not in label_names:
                        raise ValueError(f"{side} has a cost of {name!r}, which is not a label.")
                costs = [costs.get(name, 1.0) for name in label_names]
            found[side] = costs
        return LabelCosts(**found)

    def prices(self, n_labels: int) -> tuple[Floats, Floats]:
        """Return the costs of wrong entries.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        false_positive, false_negative : float64 arrays of shape (n_labels,)

        Raises
        ------
        ValueError
            If the number of costs differs from that of labels, both are 0 for a label, or they
            are by name.
        """
        found = []
        for name in ("false_positive", "false_negative"):
            if isinstance(getattr(self, name), Mapping):
                raise ValueError(f"{name} has costs by name: call named() with all names first.")
            cost = np.asarray(getattr(self, name), dtype=np.float64)
            if cost.ndim == 1 and len(cost) != n_labels:
                raise ValueError(f"{name} has {len(cost)} costs, but there are {n_labels} labels.")
            found.append(np.broadcast_to(cost, (n_labels,)))
        free = np.flatnonzero(found[0] + found[1] == 0)
        if len(free):
            raise ValueError(f"False positives and false negatives of label {free[0]} both cost 0.")
        return found[0], found[1]

    def thresholds(self, n_labels: int) -> Floats:
        """Return the probability from which predicting a label costs less than leaving it out.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        float64 array of shape (n_labels,)

        Raises
        ------
        ValueError
            As `prices`.
        """
        false_positive, false_negative = self.prices(n_labels)
        return false_positive / (false_positive + false_negative)

    def score(self, Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
        """Compute the metric.

        Parameters
        ----------
        Y_true, Y_pred : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0 and 1; NaN in the first where a label is unknown.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Weights of the rows or entries.

        Returns
        -------
        float
            At most 0.

        Raises
        ------
        ValueError
            If the labels are not as described, or there are other costs than labels.
        """
        data = validation_data(Y_true, Y_pred, sample_weight)
        sizes = self.named(data.output_form.names.tolist()).entry_sizes(data)
        return -float(sizes[data.known & (data.truth != (data.X == 1))].sum())

    def sizes(self, data: FitData) -> Floats:
        """Return the cost of a wrong prediction of each entry, (n_samples, n_labels)."""
        false_positive, false_negative = self.prices(data.Y.shape[1])
        costs = np.where(data.known, np.where(data.truth, false_negative, false_positive), 0.0)
        share = data.share
        return costs if share is None else costs * share

    def row_sizes(self, data: FitData) -> Floats:
        """Return the size of each row: 1."""
        return np.ones(len(data.Y))
