"""Constraints on single labels: a least precision or recall, or a fixed threshold.

A constrained label has a threshold of its own, learned from out-of-fold margins: of those that
meet the constraint the one with the best F1 of the label (the lowest cost, if costs are the
metric). The other labels are predicted by the decision rule that is best for the metric;
:class:`~xdcc.decision.rules.ConstrainedRule` joins the two.

Confidence is that of the lower limit of Clopper and Pearson's interval. Rows with different weights
count as fewer rows with equal weights: as (sum of w)^2 / (sum of w^2), which does not depend on the
scale of the weights. Of many thresholds some would reach a limit by chance, so only
``N_TESTED`` are tested, whose numbers of predicted rows are a geometric series. Sources:
Clopper, Pearson: "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial"
(Biometrika 26, 1934); Kish: "Survey Sampling" (1965).
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Number
from xdcc.base.fit_data import FitData
from xdcc.base.libraries import stats
from xdcc.base.package import PACKAGE
from xdcc.base.stored import stored
from xdcc.decision.cuts import Cuts, Floats
from xdcc.kernels.logistic import expit

NEVER = np.inf
"""The threshold of a label that is never predicted."""

N_TESTED = 50
"""Thresholds that are tested with confidence."""

_ROUNDING = 1e-9
"""Largest rounding error of a ratio of sums of weights."""


@dataclass(frozen=True)
class _Floor(ABC):
    """A least value of a share of rows."""

    at_least: float
    confidence: float | None = None

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        """Stop if a number is out of range."""
        for name, domain in _DOMAINS.items():
            value = getattr(self, name)
            if not domain.accepts(value) and (name, value) != ("confidence", None):
                raise ValueError(f"{type(self).__name__}: {name}={value!r} must be {domain}.")

    @abstractmethod
    def _among(self, counts: "_Counts") -> tuple[Floats, Floats]:
        """Add up the weights, and their squares, of the rows of which a share is to be high."""

    @abstractmethod
    def fallback(self, values: Floats) -> NDArray[np.bool_]:
        """Tell which thresholds can be taken if none meets the floor; none: no prediction."""

    def values(self, counts: "_Counts") -> Floats:
        """Return the share, or its lower confidence bound.

        It is -1 without rows, and, with a confidence, for thresholds that are not tested.
        """
        among, squares = self._among(counts)
        some = among > 0
        both = np.minimum(counts.both, among)
        if self.confidence is None:
            return np.divide(both, among, out=np.full(len(among), -1.0), where=some)
        # As if this many rows of weight 1 had been found.
        rows = np.divide(among, squares, out=np.zeros(len(among)), where=some)
        some &= counts.tested
        share = np.where(some, 0.0, -1.0)
        some &= both > 0
        found, n_rows = (both * rows)[some], (among * rows)[some]
        share[some] = stats.beta.ppf(1 - self.confidence, found, n_rows - found + 1)
        return share


_DOMAINS = {
    "at_least": Number(low=0, high=1, low_open=True),
    "confidence": Number(low=0, high=1, low_open=True, high_open=True),
}


@stored
class Precision(_Floor):
    """A least precision of a label: the share of rows with the label among those predicted.

    Parameters
    ----------
    at_least : float
        Above 0, at most 1.
    confidence : float, optional
        The precision has to be as high with this confidence: the lower limit of Clopper and
        Pearson's interval, with the effective number of rows, (sum of w)^2 / (sum of w^2), if they
        have weights w; their scale does not matter. None: in the rows that the threshold is
        chosen on. It will often be a bit lower in new rows, as the threshold suits those rows.

    Notes
    -----
    If no threshold reaches it, the label is never predicted, which a warning says.

    Examples
    --------
    >>> Precision(0.9), Precision(0.9, confidence=0.95)
    (Precision(at_least=0.9, confidence=None), Precision(at_least=0.9, confidence=0.95))
    """

    kind: ClassVar[str] = "precision"

    def _among(self, counts: "_Counts") -> tuple[Floats, Floats]:
        return counts.predicted, counts.predicted_squares

    def fallback(self, values: Floats) -> NDArray[np.bool_]:
        """Take none."""
        return np.zeros(len(values), dtype=bool)


@stored
class Recall(_Floor):
    """A least recall of a label: the share of rows predicted among those with the label.

    Parameters
    ----------
    at_least : float
        Above 0, at most 1.
    confidence : float, optional
        As for :class:`Precision`.

    Notes
    -----
    If no threshold reaches it with the confidence, as there are too few rows with the label, the
    threshold is the best of those that find all of them, which a warning says.

    Examples
    --------
    >>> Recall(0.8)
    Recall(at_least=0.8, confidence=None)
    """

    kind: ClassVar[str] = "recall"

    def _among(self, counts: "_Counts") -> tuple[Floats, Floats]:
        return counts.true, counts.true_squares

    def fallback(self, values: Floats) -> NDArray[np.bool_]:
        """Take those that come nearest, if a row has the label."""
        return (values > 0) & (values >= values.max() - _ROUNDING)


type Constraint = Precision | Recall | float
"""A floor, or a threshold."""

type Prices = tuple[Floats, Floats]
"""Costs of false positives and false negatives, (n_labels,) each."""

_COLUMNS = ("label", "constraint", "threshold", "reached", "precision", "recall", "f1")


def check_constraints(constraints: Any) -> None:
    """Raise a ValueError unless it is None or a mapping of names of labels to constraints.

    Examples
    --------
    >>> check_constraints({"fraud": Precision(0.9), "vip": 0.3})
    >>> check_constraints({"fraud": "high"})
    Traceback (most recent call last):
    ValueError: constraints: 'fraud' has 'high'; it must be a Precision, a Recall or a threshold \
