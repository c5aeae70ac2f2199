"""Rules for people (`Rule`) and for the prediction kernel (`RuleList`).

A `Rule` is a conjunction of `Condition` objects and the scores of its head. A `RuleList` stores all
rules of a model in a few arrays and creates `Rule` objects on access.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.documentation import documented
from xdcc.base.state_checks import check_categories, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, Shape, Starts
from xdcc.comparators.boomer._coverage import RELATIONS, add_scores


class LearnedRule(NamedTuple):
    """A rule as the training kernel returns it."""

    feature: NDArray[np.int32]  # (n_conditions,)
    relation: NDArray[np.int8]  # (n_conditions,) indices into `RELATIONS`
    threshold: NDArray[np.float32]  # (n_conditions,)
    label: int  # of a single-label head, or -1
    scores: NDArray[np.float64]  # (n_labels,) or (1,)
    n_covered: int  # training rows


class RuleArrays(NamedTuple):
    """Rules as the prediction kernel takes them.

    Rule `r` has the conditions ``condition_start[r]`` to ``condition_start[r + 1]`` and the scores
    ``head_start[r]`` to ``head_start[r + 1]``.
    """

    condition_start: NDArray[np.int64]
    feature: NDArray[np.int32]
    relation: NDArray[np.int8]
    threshold: NDArray[np.float32]
    head_start: NDArray[np.int64]
    head_label: NDArray[np.int32]
    head_score: NDArray[np.float64]


@dataclass(frozen=True)
class Condition:
    """A comparison of an attribute with a value.

    Attributes
    ----------
    attribute : str
        Name of the attribute.
    relation : {"<=", ">", "=", "!="}
        The comparison.
    value : float or object
        A threshold, or a value of a nominal attribute.

    Examples
    --------
    >>> str(Condition("age", "<=", 30.5))
    'age <= 30.5'
    """

    attribute: str
    relation: str
    value: Any

    def __str__(self) -> str:
        """Format as in ``age <= 30.5``."""
        value = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        return f"{self.attribute} {self.relation} {value}"


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, add the scores.

    Attributes
    ----------
    conditions : tuple of Condition
        The body; empty for the default rule.
    scores : dict of str to float
        The head: a score for each label that the rule predicts.
    n_covered : int
        Number of training rows that the rule covers.

    Examples
    --------
    >>> print(Rule((Condition("age", "<=", 30.5),), {"young": 0.25}, n_covered=12))
    if age <= 30.5 then young +0.25 (12 rows)
    """

    conditions: tuple[Condition, ...]
    scores: dict[str, float]
    n_covered: int

    @property
    def body(self) -> str:
        """The conditions as text."""
        return " and ".join(map(str, self.conditions)) or "true"

    def __str__(self) -> str:
        """Format as in ``if age <= 30.5 then young +0.25 (12 rows)``."""
        head = ", ".join(f"{label} {score:+.3g}" for label, score in self.scores.items())
        rows = "row" if self.n_covered == 1 else "rows"
        return f"if {self.body} then {head} ({self.n_covered} {rows})"


