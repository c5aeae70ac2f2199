"""Decision rules: how labels are predicted from margins, and how each rule is learned from data.

A rule is small and immutable: it predicts from margins, or from probabilities, alone.
:func:`learn_rules` learns all
configurations of some kinds of rules at once, always in the same order, so that those learned on
parts of the rows can be compared one by one; :func:`predict_with_all` predicts with all of them,
sharing what is expensive, the posterior over known labelsets.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.decision.cuts import Floats, apply_thresholds, check_proba
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.label_metrics import Metric, beta_of
from xdcc.decision.labelset_weights import MOST_PAIRS, fitted_weights
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.thresholds import threshold_for, thresholds_for

type MetricLike = str | Metric | Callable[..., float]

_PRIORS = (0.0, 0.25, 0.5, 0.75, 1.0)
_F1_PRIORS = (0.0, 0.25, 0.5)
_F1_TEMPERATURES = (0.5, 0.75, 1.0)
_SHRINKAGES = (10.0, 30.0, 100.0)
_MAX_CANDIDATES = 50
"""Thresholds that are tried for a callable metric."""


class Decides(Protocol):
    """Decides labels."""

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""


class Rule(ABC):
    """From margins, or probabilities, to labels."""

    name: ClassVar[str]

    @property
    def params(self) -> dict[str, Any]:
        """A description of what was chosen or learned."""
        return {}

    @abstractmethod
    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""

    def flat(self) -> Decides:
        """Return what decides fastest; `decide` is the same."""
        return self

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        return self.decide(margins_of(check_proba(Y_proba))).astype(np.int64)


class ThresholdRule(Rule):
    """A label is predicted where its probability is at least a threshold."""

    @abstractmethod
    def _thresholds(self) -> ArrayLike:
        """Get the threshold of all labels, or of each."""

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        return apply_thresholds(expit(margins), self._thresholds()).astype(np.int8)

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        return apply_thresholds(Y_proba, self._thresholds())


@dataclass(frozen=True)
class LabelWise(ThresholdRule):
    """A label is predicted where its probability is at least 0.5."""

    name: ClassVar[str] = "label_wise"

    def _thresholds(self) -> float:
        return 0.5


@dataclass(frozen=True, eq=False)
class LeastCost(ThresholdRule):
    """A label is predicted where that has the lower expected cost, see `LabelCosts.thresholds`."""

    name: ClassVar[str] = "least_cost"
    thresholds: Floats = field(repr=False)

    def _thresholds(self) -> Floats:
        return self.thresholds


@dataclass(frozen=True)
class CommonThreshold(ThresholdRule):
    """A label is predicted where its probability is at least a threshold, the same for all."""

    name: ClassVar[str] = "threshold"
    threshold: float

    @property
    def params(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def _thresholds(self) -> float:
        return self.threshold


@dataclass(frozen=True, eq=False)
class ThresholdPerLabel(ThresholdRule):
    """Each label has a threshold, between its own best one and the best for all.

    With m rows that have the label, it is (m own + s common) / (m + s), s being the shrinkage.
    """

    name: ClassVar[str] = "threshold_per_label"
    thresholds: Floats = field(repr=False)
    shrinkage: float

    @property
    def params(self) -> dict[str, Any]:
        """The shrinkage."""
        return {"shrinkage": self.shrinkage}

    def _thresholds(self) -> Floats:
        return self.thresholds


@dataclass(frozen=True, eq=False)
class _LabelsetRule(Rule):
    """A rule on the posterior over known labelsets."""

    known: KnownLabelsets = field(repr=False)

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        return predict_with_all([self], margins)[0]

    @abstractmethod
    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""


@dataclass(frozen=True, eq=False)
class MostProbableLabelset(_LabelsetRule):
    """The known labelset of the highest posterior with t = 1 (see `LabelsetPosterior`)."""

    name: ClassVar[str] = "known_labelset"
    prior: float

    @property
    def params(self) -> dict[str, Any]:
        """The exponent of the prior."""
        return {"prior": self.prior}

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""
        return False, 1.0, self.prior, 1.0


@dataclass(frozen=True, eq=False)
class FittedLabelset(_LabelsetRule):
    """The known labelset of the highest posterior by fitted weights (`labelset_weights.py`)."""

    name: ClassVar[str] = "fitted_labelset"

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`; weights are its counts."""
        return False, 1.0, 1.0, 1.0


@dataclass(frozen=True, eq=False)
class F1Maximiser(_LabelsetRule):
    """The labelset of the highest expected F-beta under the posterior over known labelsets."""

    name: ClassVar[str] = "f1_maximiser"
    temperature: float
    prior: float
    beta: float = 1.0

    @property
    def params(self) -> dict[str, Any]:
        """The exponents of likelihood and prior, and beta."""
        return {"temperature": self.temperature, "prior": self.prior, "beta": self.beta}

    def for_posterior(self) -> tuple[bool, float, float, float]:
        """Describe the rule for :meth:`LabelsetPosterior.decide`."""
        return True, self.temperature, self.prior, self.beta


