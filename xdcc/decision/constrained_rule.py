"""``ConstrainedRule``: a rule, but thresholds for some labels."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.state_checks import check_indices, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.rule import Decides, MetricLike, Rule, decider_of
from xdcc.kernels.logistic import expit


@stored
@dataclass(frozen=True, eq=False)
class ConstrainedRule(Rule):
    """A rule, but thresholds for some labels.

    Attributes
    ----------
    rule : Rule
        For the other labels.
    labels : int64 array of shape (n_constrained,)
        Positions of labels.
    thresholds : float64 array of shape (n_constrained,)
        They are predicted where their probability is at least as high.
    """

    rule: Rule
    labels: Annotated[NDArray[np.int64], Shape(None)] = field(repr=False)
    thresholds: Annotated[Floats, Shape("labels")]

    def _check_state(self) -> None:
        require(not isinstance(self.rule, ConstrainedRule), "the rule for the other labels")

    def _check_labels(self, n_labels: int) -> None:
        check_indices(self.labels, n_labels, "labels of the rule")
        self.rule._check_labels(n_labels)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The kind of the rule for the other labels."""
        return str(self.rule.name)

    @property
    def params(self) -> dict[str, Any]:
        """Those of the rule for the other labels."""
        return dict(self.rule.params)

    def favoured_by(self, measure: MetricLike) -> bool:
        """Tell whether the rule for the other labels is favoured."""
        return self.rule.favoured_by(measure)

    def flat(self) -> Decides:
        """Return the rule, if that for the other labels has a flat form."""
        self.rule.flat()
        return self

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        labels: NDArray[np.int8] = decider_of(self.rule).decide(margins)
        labels[:, self.labels] = expit(margins[:, self.labels]) >= self.thresholds
        return labels

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        proba = check_proba(Y_proba)
        labels: NDArray[np.int64] = self.rule.predict(proba)
        labels[:, self.labels] = proba[:, self.labels] >= self.thresholds
        return labels