@stored
@documented
class RuleList(Sequence[Rule]):
    """The rules of a model, in the order in which they were learned, the default rule first.

    Parameters
    ----------
    rules : iterable of LearnedRule
        The rules.
    attributes : sequence of str
        Names of the attributes.
    labels : sequence of str
        Names of the labels.
    categories : dict of int to array
        Categories of the categorical attributes, whose values are positions in these arrays.

    Attributes
    ----------
    condition_start, head_start : int64 arrays of shape (n_rules + 1,)
        Rule `r` has the conditions ``condition_start[r]`` to ``condition_start[r + 1]`` and the
        scores ``head_start[r]`` to ``head_start[r + 1]``.
    feature, relation, threshold : arrays of shape (n_conditions,)
        The conditions.
    head_label, head_score : int32 and float64 arrays of shape (n_scores,)
        The labels and scores of the heads.
    n_covered : int64 array of shape (n_rules,)
        Number of training rows that each rule covers.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=2, random_state=0)
    >>> rules = xdcc.BoomerClassifier(n_rules=5, random_state=0).fit(data.X, data.Y).rules_
    >>> len(rules), rules[0].body
    (5, 'true')
    >>> [rule.body for rule in rules[1:3]]
    ['feature_8 > -0.000106646', 'feature_8 > 0.00403487']
    """

    attributes: list[str]
    labels: list[str]
    categories: dict[int, NDArray[Any]]
    condition_start: Annotated[NDArray[np.int64], Starts("feature", "n_covered")]
    feature: Annotated[NDArray[np.int32], Shape(None), Below("attributes")]
    relation: Annotated[NDArray[np.int8], Shape("feature"), Below(len(RELATIONS))]
    threshold: Annotated[NDArray[np.float32], Shape("feature")]
    head_start: Annotated[NDArray[np.int64], Starts("head_label", "n_covered")]
    head_label: Annotated[NDArray[np.int32], Shape(None), Below("labels")]
    head_score: Annotated[NDArray[np.float64], Shape("head_label")]
    n_covered: Annotated[NDArray[np.int64], Shape(None)]

    def __init__(
        self,
        rules: Iterable[LearnedRule],
        attributes: Sequence[str],
        labels: Sequence[str],
        categories: dict[int, NDArray[Any]],
    ) -> None:
        learned = list(rules)
        self.attributes = list(attributes)
        self.labels = list(labels)
        self.categories = categories
        every = np.arange(len(self.labels), dtype=np.int32)
        heads = [every if r.label < 0 else np.array([r.label], np.int32) for r in learned]
        self.condition_start = _starts([len(r.feature) for r in learned])
        self.feature = _joined([r.feature for r in learned], np.int32)
        self.relation = _joined([r.relation for r in learned], np.int8)
        self.threshold = _joined([r.threshold for r in learned], np.float32)
        self.head_start = _starts([len(head) for head in heads])
        self.head_label = _joined(heads, np.int32)
        self.head_score = _joined([r.scores for r in learned], np.float64)
        self.n_covered = np.array([r.n_covered for r in learned], np.int64)

    def _check_state(self) -> None:
        for feature, categories in self.categories.items():
            require(0 <= feature < len(self.attributes), "categories")
            check_categories(categories, "categories")
            positions = self.threshold[self.feature == feature]
            require(((positions >= 0) & (positions < len(categories))).all(), "threshold")

    def __len__(self) -> int:
        """Count the rules."""
        return len(self.n_covered)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> list[Rule]: ...

    def __getitem__(self, index: int | slice) -> Rule | list[Rule]:
        """Create a rule, or a list of rules."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        body = slice(*self.condition_start[position : position + 2])
        head = slice(*self.head_start[position : position + 2])
        return Rule(
            tuple(self._conditions(body)),
            {
                self.labels[label]: float(score)
                for label, score in zip(self.head_label[head], self.head_score[head], strict=True)
            },
            int(self.n_covered[position]),
        )

    def learned(self) -> Iterator[LearnedRule]:
        """Yield the rules as the training kernel returned them."""
        for t in range(len(self)):
            body = slice(*self.condition_start[t : t + 2])
            head = slice(*self.head_start[t : t + 2])
            labels = self.head_label[head]
            single = len(labels) == 1 < len(self.labels)
            yield LearnedRule(
                self.feature[body],
                self.relation[body],
                self.threshold[body],
                int(labels[0]) if single else -1,
                self.head_score[head],
                int(self.n_covered[t]),
            )

    def add_scores(
        self, X: Any, first: int, last: int, scores: NDArray[np.float64], n_threads: int
    ) -> None:
        """Add the scores of a range of rules (equation 2).

        Parameters
        ----------
        {features}
        first, last : int
            The range of rules; `last` is excluded.
        scores : float64 array of shape (n_samples, n_labels)
            Updated in place.
        n_threads : int
            Number of threads.
        """
        head = self.head_start, self.head_label, self.head_score
        self._add(X, head, first, last, scores, n_threads)

    def coverage(self, X: Any, n_threads: int) -> NDArray[np.int64]:
        """Count the rules that cover each row.

        Parameters
        ----------
        {features}
        n_threads : int
            Number of threads.

        Returns
        -------
        int64 array of shape (n_samples,)
        """
        # Every rule gets a head with the score 1 for a single label.
        n_rules = len(self)
        head = np.arange(n_rules + 1), np.zeros(n_rules, np.int32), np.ones(n_rules)
        counts = np.zeros((X.shape[0], 1))
        self._add(X, head, 0, n_rules, counts, n_threads)
        return counts[:, 0].astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Export the rules as a table.

        Returns
        -------
        DataFrame
            A row for each rule, with the columns `body`, `n_conditions` and `n_covered` (training
            rows), and a column of scores for each label, NaN where the rule does not predict it.
        """
        scores = np.full((len(self), len(self.labels)), np.nan)
        rule = np.repeat(np.arange(len(self)), np.diff(self.head_start))
        scores[rule, self.head_label] = self.head_score
        about = pd.DataFrame(
            {
                "body": [rule.body for rule in self],
                "n_conditions": np.diff(self.condition_start),
                "n_covered": self.n_covered,
            }
        )
        return pd.concat((about, pd.DataFrame(scores, columns=self.labels)), axis=1)

    def __str__(self) -> str:
        """Format the rules, one per line."""
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        """Show the numbers of rules and labels."""
        return f"<{len(self)} rules for {len(self.labels)} labels>"

    def _add(
        self,
        X: Any,
        head: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
        first: int,
        last: int,
        scores: NDArray[np.float64],
        n_threads: int,
    ) -> None:
        arrays = RuleArrays(
            self.condition_start, self.feature, self.relation, self.threshold, *head
        )
        add_scores(X, arrays, first, last, scores, n_threads)

    def _conditions(self, body: slice) -> Iterator[Condition]:
        for feature, relation, threshold in zip(
            self.feature[body], self.relation[body], self.threshold[body], strict=True
        ):
            value: Any = float(threshold)
            if feature in self.categories:
                value = self.categories[feature][int(threshold)]
            yield Condition(self.attributes[feature], RELATIONS[relation], value)


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _joined(parts: list[Any], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)
