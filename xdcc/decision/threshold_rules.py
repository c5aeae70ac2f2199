"""Rules by thresholds: a label is predicted where its probability is at least as high."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.decision.cuts import Floats, apply_thresholds
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.rule import Decides, MetricLike, Rule, RuleData
from xdcc.decision.thresholds import thresholds_for
from xdcc.kernels.logistic import expit

_SHRINKAGES = (10.0, 30.0, 100.0)


class ThresholdRule(Rule):
    """A label is predicted where its probability is at least a threshold.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class AsFrequent(ThresholdRule):
    ...     name = "as_frequent"
    ...     thresholds: object
    ...
    ...     @classmethod
    ...     def learn(cls, rows):
    ...         return [cls(np.nanmean(rows.Y, axis=0))]
    ...
    ...     def _thresholds(self):
    ...         return self.thresholds
    >>> AsFrequent(np.array([0.1, 0.5])).predict([[0.2, 0.4]])
    array([[1, 0]])
    """

    @abstractmethod
    def _thresholds(self) -> ArrayLike:
        """Get the threshold of all labels, or of each."""

    def _check_labels(self, n_labels: int) -> None:
        require(np.shape(self._thresholds()) in ((), (n_labels,)), "thresholds of the rule")

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        return apply_thresholds(expit(margins), self._thresholds()).astype(np.int8)

    def flat(self) -> Decides:
        """Return the rule."""
        return self

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        return apply_thresholds(Y_proba, self._thresholds())


@stored
@dataclass(frozen=True)
class LabelWise(ThresholdRule):
    """A label is predicted where its probability is at least 0.5."""

    name: ClassVar[str] = "label_wise"

    def _thresholds(self) -> float:
        return 0.5


@stored
@dataclass(frozen=True, eq=False)
class LeastCost(ThresholdRule):
    """A label is predicted where that has the lower expected cost, see `LabelCosts.thresholds`."""

    name: ClassVar[str] = "least_cost"
    thresholds: Floats = field(repr=False)

    @classmethod
    def why_not(cls, measure: MetricLike) -> str | None:
        """Say that a metric is no costs."""
        return None if isinstance(measure, LabelCosts) else "needs costs, a metric `LabelCosts`"

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Compute the thresholds from the costs."""
        assert isinstance(rows.measure, LabelCosts)
        return [cls(rows.measure.thresholds(rows.Y.shape[1]))]

    def _thresholds(self) -> Floats:
        return self.thresholds


@stored
@dataclass(frozen=True)
class CommonThreshold(ThresholdRule):
    """A label is predicted where its probability is at least a threshold, the same for all."""

    name: ClassVar[str] = "threshold"
    threshold: float

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Find the best threshold."""
        return [cls(rows.threshold)]

    @property
    def params(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def _thresholds(self) -> float:
        return self.threshold


@stored
@dataclass(frozen=True, eq=False)
class ThresholdPerLabel(ThresholdRule):
    """Each label has a threshold, between its own best one and the best for all.

    With m rows that have the label, it is (m own + s common) / (m + s), s being the shrinkage.
    """

    name: ClassVar[str] = "threshold_per_label"
    thresholds: Floats = field(repr=False)
    shrinkage: float

    @classmethod
    def suits(cls, measure: MetricLike) -> bool:
        """Tell that a callable does not: it would be called for many thresholds of each label."""
        return not callable(measure)

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Find the thresholds, and draw them towards the common one."""
        common = rows.threshold
        own = thresholds_for(rows.of_proba, rows.measure, common=common)
        n_present = np.nansum(rows.Y, axis=0)
        return [cls(common + n_present / (n_present + s) * (own - common), s) for s in _SHRINKAGES]

    @property
    def params(self) -> dict[str, Any]:
        """The shrinkage."""
        return {"shrinkage": self.shrinkage}

    def _thresholds(self) -> Floats:
        return self.thresholds
