"""``Rule``: the interface of decision rules, which predict labels from margins.

A rule is small and immutable. Its class says which metrics it suits, and learns all its
configurations at once from margins out of fold, always in the same order, so that those learned on
parts of the rows can be compared one by one. It has a flat form if only compiled code and products
of arrays decide; what any other rule predicts is checked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.labelset_weights import MOST_PAIRS
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.thresholds import threshold_for
from xdcc.kernels.logistic import expit
from xdcc.metrics.counted import Counted
from xdcc.prediction.builder import NotFlat

type MetricLike = str | Counted | Callable[..., float]

_MAX_CANDIDATES = 50
"""Thresholds that are tried for a callable metric."""


class Decides(Protocol):
    """Decides labels."""

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""

    def _check_labels(self, n_labels: int) -> None:
        """Stop if this, read from a file, decides another number of labels."""


class RuleData:
    """The data that rules learn from: out-of-fold margins, and labels.

    Intermediate results that several rules need are computed once, when the first of them is used.

    Parameters
    ----------
    data : FitData
        X are margins (log-odds), calibrated; Y are labels, NaN where unknown; rows can have
        weights.
    measure : str, Counted or callable
        Metric to maximise.
    most_pairs : int, default=2**20
        That of :func:`~xdcc.decision.labelset_weights.fitted_weights`.

    Examples
    --------
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> rows = RuleData(FitData(np.array([[2.0, -1.0], [-3.0, 0.5]]), Y, None), "example_f1")
    >>> rows.proba.round(2)
    array([[0.88, 0.27],
           [0.05, 0.62]])
    >>> rows.known.labelsets.tolist()
    [[0, 1], [1, 0]]
    """

    def __init__(self, data: FitData, measure: MetricLike, most_pairs: int = MOST_PAIRS) -> None:
        self.data, self.measure, self.most_pairs = data, measure, most_pairs

    @property
    def margins(self) -> Floats:
        """Log-odds, `(n_samples, n_labels)`."""
        margins: Floats = self.data.X
        return margins

    @property
    def Y(self) -> NDArray[np.float32]:
        """Labels, `(n_samples, n_labels)`: 0, 1, or NaN where unknown."""
        return self.data.Y

    @cached_property
    def of_proba(self) -> FitData:
        """The data with probabilities in place of margins."""
        return self.data._replace(X=expit(self.data.X))

    @property
    def proba(self) -> Floats:
        """Probabilities, `(n_samples, n_labels)`."""
        proba: Floats = self.of_proba.X
        return proba

    @cached_property
    def threshold(self) -> float:
        """The threshold for all labels with which the metric is highest."""
        return threshold_for(self.of_proba, self.measure, _MAX_CANDIDATES)

    @cached_property
    def known(self) -> KnownLabelsets:
        """The labelsets of the rows of which every label is known."""
        return KnownLabelsets.of_data(self.data)


class Rule(Decides, ABC):
    """From margins, or probabilities, to labels.

    A subclass has a name and decides. One that learns something has `learn`, too, and shows it in
    `params`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Likeliest(Rule):
    ...     name = "likeliest"
    ...
    ...     def decide(self, margins):
    ...         return (margins == margins.max(axis=1, keepdims=True)).astype(np.int8)
    >>> Likeliest().predict([[0.2, 0.4], [0.9, 0.6]])
    array([[0, 1],
           [1, 0]])
    """

    name: ClassVar[str]

    needs_labelsets: ClassVar[bool] = False
    """Whether it is learned from rows of which every label is known, in two folds at least."""

    @classmethod
    def why_not(cls, measure: MetricLike) -> str | None:
        """Say what the rule needs that a metric is not; None if it can be learned for it."""
        return None

    @classmethod
    def suits(cls, measure: MetricLike) -> bool:
        """Tell whether it is tried for a metric if no rules are named."""
        return True

    @classmethod
    def learn(cls, rows: RuleData) -> Sequence["Rule"]:
        """Learn all configurations: for any rows as many, in the same order."""
        return [cls()]

    @property
    def params(self) -> dict[str, Any]:
        """A description of what was chosen or learned."""
        return {}

    @abstractmethod
    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""

    def _check_labels(self, n_labels: int) -> None:
        """Stop if the rule, read from a file, is for another number of labels."""

    def flat(self) -> Decides:
        """Return what decides by arrays and compiled code alone, whose labels are not checked.

        Raises
        ------
        NotFlat
            If there is nothing such; the message names the class of the rule.
        """
        raise NotFlat(f"{type(self).__module__}.{type(self).__name__}")

    def predict(self, Y_proba: ArrayLike) -> NDArray[np.int64]:
        """Predict labels, `(n_samples, n_labels)`, from probabilities of the same shape."""
        return self.decide(margins_of(check_proba(Y_proba))).astype(np.int64)

    def favoured_by(self, measure: MetricLike) -> bool:
        """Tell whether another rule must be better by a standard error to be chosen instead."""
        return False

    @property
    def together(self) -> object | None:
        """A key that rules share if they decide together; None for a rule that decides alone."""
        return None

    @classmethod
    def decide_together(cls, rules: Sequence[Any], margins: Floats) -> Sequence[NDArray[np.int8]]:
        """Predict labels with each of some rules that share `together`."""
        return [rule.decide(margins) for rule in rules]


@dataclass(frozen=True, eq=False)
class CheckedRule:
    """A rule that has no flat form; its labels are checked.

    Attributes
    ----------
    rule : Rule
    not_flat : str
        Names its class.
    """

    rule: Rule
    not_flat: str

    def _check_labels(self, n_labels: int) -> None:
        self.rule._check_labels(n_labels)

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`; a ValueError says what came instead.

        Examples
        --------
        >>> class Twice(Rule):
        ...     name = "twice"
        ...
        ...     def decide(self, margins):
        ...         return 2 * (margins > 0)
        >>> CheckedRule(Twice(), "Twice").decide(np.array([[-1.0, 1.0]]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: The decision rule 'twice' predicts 2 in row 0 for label number 1; a label is ...
        """
        found = np.asarray(self.rule.decide(margins))
        what = f"The decision rule {self.rule.name!r} predicts"
        if found.shape != margins.shape:
            raise ValueError(
                f"{what} an array of the shape {found.shape}; expected {margins.shape}, one entry "
                "for each row and label."
            )
        is_wrong = (found != 0) & (found != 1)
        if is_wrong.any():
            row, label = np.argwhere(is_wrong)[0]
            raise ValueError(
                f"{what} {found[row, label]} in row {row} for label number {label}; a label is 0 "
                "or 1."
            )
        return found.astype(np.int8)


def decider_of(rule: Rule) -> Decides:
    """Return the flat form of a rule; of one without, the rule with checks."""
    try:
        return rule.flat()
    except NotFlat as reason:
        return CheckedRule(rule, str(reason))
