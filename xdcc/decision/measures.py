"""The measures that rules can be chosen for by name, as functions of three counts.

Each is a mean over groups of entries: the samples, the labels, or all entries as one group. In a
group it depends only on how many entries are true, how many are predicted, and how many are both,
so the search can follow it while entries become predicted one by one. Zero-division conventions
are the defaults of :mod:`xdcc.metrics`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from xdcc.base.domains import check_domain
from xdcc.decision.cuts import Floats
from xdcc.decision.validation_data import ValidationData


@dataclass(frozen=True)
class Measure:
    """A measure of :mod:`xdcc.metrics`.

    Attributes
    ----------
    axis : 1, 0 or None
        Over which axis of the label matrix a group extends: 1 for samples, 0 for labels, None
        for all entries together.
    value : callable
        A group's value, given the counts true, predicted, and both; arrays that broadcast.

    Examples
    --------
    >>> MEASURES["jaccard"].value(np.array([2.0]), np.array([3.0]), np.array([1.0]))
    array([0.25])
    """

    axis: Literal[0, 1] | None
    value: Callable[[Floats, Floats, Floats], Floats]

    def sizes(self, data: ValidationData) -> Floats:
        """Tell what each entry counts among those of its row: (n_samples, n_labels)."""
        return data.known.astype(np.float64)

    def row_sizes(self, data: ValidationData) -> Floats:
        """Tell what a row counts among all, if these are one group: (n_samples,)."""
        return data.known.sum(axis=1, dtype=np.float64)

    def entry_sizes(self, data: ValidationData) -> Floats:
        """Tell what each entry counts in its group: (n_samples, n_labels), 0 if unknown."""
        sizes = self.sizes(data)
        if self.axis == 1:
            return sizes
        sizes = sizes * data.weight[:, np.newaxis]
        return sizes if self.axis == 0 else sizes / (data.weight @ self.row_sizes(data))

    def group_shares(self, data: ValidationData) -> Floats:
        """Tell what groups count in the mean: (n_samples, 1), (1, n_labels) or (1, 1), sum 1."""
        if self.axis == 1:
            return data.weight[:, np.newaxis] / data.weight.sum()
        known = data.known.any(axis=self.axis, keepdims=True)
        return known / known.sum()


def _ratio(numerator: Floats, denominator: Floats, empty: float) -> Floats:
    quotient = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def _f_beta(
    true: Floats, predicted: Floats, both: Floats, *, empty: float, b: float = 1.0
) -> Floats:
    return _ratio((1 + b) * both, b * true + predicted, empty)


def _jaccard(true: Floats, predicted: Floats, both: Floats) -> Floats:
    return _ratio(both, true + predicted - both, empty=1.0)


def _exact(true: Floats, predicted: Floats, both: Floats) -> Floats:
    return ((true == both) & (predicted == both)).astype(np.float64)


def _precision_at(true: Floats, predicted: Floats, both: Floats, *, least: float) -> Floats:
    recall = _ratio(both, true, empty=1.0)
    enough = recall >= least - 1e-9  # sums of weights are rounded
    return np.where(enough, _ratio(both, predicted, empty=1.0), recall - least)


def _right(true: Floats, predicted: Floats, both: Floats) -> Floats:
    return 1 - (true + predicted - 2 * both)


MEASURES: dict[str, Measure] = {
    "example_f1": Measure(1, partial(_f_beta, empty=1.0)),
    "micro_f1": Measure(None, partial(_f_beta, empty=0.0)),
    "macro_f1": Measure(0, partial(_f_beta, empty=0.0)),
    "subset_accuracy": Measure(1, _exact),
    "hamming_accuracy": Measure(None, _right),
    "jaccard": Measure(1, _jaccard),
}
"""By the names that the functions have in :mod:`xdcc.metrics`."""

_F_BETA = re.compile(r"example_f(\d+(?:\.\d+)?)")
_AT_RECALL = re.compile(r"precision_at_recall_(1|0?\.\d+)")


class MeasureName:
    """The domain of names of measures: those of `MEASURES`, and those with a number."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a name."""
        return isinstance(value, str) and (
            value in MEASURES or bool(_F_BETA.fullmatch(value) or _AT_RECALL.fullmatch(value))
        )

    def __str__(self) -> str:
        """Say the names in words."""
        return (
            f"one of {', '.join(map(repr, MEASURES))}, 'example_f2' for beta = 2 and so on, or "
            "'precision_at_recall_0.9' and so on"
        )


def beta_of(name: str) -> float | None:
    """Tell the beta of an example-based F measure; None for another measure.

    Parameters
    ----------
    name : str
        A name that :class:`MeasureName` accepts.

    Returns
    -------
    float or None

    Examples
    --------
    >>> beta_of("example_f0.5"), beta_of("jaccard")
    (0.5, None)
    """
    found = _F_BETA.fullmatch(name)
    return float(found.group(1)) if found else None


def measure_named(measure: str | Measure) -> Measure:
    """Find a measure.

    Parameters
    ----------
    measure : str or Measure
        One of `MEASURES`; or `example_f` and a number: example-based F-beta,
        (1 + b) both / (b true + predicted) with b the square of beta, 1 for 0/0; or
        `precision_at_recall_` and a number: the precision of all entries together if their recall
        is at least that number, else what the recall falls short of it, as a negative number. A
        measure itself is returned.

    Returns
    -------
    Measure

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> measure_named("precision_at_recall_0.9").value(*np.array([[10.0], [12.0], [9.0]]))
    array([0.75])
    """
    if isinstance(measure, Measure):
        return measure
    check_domain("measure", measure, MeasureName())
    if measure in MEASURES:
        return MEASURES[measure]
    if beta := beta_of(measure):
        return Measure(1, partial(_f_beta, empty=1.0, b=beta**2))
    found = _AT_RECALL.fullmatch(measure)
    assert found
    return Measure(None, partial(_precision_at, least=float(found.group(1))))