from 0 to 1.
    """
    if constraints is None:
        return
    if not isinstance(constraints, Mapping):
        raise ValueError(
            f"constraints={constraints!r} must be None or a dict of names of labels, for example "
            '{"fraud": Precision(0.9)}.'
        )
    threshold = Number(low=0, high=1)
    for name, constraint in constraints.items():
        if not isinstance(name, str):
            raise ValueError(f"constraints: {name!r} is not the name of a label.")
        if not isinstance(constraint, _Floor) and not threshold.accepts(constraint):
            raise ValueError(
                f"constraints: {name!r} has {constraint!r}; it must be a Precision, a Recall or a "
                "threshold from 0 to 1."
            )


class LabelConstraints(NamedTuple):
    """Constraints of some labels, by their positions.

    Attributes
    ----------
    labels : int64 array of shape (n_constrained,)
        Positions, ascending.
    names : list of str
        Their names.
    constraints : list of Precision, Recall or float
        One for each.

    Examples
    --------
    >>> found = LabelConstraints.of({"vip": 0.3, "fraud": Precision(0.9)}, ["fraud", "new", "vip"])
    >>> found.labels, found.names
    (array([0, 2]), ['fraud', 'vip'])
    """

    labels: NDArray[np.int64]
    names: list[str]
    constraints: list[Constraint]

    @classmethod
    def of(
        cls, constraints: Mapping[str, Constraint] | None, names: Sequence[str]
    ) -> "LabelConstraints":
        """Find the labels; a ValueError says that there is none of a name."""
        given = constraints or {}
        for name in given:
            if name not in names:
                raise ValueError(
                    f"constraints: there is no label {name!r}; the labels are "
                    f"{', '.join(map(repr, names))}."
                )
        labels = [label for label, name in enumerate(names) if name in given]
        own = [names[label] for label in labels]
        return cls(np.array(labels, dtype=np.int64), own, [given[name] for name in own])

    def thresholds(self, data: FitData, prices: Prices | None = None) -> Floats:
        """Learn the threshold of each label, `(n_constrained,)`.

        X of `data` are margins of rows that count; `prices` are those of all labels if costs are
        the metric.
        """
        found = [
            constraint
            if not isinstance(constraint, _Floor)
            else _Counts.of(data, label).best(constraint, prices and [p[label] for p in prices])
            for label, constraint in zip(self.labels, self.constraints, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def decide(
        self, labels: NDArray[np.int8], margins: Floats, thresholds: Floats
    ) -> NDArray[np.int8]:
        """Predict the constrained labels in place, in `labels` of all, from all margins."""
        labels[:, self.labels] = expit(margins[:, self.labels]) >= thresholds
        return labels

    def report(
        self, data: FitData, folds: NDArray[np.intp], prices: Prices | None = None
    ) -> dict[str, list[Any]]:
        """Make a table of what is reached, and warn of what is not.

        Parameters
        ----------
        data : FitData
            X are out-of-fold margins of rows that count.
        folds : int array of shape (n_samples,)
            Fold of each row.
        prices : pair of float64 arrays of shape (n_labels,), optional
            If costs are the metric.

        Returns
        -------
        dict of str to list
            Columns "label" (its name), "constraint", "threshold", "reached", "precision", "recall"
            and "f1". The last three are those of rows that the threshold was not learned from: in
            each fold that of the others.

        Warns
        -----
        UserWarning
            If no threshold meets a constraint in the rows that it is learned from; it names the
            labels and says what they get.
        """
        predicted = np.zeros(data.Y.shape, dtype=np.int8)
        for fold in np.unique(folds):
            out = folds == fold
            thresholds = self.thresholds(data.take(~out), prices)
            predicted[out] = self.decide(predicted[out], data.X[out], thresholds)
        table: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        learned = self.thresholds(data, prices).tolist()
        missed = []
        for label, name, constraint, threshold in zip(
            self.labels, self.names, self.constraints, learned, strict=True
        ):
            miss = None
            if isinstance(constraint, _Floor):
                miss = _Counts.of(data, label).miss(constraint, threshold)
            if miss is not None:
                missed.append(f"label {name!r} cannot have {miss}")
            row = [name, str(constraint), threshold, miss is None]
            row += _scores(data, label, predicted[:, label] == 1)
            for column, entry in zip(table.values(), row, strict=True):
                column.append(entry)
        if missed:
            warnings.warn(
                f"Constraints that no threshold meets: {'; '.join(missed)}.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return table


def _scores(data: FitData, label: int, predicted: NDArray[np.bool_]) -> list[float]:
    """Compute precision, recall and F1 of a label; NaN for 0/0."""
    known = data.known[:, label]
    weight, truth = data.label_weight(label)[known], data.truth[known, label]
    found = predicted[known]
    true, chosen, both = weight @ truth, weight @ found, weight @ (truth & found)
    parts = ((both, chosen), (both, true), (2 * both, true + chosen))
    return [float(part / whole) if whole else np.nan for part, whole in parts]


class _Counts(NamedTuple):
    """Sums over the rows in which a label is known, for each threshold, (n_thresholds,) each.

    Weights and their squares are summed over the rows with the label, over the rows predicted to
    have it, and over those that are both. `tested` marks thresholds tested with confidence.
    """

    thresholds: Floats
    true: Floats
    true_squares: Floats
    predicted: Floats
    predicted_squares: Floats
    both: Floats
    tested: NDArray[np.bool_]

    @classmethod
    def of(cls, data: FitData, label: int) -> "_Counts":
        known = data.known[:, label]
        if not known.any():
            none = np.zeros(1)
            return cls(np.array([NEVER]), none, none, none, none, none, np.ones(1, dtype=bool))
        weight, truth = data.label_weight(label)[known], data.truth[known, label]
        cuts = Cuts.of(expit(data.X[known, label].astype(np.float64)))
        tested = np.zeros(len(cuts.thresholds), dtype=bool)
        sizes = np.round(np.geomspace(1, len(weight), N_TESTED))
        tested[np.searchsorted(cuts.sizes, sizes)] = True
        return cls(
            cuts.thresholds,
            np.full(len(tested), (weight * truth).sum()),
            np.full(len(tested), (weight**2 * truth).sum()),
            cuts.sums(weight),
            cuts.sums(weight**2),
            cuts.sums(weight * truth),
            tested,
        )

    def best(self, floor: _Floor, prices: Sequence[float] | None) -> float:
        """Choose the threshold of the best F1 that meets a floor, or takes its place."""
        values = floor.values(self)
        meets = values >= floor.at_least - _ROUNDING
        if not meets.any():
            meets = floor.fallback(values)
        if not meets.any():
            return NEVER
        if prices is None:
            goodness = 2 * self.both / (self.true + self.predicted)
        else:
            goodness = prices[0] * (self.both - self.predicted) + prices[1] * self.both
        return float(self.thresholds[np.argmax(np.where(meets, goodness, -np.inf))])

    def miss(self, floor: _Floor, threshold: float) -> str | None:
        """Say what a label cannot have, and what it gets; None if the threshold meets a floor."""
        values = floor.values(self)
        best = values.max()
        if best >= floor.at_least - _ROUNDING:
            return None
        sure = "" if floor.confidence is None else f" with confidence {floor.confidence:g}"
        said = f"a {floor.kind} of {floor.at_least:g}{sure} (the best is {max(best, 0):.3g}) and "
        if threshold == NEVER:
            return f"{said}is never predicted"
        return f"{said}gets the threshold {threshold:.3g}"
