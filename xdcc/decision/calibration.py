"""Calibration: margins whose probabilities are right on average, for every label.

Platt scaling: a margin z becomes a z + b, its probability sigmoid(a z + b), with a at least 0 and b
such that the log-loss of rows that the model has not seen is least. Two numbers for all labels can
hardly overfit; a label gets two of its own if that is better by more than chance on folds that
these were not fitted to. Targets are smoothed, (N+ + 1) / (N+ + 2) for a label that is there and
1 / (N- + 2) for one that is not, so that perfect margins stay finite. Source: Platt: "Probabilistic
Outputs for Support Vector Machines" (Advances in Large Margin Classifiers, 1999). The minimum is
found by Newton's method with backtracking, as in Lin, Lin, Weng: "A Note on Platt's Probabilistic
Outputs for Support Vector Machines" (Machine Learning 68, 2007).

Workers that train together (:mod:`xdcc.base.workers`) all fit the same numbers, to a sample of the
rows of all of them.

Of labels that are the same in all training rows nothing can be learned but that
(`ConstantLabels`); `LabelCalibration` takes both together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.contributions import Contributions
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import SAMPLE_ENTRIES
from xdcc.base.libraries import special
from xdcc.base.side_by_side import run_large
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.base.weights import by_entry
from xdcc.base.workers import count_folds, sample_of_all, sum_of_all
from xdcc.decision._log_loss import log_loss_sums
from xdcc.decision.cuts import Floats
from xdcc.kernels.logistic import expit

type Bools = NDArray[np.bool_]

_LEAST_OF_BOTH = 10
"""A label needs this many rows with it and without it for two numbers of its own."""

_SMALL_FALL, _LEAST_FALL, _SMALL_STEP, _RIDGE = 1e-12, 1e-4, 1e-10, 1e-12
"""Of Newton's method: the fall of the loss below which it ends; the share of the expected fall that
a shortened step must reach; the shortest step; and the number that is added to the curvature."""

_LABELS_OF_TASK = 16
"""Labels that one thread gives their own numbers at a time."""

_SATURATED = 40.0
"""No search starts from larger margins than that."""


class PlattScaling(NamedTuple):
    """The numbers that calibrate margins.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        a and b of each label, the same for those without numbers of their own.
    """

    slope: Floats
    intercept: Floats

    @classmethod
    def of_all(cls, numbers: tuple[float, float], n_labels: int) -> Self:
        """Give all labels the same numbers, in arrays of their own."""
        return cls(*(np.full(n_labels, number) for number in numbers))

    def put(self, label: int, numbers: tuple[float, float]) -> None:
        """Replace the numbers of a label."""
        self.slope[label], self.intercept[label] = numbers

    def margins(self, margins: Floats) -> Floats:
        """Calibrate margins of shape (n_samples, n_labels)."""
        return self.slope * margins + self.intercept


class Calibrated[Scaling](NamedTuple):
    """A calibration for new rows, and calibrated margins of the rows that it was fitted to.

    Attributes
    ----------
    scaling : PlattScaling or LabelCalibration
        Fitted to all rows.
    margins : float64 array of shape (n_samples, n_labels)
        Each row's by a calibration that was fitted without its fold.
    """

    scaling: Scaling
    margins: Floats


def calibrate(
    margins: Floats,
    Y: NDArray[np.floating],
    weight: Floats,
    folds: NDArray[np.intp],
    entries: int = SAMPLE_ENTRIES,
) -> Calibrated[PlattScaling]:
    """Fit Platt scaling to out-of-fold margins.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Log-odds from models that were not trained on the row.
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float64 array of shape (n_samples,) or (n_samples, n_labels)
        Of rows or entries; not negative, not all zero.
    folds : int array of shape (n_samples,)
        Fold of each row.
    entries : int, default=2**21
        With more entries, the numbers are fitted to a sample of the rows, with this many entries.

    Returns
    -------
    Calibrated
        A label has numbers of its own if its mean log-loss, out of fold, is lower with them than
        with the common ones by more than the standard error of that difference.
    """
    z, y, w, of_rows = sample_of_all(Y.shape, margins, Y, by_entry(weight), folds, entries=entries)
    w = np.broadcast_to(w, y.shape)
    counts = ~np.isnan(y) & (w > 0)
    numbers, n_labels = range(count_folds(folds)), Y.shape[1]
    parts = [(of_rows != fold, of_rows == fold) for fold in numbers]
    common = fit_platt(z, y, w, counts)
    commons = [fit_platt(z, y, w, counts & use[:, np.newaxis], common) for use, _ in parts]
    scaling = PlattScaling.of_all(common, n_labels)
    nested = [PlattScaling.of_all(fitted, n_labels) for fitted in commons]

    def fit_label(label: int) -> None:
        column = np.s_[:, label : label + 1]
        of_label, known = (z[column], y[column], w[column]), counts[column]
        present = (y[column] == 1) & known
        if min(present.sum(), known.sum() - present.sum()) < _LEAST_OF_BOTH:
            return
        before, after, own = np.empty(len(y)), np.empty(len(y)), []
        for (use, out), (a, b) in zip(parts, commons, strict=True):
            own.append(fit_platt(*of_label, known & use[:, np.newaxis], common))
            before[out] = a * z[out, label] + b
            after[out] = own[-1][0] * z[out, label] + own[-1][1]
        used = known[:, 0]
        if _is_better(after[used], before[used], y[used, label], w[used, label]):
            scaling.put(label, fit_platt(*of_label, known, common))
            for of_fold, fitted in zip(nested, own, strict=True):
                of_fold.put(label, fitted)

    def fit_labels(first: int) -> None:
        for label in range(first, min(first + _LABELS_OF_TASK, n_labels)):
            fit_label(label)

    tasks = [partial(fit_labels, first) for first in range(0, n_labels, _LABELS_OF_TASK)]
    run_large(tasks, len(y) * _LABELS_OF_TASK)
    calibrated = np.empty(margins.shape)
    for fold, of_fold in zip(numbers, nested, strict=True):
        out = folds == fold
        calibrated[out] = of_fold.margins(margins[out])
    return Calibrated(scaling, calibrated)


def fit_platt(
    margins: Floats,
    Y: NDArray[np.floating],
    weight: Floats,
    counts: Bools,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Find a and b for all the entries that count.

    Parameters
    ----------
    margins, Y
        As in :func:`calibrate`.
    weight : float64 array of shape (n_samples,) or (n_samples, n_labels)
        Of rows or entries.
    counts : bool array of shape (n_samples, n_labels)
        Which entries count; all of them are known.
    start : tuple of float
        a and b to start from, and to stay with if no entry counts.

    Returns
    -------
    a, b : float
        With the least log-loss; a is at least 0.
    """
    z, present = margins[counts].astype(np.float64), Y[counts] == 1
    w = np.broadcast_to(by_entry(weight), Y.shape)[counts]
    n_with, n_without = w[present].sum(), w[~present].sum()
    if not n_with + n_without:
        return start
    target = np.where(present, (n_with + 1) / (n_with + 2), 1 / (n_without + 2))
    w = w / (n_with + n_without)
    sum_z, sum_1 = float((w * target * z).sum()), float((w * target).sum())

    def look(a: float, b: float) -> _Look:
        value, (by_a, by_b), curvature = log_loss_sums(z, w, a, b)
        # A label that is there has the loss of one that is absent, less its margin.
        value -= a * sum_z + b * sum_1
        return _Look((a, b), value, (by_a - sum_z, by_b - sum_1), curvature)

    # The loss has hardly any curvature if all probabilities are 0 or 1.
    largest = np.abs(z).max()
    a, b = _least(look, start if start[0] * largest < _SATURATED else (_SATURATED / largest, 0.0))
    # The loss is convex: if its minimum has a negative slope, the best one allowed is 0.
    return (a, b) if a >= 0 else (0.0, float(special.logit(sum_1)))


