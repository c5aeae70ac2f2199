"""Calibration: margins whose probabilities are right in the mean, for every label.

Platt scaling: a margin z becomes a z + b, its probability sigmoid(a z + b), with a at least 0 and b
such that the log-loss of rows that the model has not seen is least. Two numbers for all labels can
hardly overfit; a label gets two of its own if that is better by more than chance on folds that
these were not fitted to. Targets are smoothed, (N+ + 1) / (N+ + 2) for a label that is there and
1 / (N- + 2) for one that is not, so that perfect margins stay finite. Source: Platt: "Probabilistic
Outputs for Support Vector Machines" (Advances in Large Margin Classifiers, 1999). The minima of
all labels are found together by Newton's method, which needs few passes over the rows.

Of labels that are the same in all training rows nothing can be learned but that
(`ConstantLabels`); `LabelCalibration` takes both together.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks, sample_rows
from xdcc.decision.cuts import Floats

type Bools = NDArray[np.bool_]

_LEAST_OF_BOTH = 10
"""A label needs so many rows with it and without it for two numbers of its own."""

_MOST_STEPS = 50
_SHORTEST_STEP = 2.0**-30
_LONGEST_STEP = 10.0
_SLOPE_AT_MINIMUM = 1e-14
"""A step that is to lower the log-loss by less ends the search."""
_RIDGE = 1e-12
_TINY = 1e-100


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

    def take(self, labels: Any) -> "PlattScaling":
        """Take those of some labels."""
        return PlattScaling(self.slope[labels], self.intercept[labels])

    def put(self, labels: Any, others: "PlattScaling") -> None:
        """Replace those of some labels."""
        self.slope[labels], self.intercept[labels] = others

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
    margins: Floats, Y: NDArray[np.floating], weight: Floats, folds: NDArray[np.intp]
) -> Calibrated[PlattScaling]:
    """Fit Platt scaling to out-of-fold margins.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Of models that have not seen the row.
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float64 array of shape (n_samples,)
        Not negative, not all zero.
    folds : int array of shape (n_samples,)
        Fold of each row.

    Returns
    -------
    Calibrated
        A label has numbers of its own if its mean log-loss, out of fold, is lower with them than
        with the common ones by more than the standard error of that difference. With many rows
        and labels the numbers are fitted to a sample of the rows.
    """
    rows = sample_rows(Y.shape)
    entries = _Entries(margins[rows], Y[rows], weight[rows], ~np.isnan(Y[rows]))
    numbers, n_labels = np.unique(folds), Y.shape[1]
    parts = [(folds[rows] != fold, folds[rows] == fold) for fold in numbers]
    common = entries.fit_together()
    scaling = PlattScaling.of_all(common, n_labels)
    nested = [
        PlattScaling.of_all(entries.rows(use).fit_together(common), n_labels) for use, _ in parts
    ]
    enough = np.flatnonzero(entries.n_less_frequent() >= _LEAST_OF_BOTH)
    for block in row_blocks((len(enough), len(rows))):
        labels = enough[block]
        own = entries.labels(labels)
        before, after = np.empty(own.margins.shape), np.empty(own.margins.shape)
        found = []
        for (use, out), fitted in zip(parts, nested, strict=True):
            found.append(own.rows(use).fit_each(common))
            before[out] = fitted.take(labels).margins(own.margins[out])
            after[out] = found[-1].margins(own.margins[out])
        better = own.are_better(after, before)
        scaling.put(labels[better], own.labels(better).fit_each(common))
        for fitted, of_others in zip(nested, found, strict=True):
            fitted.put(labels[better], of_others.take(better))

    calibrated = np.empty(margins.shape)
    for fold, fitted in zip(numbers, nested, strict=True):
        out = folds == fold
        calibrated[out] = fitted.margins(margins[out])
    return Calibrated(scaling, calibrated)


def fit_platt(
    margins: Floats,
    Y: NDArray[np.floating],
    weight: Floats,
    counts: Bools,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Find a, at least 0, and b of the least log-loss for the entries that count, all known.

    `start` is where to start from, and what is returned if no entry counts.
    """
    return _Entries(margins, Y, weight, counts).fit_together(start)


