"""The decision rules of this package, and learning and predicting with several kinds at once.

:func:`learn_rules` learns all configurations of some kinds of rules at once, always in the same
order; :func:`predict_with_all` predicts with all of them, sharing what is expensive, the posterior
over known labelsets.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import sample_rows
from xdcc.decision.cuts import Floats
from xdcc.decision.known_labelset_rules import F1Maximiser, FittedLabelset, MostProbableLabelset
from xdcc.decision.labelset_weights import MOST_PAIRS
from xdcc.decision.rule import MetricLike, Rule, RuleData, decider_of
from xdcc.decision.threshold_rules import CommonThreshold, LabelWise, LeastCost, ThresholdPerLabel

RULES: Mapping[str, type[Rule]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            *(LabelWise, LeastCost, CommonThreshold, ThresholdPerLabel),
            *(MostProbableLabelset, FittedLabelset, F1Maximiser),
        )
    }
)
"""Kinds of rules by name, the simplest first: of equally good ones the first is taken."""

RULE_NAMES = tuple(RULES)
"""Their names."""

type RuleKind = str | type[Rule]
"""A kind of rules: a name of :data:`RULES`, or a subclass of `Rule`."""


class RuleKinds:
    """The domain of a sequence of kinds of rules.

    Examples
    --------
    >>> RuleKinds().accepts(["threshold", LabelWise]), RuleKinds().accepts(["cut"])
    (True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a sequence, in which no name is that of two kinds."""
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            return False
        if not all(map(_is_kind, value)):
            return False
        names = {kind.name for kind in kinds_of(value)}
        return len(names) == len(kinds_of(value))

    def __str__(self) -> str:
        """Describe the kinds."""
        names = ", ".join(map(repr, RULE_NAMES))
        return f"a sequence of {names}, and subclasses of xdcc.decision.Rule with other names"


def _is_kind(kind: object) -> bool:
    if isinstance(kind, str):
        return kind in RULES
    is_rule = isinstance(kind, type) and issubclass(kind, Rule)
    return is_rule and isinstance(getattr(kind, "name", None), str)


def kinds_of(kinds: Sequence[RuleKind]) -> list[type[Rule]]:
    """Return the classes of kinds of rules, each once, those of this package first.

    Examples
    --------
    >>> [kind.name for kind in kinds_of(["threshold", LabelWise, "threshold"])]
    ['label_wise', 'threshold']
    """
    found = dict.fromkeys(RULES[kind] if isinstance(kind, str) else kind for kind in kinds)
    own = list(RULES.values())
    return [kind for kind in own if kind in found] + [kind for kind in found if kind not in own]


def learn_rules(
    kinds: Sequence[RuleKind], data: FitData, measure: MetricLike, most_pairs: int = MOST_PAIRS
) -> list[Rule]:
    """Learn all configurations of some kinds of rules, from rows that count.

    X are out-of-fold margins. For any data there are as many, in the same order. A ValueError says
    that a rule cannot be learned for the metric or from the data. `most_pairs` is that of
    :func:`fitted_weights`.
    """
    rows = RuleData(data, measure, most_pairs)
    return [rule for kind in kinds_of(kinds) for rule in kind.learn(rows)]


def predict_with_all(rules: Sequence[Rule], margins: Floats) -> list[NDArray[np.int8]]:
    """Predict labels from log-odds with each rule; those on the same labelsets share the work."""
    found: dict[int, NDArray[np.int8]] = {}
    together: dict[int, dict[int, Rule]] = {}
    for i, rule in enumerate(rules):
        if rule.together is not None:
            together.setdefault(id(rule.together), {})[i] = rule
        else:
            found[i] = decider_of(rule).decide(margins)
    for alike in together.values():
        first = next(iter(alike.values()))
        found.update(zip(alike, first.decide_together([*alike.values()], margins), strict=True))
    return [found[i] for i in range(len(rules))]


def others_of(kinds: Sequence[RuleKind]) -> list[type[Rule]]:
    """Return the kinds of rules that are not of this package.

    Examples
    --------
    >>> others_of(["threshold", LabelWise])
    []
    """
    return [kind for kind in kinds_of(kinds) if kind not in RULES.values()]


def require_suitable(kinds: Sequence[type[Rule]], measure: MetricLike) -> None:
    """Stop if a kind of rules cannot be learned for a metric; the message says what it needs."""
    for kind in kinds:
        if (reason := kind.why_not(measure)) is not None:
            raise ValueError(f"The rule {kind.name!r} {reason}.")


def try_kinds(kinds: Sequence[RuleKind], data: FitData, measure: MetricLike) -> None:
    """Learn rules of other packages once, so that their errors come before anything is trained.

    Parameters
    ----------
    kinds : sequence of str or subclasses of Rule
        Kinds of rules.
    data : FitData
        Labels and weights; the margins are drawn.
    measure : str, Counted or callable
        Metric to maximise.

    Raises
    ------
    ValueError
        If a rule cannot be learned for the metric, or predicts something else than 0 and 1.
    """
    others = others_of(kinds)
    if not others:
        return
    require_suitable(others, measure)
    rows = data._replace(X=None).take(sample_rows(data.Y.shape, data.counts))
    drawn = np.random.default_rng(0).normal(np.where(rows.truth, 1.0, -1.0), 2.0)
    predict_with_all(learn_rules(others, rows._replace(X=drawn), measure), drawn)