class _Look(NamedTuple):
    """The loss at a point, its gradient, and its second derivatives by a a, a b and b b."""

    at: tuple[float, float]
    value: float
    gradient: tuple[float, float]
    curvature: tuple[float, float, float]


def _least(
    look: Callable[[float, float], _Look], start: tuple[float, float]
) -> tuple[float, float]:
    """Find the minimum of a convex function of two numbers by Newton's method."""
    here = look(*start)
    while True:
        (by_a, by_b), (aa, ab, bb) = here.gradient, here.curvature
        # Equal margins make the curvature singular.
        aa, bb = aa + _RIDGE, bb + _RIDGE
        det = aa * bb - ab * ab
        step_a, step_b = (ab * by_b - bb * by_a) / det, (ab * by_a - aa * by_b) / det
        fall, size = -(by_a * step_a + by_b * step_b), 1.0
        if fall < _SMALL_FALL:  # before rounding hides it; the last step squares what is left
            return here.at[0] + step_a, here.at[1] + step_b
        while True:
            there = look(here.at[0] + size * step_a, here.at[1] + size * step_b)
            if here.value - there.value > _LEAST_FALL * size * fall:
                break
            size /= 2
            if size < _SMALL_STEP:
                return here.at
        here = there


def _is_better(margins: Floats, than: Floats, y: NDArray[np.floating], weight: Floats) -> bool:
    """Whether the mean log-loss is lower by more than its standard error."""

    def loss(z: Floats) -> Floats:
        return np.logaddexp(0, np.where(y == 1, -z, z))

    gain = loss(than) - loss(margins)
    share = weight / weight.sum()
    mean = share @ gain
    return bool(mean > np.sqrt((share**2) @ (gain - mean) ** 2))


