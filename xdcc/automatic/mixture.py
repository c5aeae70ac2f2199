"""``Mixture``: members of all families, mixed by their log-odds out of fold.

A mixture's log-odds are a weighted mean of its members' calibrated log-odds. Members are tried one
after the other. The weights with a new one come from greedy steps: each step adds the member, maybe
once more, with which the log-loss out of fold is least, and the mixture after the best step is
kept. So few weights can hardly overfit, and a member that adds nothing gets none. Source: Caruana,
Niculescu-Mizil, Crew, Ksikes: "Ensemble Selection from Libraries of Models" (ICML 2004). The new
member enters only if the loss of the rows falls by more than the standard error of that gain: with
few rows a gain is soon chance.

A second level learns from the members' log-odds how labels depend on each other and where which
member is right. It is mixed with the first one under the same condition. Source: Wolpert: "Stacked
Generalization" (Neural Networks 5, 1992).

Workers that train together (:mod:`xdcc.base.workers`) each have the margins of their own rows; they
add up losses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from xgboost import collective

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import sample_rows
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.workers import count_folds, grand_total, sum_of_all
from xdcc.boosting.out_of_fold import LogLoss
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.out_of_fold import mean_margins
from xdcc.decision.proba_metrics import ProbaMetric
from xdcc.kernels.logistic import expit
from xdcc.prediction.predictors import second_level, weighted_sum

_STEPS = 12
_LEAST_GAIN = 1e-4
"""A mixture has to lower the log-loss by so large a share to be preferred to one of fewer steps."""

_DRAWS, _ENTRIES_OF_METRIC = 50, 2**22
"""Draws of rows on which a metric is compared, and entries of these rows at most."""

type Margins = NDArray[np.float32]


@stored
@dataclass(frozen=True, eq=False)
class Member:
    """One candidate in the chosen model.

    Attributes
    ----------
    name : str
        Name of the candidate.
    share : float
        Weight of its log-odds; the shares of a mixture sum to 1.
    estimators : list of estimators
        Models of the folds, or one that predicts as well as they do together.
    calibration : LabelCalibration
        Calibration of their mean log-odds.
    """

    name: str
    share: float
    estimators: list[BaseEstimator]
    calibration: LabelCalibration

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.calibration.n_labels

    def _check_state(self) -> None:
        require(len(self.estimators) > 0, "estimators")

    def margins(self, X: Any, n_labels: int) -> Floats:
        """Predict calibrated log-odds, `(n_samples, n_labels)`."""
        return self.calibration.margins(mean_margins(self.estimators, X, n_labels))


class RowLosses:
    """Log-losses of rows, summed over their known labels.

    Parameters
    ----------
    data : FitData
        Labels and weights.

    Attributes
    ----------
    of : callable
        From margins of shape (n_samples, n_labels) to the weighted loss of each row,
        `(n_samples,)`.

    Examples
    --------
    >>> losses = RowLosses(FitData(None, np.array([[1, np.nan]], np.float32), None))
    >>> round(losses.mean(losses.of(np.zeros((1, 2), np.float32))), 4)
    0.6931
    """

    def __init__(self, data: FitData) -> None:
        weight = data.sample_weight
        self.of = LogLoss(data.Y, None if weight is None else weight.astype(np.float32)).of_rows
        self._sizes = data.weight * data.row_sizes
        self._n_known = grand_total(float(data.weight @ data.row_sizes))

    def mean(self, of_rows: Floats) -> float:
        """Average the losses of rows over all known labels."""
        return grand_total(of_rows.sum()) / self._n_known

    def spread(self, of_rows: Floats, folds: NDArray[np.intp]) -> float:
        """Return the standard deviation of the folds' means, of those with a known label."""
        n_folds = count_folds(folds)
        total, size = (
            sum_of_all(np.bincount(folds, weights, n_folds)) for weights in (of_rows, self._sizes)
        )
        counts = size > 0
        return float((total[counts] / size[counts]).std())


