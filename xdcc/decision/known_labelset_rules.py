"""Rules on the posterior over known labelsets.

To choose among fewer rules is less noisy: on twelve data sets the corrected out-of-fold score was
as high or higher without those that maximise another metric, or the same one less well. So each
says which metrics it suits.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.decision.cuts import Floats
from xdcc.decision.label_metrics import beta_of
from xdcc.decision.labelset_weights import fitted_weights
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rule import Decides, MetricLike, Rule, RuleData

_PRIORS = (0.0, 0.25, 0.5, 0.75, 1.0)
_F1_PRIORS = (0.0, 0.25, 0.5)
_F1_TEMPERATURES = (0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class KnownLabelsetRule(Rule):
    """A rule on the posterior over known labelsets."""

    needs_labelsets: ClassVar[bool] = True
    known: KnownLabelsets = field(repr=False)

    def _check_labels(self, n_labels: int) -> None:
        require(self.known.n_labels == n_labels, "labelsets of the rule")

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        return self.known.posterior_of(margins).decide(margins, [self.for_posterior()])[0]

    def flat(self) -> Decides:
        """Return the rule: a kernel decides."""
        return self

    @property
    def together(self) -> KnownLabelsets:
        """The labelsets: the posterior is computed once for all rules on them."""
        return self.known

    @classmethod
    def decide_together(cls, rules: Sequence[Self], margins: Floats) -> Sequence[NDArray[np.int8]]:
        """Predict labels with each of some rules on the same labelsets."""
        described = [rule.for_posterior() for rule in rules]
        return list(rules[0].known.posterior_of(margins).decide(margins, described))

    @abstractmethod
    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""


@stored
@dataclass(frozen=True, eq=False)
class MostProbableLabelset(KnownLabelsetRule):
    """The known labelset of the highest posterior with t = 1 (see `LabelsetPosterior`)."""

    name: ClassVar[str] = "known_labelset"
    prior: float

    @classmethod
    def suits(cls, measure: MetricLike) -> bool:
        """Tell that metrics with a better rule on labelsets do not."""
        return measure != "subset_accuracy" and not _is_f_measure(measure)

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Take the known labelsets, with several exponents of the prior."""
        return [cls(rows.known, prior) for prior in _PRIORS]

    @property
    def params(self) -> dict[str, Any]:
        """The exponent of the prior."""
        return {"prior": self.prior}

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""
        return False, 1.0, self.prior, 1.0


@stored
@dataclass(frozen=True, eq=False)
class FittedLabelset(KnownLabelsetRule):
    """The known labelset of the highest posterior by fitted weights (`labelset_weights.py`)."""

    name: ClassVar[str] = "fitted_labelset"

    @classmethod
    def suits(cls, measure: MetricLike) -> bool:
        """Tell that subset accuracy alone does."""
        return measure == "subset_accuracy"

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Fit the weights of the known labelsets."""
        return [cls(fitted_weights(rows.known, rows.data, rows.most_pairs))]

    def favoured_by(self, measure: MetricLike) -> bool:
        """Tell that subset accuracy does: the likelihood decides with less noise."""
        return measure == "subset_accuracy"

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`; weights are its counts."""
        return False, 1.0, 1.0, 1.0


@stored
@dataclass(frozen=True, eq=False)
class F1Maximiser(KnownLabelsetRule):
    """The labelset of the highest expected F-beta under the posterior over known labelsets."""

    name: ClassVar[str] = "f1_maximiser"
    temperature: float
    prior: float
    beta: float = 1.0

    @classmethod
    def suits(cls, measure: MetricLike) -> bool:
        """Tell that subset accuracy does not."""
        return measure != "subset_accuracy"

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence[Self]:
        """Take the known labelsets, with several exponents of likelihood and prior."""
        beta = beta_of(rows.measure) if isinstance(rows.measure, str) else None
        return [
            cls(rows.known, temperature, prior, 1.0 if beta is None else beta)
            for temperature in _F1_TEMPERATURES
            for prior in _F1_PRIORS
        ]

    @property
    def params(self) -> dict[str, Any]:
        """The exponents of likelihood and prior, and beta."""
        return {"temperature": self.temperature, "prior": self.prior, "beta": self.beta}

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""
        return True, self.temperature, self.prior, self.beta


def _is_f_measure(measure: MetricLike) -> bool:
    return isinstance(measure, str) and beta_of(measure) is not None