class _Entries(NamedTuple):
    """Margins with labels; `counts` (n_samples, n_labels) tells which of them count."""

    margins: Floats
    Y: NDArray[np.floating]
    weight: Floats
    counts: Bools

    def rows(self, rows: Bools) -> "_Entries":
        """Take some rows."""
        return _Entries(self.margins[rows], self.Y[rows], self.weight[rows], self.counts[rows])

    def labels(self, labels: Any) -> "_Entries":
        """Take some labels."""
        margins, Y, weight, counts = self
        return _Entries(margins[:, labels], Y[:, labels], weight, counts[:, labels])

    def n_less_frequent(self) -> NDArray[np.intp]:
        """Count the rows of each label's less frequent value, (n_labels,)."""
        counts = self.counts & (self.weight > 0)[:, np.newaxis]
        n_present = ((self.Y == 1) & counts).sum(axis=0)
        return np.minimum(n_present, counts.sum(axis=0) - n_present)

    def fit_together(self, start: tuple[float, float] = (1.0, 0.0)) -> tuple[float, float]:
        """Find a and b for all entries."""
        counts = self.counts
        weight = np.broadcast_to(self.weight[:, np.newaxis], counts.shape)[counts]
        z, y = self.margins[counts][:, np.newaxis], self.Y[counts][:, np.newaxis]
        (a,), (b,) = _Entries(z, y, weight, np.ones(z.shape, dtype=bool)).fit_each(start)
        return float(a), float(b)

    def fit_each(self, start: tuple[float, float]) -> PlattScaling:
        """Find a and b of each label by Newton's method, for all labels together."""
        margins = self.margins
        w = self.weight[:, np.newaxis] * self.counts
        n_with = (w * (self.Y == 1)).sum(axis=0)
        total = w.sum(axis=0)
        n_without = total - n_with
        target = np.where(self.Y == 1, (n_with + 1) / (n_with + 2), 1 / (n_without + 2))
        w /= np.where(total > 0, total, 1)
        sum_z, sum_1 = _dots(w, target * margins), _dots(w, target)
        a, b = (np.full(margins.shape[1], value) for value in start)
        left = np.flatnonzero(total)
        now = _Loss.at(a[left], b[left], margins, w, sum_z, sum_1, left)
        for _ in range(_MOST_STEPS):
            step_a, step_b, slope = now.newton_step()
            go_on = slope < -_SLOPE_AT_MINIMUM
            if not go_on.any():
                break
            left, step_a, step_b, slope = left[go_on], step_a[go_on], step_b[go_on], slope[go_on]
            value = now.value[go_on]
            length = np.ones(len(left))
            while True:
                new_a, new_b = a[left] + length * step_a, b[left] + length * step_b
                now = _Loss.at(new_a, new_b, margins, w, sum_z, sum_1, left)
                too_far = ~(now.value <= value + 1e-4 * length * slope) & (length > _SHORTEST_STEP)
                if not too_far.any():
                    break
                length[too_far] /= 2
            a[left], b[left] = new_a, new_b
        # The loss is convex: if its minimum has a negative slope, the best one allowed is 0.
        is_reversed = (a < 0) & (total > 0)
        a[is_reversed], b[is_reversed] = 0.0, logit(sum_1[is_reversed])
        return PlattScaling(a, b)

    def are_better(self, margins: Floats, than: Floats) -> Bools:
        """Whether each label's mean log-loss is lower by more than its standard error."""

        def loss(z: Floats) -> Floats:
            return np.logaddexp(0, np.where(self.Y == 1, -z, z))

        gain = loss(than) - loss(margins)
        share = self.weight[:, np.newaxis] * self.counts
        share /= share.sum(axis=0)
        mean = _dots(share, gain)
        return mean > np.sqrt(_dots(share**2, (gain - mean) ** 2))


class _Loss(NamedTuple):
    """Log-loss, gradient and curvature of some labels at their a and b, each `(n_labels,)`."""

    value: Floats
    gradient: tuple[Floats, Floats]
    curvature: tuple[Floats, Floats, Floats]

    @classmethod
    def at(
        cls,
        a: Floats,
        b: Floats,
        margins: Floats,
        w: Floats,
        sum_z: Floats,
        sum_1: Floats,
        labels: NDArray[np.intp],
    ) -> Self:
        """Compute them from margins, weights and the sums of targets."""
        if len(labels) < margins.shape[1]:
            margins, w = margins[:, labels], w[:, labels]
        sum_z, sum_1 = sum_z[labels], sum_1[labels]
        absent = expit(-(a * margins + b))
        # log(1 + exp(m)) is -log(sigmoid(-m)), or m where that vanishes.
        loss = np.where(absent > _TINY, -np.log(np.maximum(absent, _TINY)), a * margins + b)
        value = _dots(w, loss) - a * sum_z - b * sum_1
        error = w * (1 - absent)
        gradient = (_dots(error, margins) - sum_z, error.sum(axis=0) - sum_1)
        h = np.multiply(error, absent, out=error)
        h_z = h * margins
        return cls(value, gradient, (_dots(h_z, margins), h_z.sum(axis=0), h.sum(axis=0)))

    def newton_step(self) -> tuple[Floats, Floats, Floats]:
        """Return the steps of a and b, and the slope along them."""
        (g_a, g_b), (h_aa, h_ab, h_bb) = self.gradient, self.curvature
        # The curvature is singular where margins are equal.
        ridge = _RIDGE * (h_aa + h_bb) + _TINY
        h_aa, h_bb = h_aa + ridge, h_bb + ridge
        determinant = h_aa * h_bb - h_ab**2
        step_a = (h_ab * g_b - h_bb * g_a) / determinant
        step_b = (h_ab * g_a - h_aa * g_b) / determinant
        shorter = np.minimum(1, _LONGEST_STEP / np.hypot(step_a, step_b).clip(_TINY))
        step_a, step_b = shorter * step_a, shorter * step_b
        return step_a, step_b, step_a * g_a + step_b * g_b