def greedy_shares(margins: Sequence[Margins], losses: RowLosses) -> tuple[Floats, Floats]:
    """Find the weights of the mixture with the lowest log-loss in greedy steps.

    Parameters
    ----------
    margins : sequence of float32 arrays of shape (n_samples, n_labels)
        Calibrated log-odds of each member, out of fold.
    losses : RowLosses
        Losses of the rows.

    Returns
    -------
    shares : float64 array of shape (n_members,)
        Sums to 1.
    of_rows : float64 array of shape (n_samples,)
        Loss of each row under this mixture.
    """
    times = np.zeros(len(margins))
    total = np.zeros(margins[0].shape, np.float32)
    least, shares, kept = np.inf, times, np.zeros(0)
    for step in range(1, _STEPS + 1):
        of_each = [losses.of((total + each) / np.float32(step)) for each in margins]
        means = [losses.mean(of_rows) for of_rows in of_each]
        chosen = int(np.argmin(means))
        total += margins[chosen]
        times[chosen] += 1
        if means[chosen] < least * (1 - _LEAST_GAIN):
            least, shares, kept = means[chosen], times / step, of_each[chosen]
    return shares, kept


def is_gain(before: Floats, after: Floats, n_errors: float = 1.0) -> bool:
    """Tell whether losses of rows fell by more than some standard errors of their difference.

    Parameters
    ----------
    before, after : float64 arrays of shape (n_samples,)
        Weighted losses of the rows.
    n_errors : float, default=1.0
        How many standard errors.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_gain(np.array([1.0, 1.0, 1.0]), np.array([0.9, 0.9, 0.8]))
    True
    >>> is_gain(np.array([1.0, 1.0, 1.0]), np.array([0.1, 1.4, 1.4]))
    False
    >>> is_gain(np.array([1.0, 1.0, 1.0]), np.array([0.9, 0.9, 0.8]), n_errors=8)
    False
    """
    gain = before - after
    n_rows = grand_total(len(gain))
    mean = grand_total(gain.sum()) / n_rows
    error = np.sqrt(grand_total(((gain - mean) ** 2).sum())) / n_rows
    return bool(mean > n_errors * error)