@stored
class ConstantLabels(NamedTuple):
    """The labels that are constant where they are known.

    Attributes
    ----------
    value : float64 array of shape (n_labels,)
        Their value, NaN for the other labels.
    proba : float64 array of shape (n_labels,)
        Probability that such a label is 1 in a new row, NaN for the other labels. It is that of
        Laplace's rule of succession, as no number of rows makes it certain that the next one is no
        different.

    Examples
    --------
    >>> Y = np.array([[0, 1], [0, 0]], np.float32)
    >>> constant = ConstantLabels.of(FitData(None, Y, None))
    >>> constant.value, constant.proba
    (array([ 0., nan]), array([0.25,  nan]))
    """

    value: Annotated[Floats, Shape(None)]
    proba: Annotated[Floats, Shape("value")]

    @classmethod
    def of(cls, data: FitData) -> Self:
        """Find them; rows of weight 0 do not count."""
        known = data.known & (data.weight[:, np.newaxis] > 0)
        n_known = sum_of_all(known.sum(axis=0))
        n_present = sum_of_all((data.truth & known).sum(axis=0))
        n_absent = sum_of_all(((data.Y == 0) & known).sum(axis=0))
        is_constant = (n_absent == n_known) | (n_present == n_known)
        value = np.where(is_constant, (n_present > 0).astype(np.float64), np.nan)
        return cls(value, np.where(is_constant, (n_present + 1) / (n_known + 2), np.nan))

    @property
    def varied(self) -> NDArray[np.bool_]:
        """Whether each label has both values, (n_labels,)."""
        return np.isnan(self.value)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.value)

    @property
    def n_varied(self) -> int:
        """Number of labels that have both values."""
        return int(self.varied.sum())

    def in_margins(self, margins: NDArray[np.floating]) -> Floats:
        """Put their log-odds in place of others, both `(n_samples, n_labels)`; a new array."""
        return np.where(self.varied, margins, special.logit(self.proba))

    def in_proba(self, proba: Floats) -> Floats:
        """Put their probabilities in place of others, in a new array."""
        return np.where(self.varied, proba, self.proba)

    def in_labels[T: np.integer](self, labels: NDArray[T]) -> NDArray[T]:
        """Put their values in place of what was predicted; `labels` are changed and returned."""
        labels[:, ~self.varied] = self.value[~self.varied].astype(np.int64)
        return labels