def _dots(a: Floats, b: Floats) -> Floats:
    """Compute the dot products of the columns."""
    return np.einsum("ij,ij->j", a, b)


class ConstantLabels(NamedTuple):
    """Which labels have one value only, where they are known.

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

    value: Floats
    proba: Floats

    @classmethod
    def of(cls, data: FitData) -> Self:
        """Find them; rows of weight 0 do not count."""
        known = data.known & (data.weight[:, np.newaxis] > 0)
        n_known, n_present = known.sum(axis=0), (data.truth & known).sum(axis=0)
        is_constant = (n_present == 0) | (n_present == n_known)
        value = np.where(is_constant, (n_present > 0).astype(np.float64), np.nan)
        return cls(value, np.where(is_constant, (n_present + 1) / (n_known + 2), np.nan))

    @property
    def varied(self) -> NDArray[np.bool_]:
        """Which labels have both values, (n_labels,)."""
        return np.isnan(self.value)

    def in_margins(self, margins: NDArray[np.floating]) -> Floats:
        """Put their log-odds in place of others, both `(n_samples, n_labels)`; a new array."""
        return np.where(self.varied, margins, logit(self.proba))

    def in_proba(self, proba: Floats) -> Floats:
        """Put their probabilities in place of others, in a new array."""
        return np.where(self.varied, proba, self.proba)

    def in_labels[T: np.integer](self, labels: NDArray[T]) -> NDArray[T]:
        """Put their values in place of what was predicted; `labels` are changed and returned."""
        labels[:, ~self.varied] = self.value[~self.varied].astype(np.int64)
        return labels


@dataclass(frozen=True, eq=False)
class LabelCalibration:
    """What calibrates margins, for each label.

    Attributes
    ----------
    slope, intercept : float64 arrays of shape (n_labels,)
        Of Platt scaling; 1 and 0 for a label that is not calibrated.
    constant : ConstantLabels
        Labels that have one value only.
    """

    slope: Floats
    intercept: Floats
    constant: ConstantLabels

    @classmethod
    def without_scaling(cls, data: FitData) -> Self:
        """Find the constant labels, and leave margins as they are."""
        n_labels = data.Y.shape[1]
        return cls(np.ones(n_labels), np.zeros(n_labels), ConstantLabels.of(data))

    def margins(self, margins: NDArray[np.floating]) -> Floats:
        """Calibrate margins of shape (n_samples, n_labels)."""
        return self.constant.in_margins(self.slope * margins + self.intercept)

    def proba(self, margins: NDArray[np.floating]) -> Floats:
        """Compute probabilities from margins, both `(n_samples, n_labels)`."""
        return self.constant.in_proba(expit(self.margins(margins)))


def calibrate_labels(data: FitData, folds: NDArray[np.intp]) -> Calibrated[LabelCalibration]:
    """Calibrate the labels that are not constant.

    X are margins by models that have not seen the row. Rows whose fold is -1, which have none, only
    tell whether a label is constant; their margins are NaN, but for constant labels.
    """
    found = LabelCalibration.without_scaling(data)
    varied = found.constant.varied
    calibrated = np.full(data.Y.shape, np.nan)
    if varied.any():
        tested = folds >= 0
        own = np.ix_(tested, varied)
        fitted = calibrate(data.X[own], data.Y[own], data.weight[tested], folds[tested])
        calibrated[own] = fitted.margins
        found.slope[varied], found.intercept[varied] = fitted.scaling
    return Calibrated(found, found.constant.in_margins(calibrated))