class Mixture:
    """The members so far, out of fold.

    Parameters
    ----------
    data : FitData
        Labels and weights of the rows.

    Attributes
    ----------
    names : list of str
        Names of the members that entered.
    shares : float64 array of shape (n_members,)
        Their weights, which sum to 1.
    stacked_share : float
        Weight of the second level, 0 if there is none.
    """

    def __init__(self, data: FitData) -> None:
        self.losses, self._data = RowLosses(data), data
        self.names: list[str] = []
        self.shares: Floats = np.zeros(0)
        self.stacked_share = 0.0
        self._margins: list[Margins] = []
        self._stacked: list[NDArray[np.floating]] = []
        self._of_rows: Floats | None = None

    @property
    def log_loss(self) -> float:
        """Out of fold; infinite before the first member."""
        return np.inf if self._of_rows is None else self.losses.mean(self._of_rows)

    def log_loss_std(self, folds: NDArray[np.intp]) -> float:
        """Return the standard deviation of the log-loss over the folds; NaN before a member."""
        return np.nan if self._of_rows is None else self.losses.spread(self._of_rows, folds)

    @property
    def margins(self) -> Floats:
        """Log-odds out of fold, `(n_samples, n_labels)`."""
        mixed = weighted_sum(self.shares, self._margins)
        for own in self._stacked:
            mixed = weighted_sum([1 - self.stacked_share, self.stacked_share], [mixed, own])
        return mixed

    @property
    def features(self) -> Margins:
        """The members' log-odds out of fold, `(n_samples, n_members * n_labels)`."""
        return second_level(self._margins)

    def stack(self, margins: NDArray[np.floating]) -> bool:
        """Put a second level on the members if that is better by more than chance.

        Parameters
        ----------
        margins : float array of shape (n_samples, n_labels)
            Calibrated log-odds, out of fold, of a model that has learned from `features`.

        Returns
        -------
        bool
            Whether it stays; no member enters afterwards.
        """
        mixed = self.margins.astype(np.float32)
        shares, of_rows = greedy_shares([mixed, margins.astype(np.float32)], self.losses)
        assert self._of_rows is not None
        if not shares[1] or not is_gain(self._of_rows, of_rows):
            return False
        self._stacked, self.stacked_share, self._of_rows = [margins], float(shares[1]), of_rows
        return True

    def admit(self, name: str, margins: NDArray[np.floating], n_errors: float = 1.0) -> bool:
        """Let a member in if the mixture with it is better by more than chance.

        Parameters
        ----------
        name : str
            Name of the member.
        margins : float array of shape (n_samples, n_labels)
            Its calibrated log-odds, out of fold.
        n_errors : float, default=1.0
            How many standard errors the log-loss must fall by.

        Returns
        -------
        bool
            Whether it entered. Members that have no weight any more are left out.
        """
        tried = [*self._margins, margins.astype(np.float32)]
        shares, of_rows = greedy_shares(tried, self.losses)
        if self._of_rows is not None and not is_gain(self._of_rows, of_rows, n_errors):
            return False
        self._keep([*self.names, name], tried, shares, of_rows)
        return True

    def improve(self, name: str, margins: NDArray[np.floating]) -> bool:
        """Replace a member by the mean of models that differ in their seeds only.

        A mean of several is better than one before anything is seen, so any gain counts.

        Parameters
        ----------
        name : str
            Name of a member.
        margins : float array of shape (n_samples, n_labels)
            Calibrated log-odds of the mean, out of fold.

        Returns
        -------
        bool
            Whether the log-loss of the mixture fell.
        """
        tried = list(self._margins)
        tried[self.names.index(name)] = margins.astype(np.float32)
        shares, of_rows = greedy_shares(tried, self.losses)
        if self.losses.mean(of_rows) >= self.log_loss:
            return False
        self._keep(self.names, tried, shares, of_rows)
        return True

    def drop_harmful(self, metric: ProbaMetric) -> None:
        """Leave out members without which a metric is better, by more than chance.

        The log-loss of thousands of rare labels says little about the few most probable ones. The
        metric has to rise by more than the standard error of its difference on drawn rows. Workers
        that train together keep the mixture.
        """
        if collective.is_distributed():
            return
        rows = sample_rows(self._data.Y.shape, self._data.counts, _ENTRIES_OF_METRIC)
        data, n_rows = self._data.take(rows), len(rows)
        drawn = np.random.default_rng(0).multinomial(n_rows, [1 / n_rows] * n_rows, _DRAWS)
        draws = np.vstack([np.ones((1, n_rows)), drawn])

        def scores(members: list[int]) -> Floats:
            shares = self.shares[members] / self.shares[members].sum()
            mixed = weighted_sum(shares, [self._margins[i][rows] for i in members])
            found = metric.on_draws(data._replace(X=expit(mixed)))(draws)
            return np.asarray(found[:, 0])

        kept = list(range(len(self.names)))
        best = scores(kept) if len(kept) > 1 else np.zeros(0)
        while len(kept) > 1:
            others = [[each for each in kept if each != one] for one in kept]
            without = [scores(some) for some in others]
            first = int(np.argmax([of_draws[0] for of_draws in without]))
            gain = without[first] - best
            if not gain[0] > gain[1:].std():
                break
            kept, best = others[first], without[first]
        if len(kept) < len(self.names):
            margins = [self._margins[i] for i in kept]
            shares = self.shares[kept] / self.shares[kept].sum()
            mixed = weighted_sum(shares, margins).astype(np.float32)
            self._keep([self.names[i] for i in kept], margins, shares, self.losses.of(mixed))

    def _keep(
        self, names: list[str], margins: list[Margins], shares: Floats, of_rows: Floats
    ) -> None:
        kept = np.flatnonzero(shares)
        self.names = [names[i] for i in kept]
        self._margins = [margins[i] for i in kept]
        self.shares, self._of_rows = shares[kept], of_rows