type UnconstrainedRule = (
    LabelWise
    | LeastCost
    | CommonThreshold
    | ThresholdPerLabel
    | MostProbableLabelset
    | FittedLabelset
    | F1Maximiser
)
"""The rules of `learn_rules`."""


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

    rule: UnconstrainedRule
    labels: NDArray[np.int64] = field(repr=False)
    thresholds: Floats

    @property
    def name(self) -> str:  # type: ignore[override]
        """The kind of the rule for the other labels."""
        return str(self.rule.name)

    @property
    def params(self) -> dict[str, Any]:
        """Those of the rule for the other labels."""
        return dict(self.rule.params)

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        labels: NDArray[np.int8] = self.rule.decide(margins)
        labels[:, self.labels] = expit(margins[:, self.labels]) >= self.thresholds
        return labels

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        proba = check_proba(Y_proba)
        labels: NDArray[np.int64] = self.rule.predict(proba)
        labels[:, self.labels] = proba[:, self.labels] >= self.thresholds
        return labels


type AnyRule = UnconstrainedRule | ConstrainedRule
"""The rules of `learn_rules`, with or without constraints."""


RULE_NAMES: tuple[str, ...] = (
    LabelWise.name,
    LeastCost.name,
    CommonThreshold.name,
    ThresholdPerLabel.name,
    MostProbableLabelset.name,
    FittedLabelset.name,
    F1Maximiser.name,
)
"""Kinds of rules, the simplest first: of equally good ones the first is taken."""

LABELSET_RULES = frozenset({MostProbableLabelset.name, FittedLabelset.name, F1Maximiser.name})
"""Those that need rows of which every label is known."""


def learn_rules(
    names: Sequence[str], data: FitData, measure: MetricLike, most_pairs: int = MOST_PAIRS
) -> list[UnconstrainedRule]:
    """Learn all configurations of the kinds of rules named, from rows that count.

    X are out-of-fold margins. For any data there are as many, in the same order. A ValueError says
    that a rule cannot be learned for the metric or from the data. `most_pairs` is that of
    :func:`fitted_weights`.
    """
    rules: list[UnconstrainedRule] = []
    if LabelWise.name in names:
        rules.append(LabelWise())
    if LeastCost.name in names:
        assert isinstance(measure, LabelCosts)
        rules.append(LeastCost(measure.thresholds(data.Y.shape[1])))
    if CommonThreshold.name in names or ThresholdPerLabel.name in names:
        of_proba = data._replace(X=expit(data.X))
        common = threshold_for(of_proba, measure, _MAX_CANDIDATES)
        if CommonThreshold.name in names:
            rules.append(CommonThreshold(common))
        if ThresholdPerLabel.name in names:
            own = thresholds_for(of_proba, measure, common=common)
            n_present = np.nansum(data.Y, axis=0)
            rules += [
                ThresholdPerLabel(common + n_present / (n_present + s) * (own - common), s)
                for s in _SHRINKAGES
            ]
    if not LABELSET_RULES.isdisjoint(names):
        known = KnownLabelsets.of_data(data)
        if MostProbableLabelset.name in names:
            rules += [MostProbableLabelset(known, prior) for prior in _PRIORS]
        if FittedLabelset.name in names:
            rules.append(FittedLabelset(fitted_weights(known, data, most_pairs)))
        if F1Maximiser.name in names:
            beta = beta_of(measure) if isinstance(measure, str) else None
            rules += [
                F1Maximiser(known, temperature, prior, 1.0 if beta is None else beta)
                for temperature in _F1_TEMPERATURES
                for prior in _F1_PRIORS
            ]
    return rules


def predict_with_all(rules: Sequence[Rule], margins: Floats) -> list[NDArray[np.int8]]:
    """Predict labels from log-odds with each rule; those on the same labelsets share the work."""
    found: dict[int, NDArray[np.int8]] = {}
    together: dict[int, dict[int, _LabelsetRule]] = {}
    for i, rule in enumerate(rules):
        if isinstance(rule, _LabelsetRule):
            together.setdefault(id(rule.known), {})[i] = rule
        else:
            found[i] = rule.decide(margins)
    for alike in together.values():
        known = next(iter(alike.values())).known
        described = [rule.for_posterior() for rule in alike.values()]
        decided = known.posterior_of(margins).decide(margins, described)
        found.update(zip(alike, decided, strict=True))
    return [found[i] for i in range(len(rules))]