@stored
@dataclass(frozen=True, eq=False)
class LabelCalibration:
    """Calibrates the margins of each label.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        Coefficients of Platt scaling; 1 and 0 for a label that is not calibrated.
    constant : ConstantLabels
        Labels that have one value only.
    """

    slope: Annotated[Floats, Shape("n_labels")]
    intercept: Annotated[Floats, Shape("n_labels")]
    constant: ConstantLabels

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.constant.n_labels

    @classmethod
    def without_scaling(cls, data: FitData) -> Self:
        """Find the constant labels, and leave margins as they are."""
        n_labels = data.Y.shape[1]
        return cls(np.ones(n_labels), np.zeros(n_labels), ConstantLabels.of(data))

    def affine(self) -> tuple[Floats, Floats]:
        """Return slopes and intercepts; constant labels have the slope 0."""
        varied = self.constant.varied
        slope = np.where(varied, self.slope, 0.0)
        zero = np.zeros((1, len(slope)))
        return slope, np.where(varied, self.intercept, self.margins(zero)[0])

    def margins(self, margins: NDArray[np.floating]) -> Floats:
        """Calibrate margins of shape (n_samples, n_labels)."""
        return self.constant.in_margins(self.slope * margins + self.intercept)

    def contributions(self, found: Contributions) -> Contributions:
        """Explain calibrated margins; `found` explains those that are not calibrated."""
        varied = self.constant.varied
        scaled = found.scaled(np.where(varied, self.slope, 0), np.where(varied, self.intercept, 0))
        return scaled._replace(bias=self.constant.in_margins(scaled.bias))

    def proba(self, margins: NDArray[np.floating]) -> Floats:
        """Compute probabilities from margins, both `(n_samples, n_labels)`."""
        return self.constant.in_proba(expit(self.margins(margins)))


def calibrate_labels(
    data: FitData, folds: NDArray[np.intp], entries: int = SAMPLE_ENTRIES
) -> Calibrated[LabelCalibration]:
    """Calibrate the labels that are not constant.

    X are margins by models that have not seen the row. Rows whose fold is -1, which have none, only
    tell whether a label is constant; their margins are NaN, but for constant labels.
    """
    tested = folds >= 0
    part = data if tested.all() else data.take(tested)
    whole = LabelCalibration.without_scaling(data)
    found = calibrate_tested(whole, part, folds[tested], entries)
    calibrated = np.full(data.Y.shape, np.nan)
    calibrated[tested] = found.margins
    return Calibrated(whole, whole.constant.in_margins(calibrated))


def calibrate_tested(
    whole: LabelCalibration, data: FitData, folds: NDArray[np.intp], entries: int
) -> Calibrated[LabelCalibration]:
    """Calibrate labels on rows that all have a fold.

    `whole` has the labels that are constant in all rows; it gets the scaling of the others.
    """
    varied = whole.constant.varied
    calibrated = np.full(data.Y.shape, np.nan)
    if varied.any():
        margins, Y = (np.ascontiguousarray(each[:, varied]) for each in (data.X, data.Y))
        weight = data.entry_weight[:, varied] if data.has_entry_weights else data.weight
        fitted = calibrate(margins, Y, weight, folds, entries)
        calibrated[:, varied] = fitted.margins
        whole.slope[varied], whole.intercept[varied] = fitted.scaling
    return Calibrated(whole, whole.constant.in_margins(calibrated))
