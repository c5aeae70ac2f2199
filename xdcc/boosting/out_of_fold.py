"""Boosters of all folds, grown side by side until their joint log-loss stops improving.

The best number of boosting rounds is found on rows that a booster has not seen. With one fold after
the other, that would take one training to find the number and another to use it. Side by side, a
round of every fold at a time, the log-loss of all rows is known after each round, so one training
finds the number, keeps the out-of-fold margins that belong to it, and ends when nothing has
improved for a while. Margins of all folds can cost as much as their trees, so in long trainings
they are computed less often. The boosters share the bins of X: rows that a booster does not train
on have the weight 0, and the updater skips them.

Workers can train together (:mod:`xdcc.base.workers`). Boosters that draw rows for each tree then
draw the same as with one worker: they are drawn here, by weights of 0, not by the updater. So do
those of :func:`train_on_all_rows`, which follow when the number of rounds is known.

`LogLoss` is the log-loss of margins over known labels, for training with early stopping.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.base import clone

from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfFold, ShouldEnd
from xdcc.base.rounds import Looks, boost, predicts_fast, rounds_at_once, with_own_weights
from xdcc.base.side_by_side import n_ahead, run_all, run_in_step
from xdcc.base.weights import by_entry
from xdcc.base.workers import grand_total, rows_of_all

_LOOKS = 50
"""After ``n`` rounds, the log-loss is computed again after the next ``n // _LOOKS``, at least 1."""

_APART_OF_ONE_FOLD = 4
"""At least this many with one fold: there are many rows."""


class LogLoss:
    """Sum of the log-loss over known labels, by margins.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, a probability, or NaN for unknown.
    weight : float32 array of shape (n_samples,) or (n_samples, n_labels), or None
        Weights of the rows or entries.

    Examples
    --------
    >>> loss = LogLoss(np.array([[1, np.nan]], dtype=np.float32), None)
    >>> round(loss(np.zeros((1, 2), dtype=np.float32)), 4)
    0.6931
    """

    def __init__(self, Y: NDArray[np.float32], weight: NDArray[np.float32] | None) -> None:
        # log(1 + exp(-z)) for a label, log(1 + exp(z)) without it, log(1 + exp(z)) - y z for a
        # probability; unknown ones weigh nothing.
        of_rows = np.ones(len(Y), np.float32) if weight is None else weight
        self._sign = np.where(Y == 1, np.float32(-1), np.float32(1))
        self._weight = np.where(np.isnan(Y), np.float32(0), by_entry(of_rows))
        is_soft = (Y > 0) & (Y < 1)
        self._soft = np.where(is_soft, Y, np.float32(0)) if is_soft.any() else None

    def __call__(self, margins: NDArray[np.floating]) -> float:
        """Add up the loss of margins of shape (n_samples, n_labels)."""
        return float(self._of_entries(margins).sum(dtype=np.float64))

    def of_rows(self, margins: NDArray[np.floating]) -> NDArray[np.float64]:
        """Add up the loss of each row, `(n_samples,)`."""
        return np.asarray(self._of_entries(margins).sum(axis=1, dtype=np.float64))

    def _of_entries(self, margins: NDArray[np.floating]) -> NDArray[np.floating]:
        z = margins * self._sign
        # log(1 + exp(z)) as max(z, 0) + log(1 + exp(-|z|)): NumPy has vectorised exp and log, and
        # 1 + exp(-|z|) is accurate enough for a sum of losses.
        loss = np.abs(z)
        np.log(np.exp(np.negative(loss, out=loss), out=loss) + np.float32(1), out=loss)
        loss += np.maximum(z, 0, out=z)
        if self._soft is not None:
            loss -= self._soft * margins
        return np.multiply(loss, self._weight, out=loss)


@dataclass(frozen=True)
class RowDraws:
    """Draws rows for a booster of each fold and round, the same for any number of workers.

    Attributes
    ----------
    share : float
        Share of the rows that are drawn.
    seed : int
        Seed for the draws.
    before, n_rows : int
        Number of rows of workers with lower ranks, and of one's own.

    Examples
    --------
    >>> bits = RowDraws(0.5, 0, 0, 6).bits(3, 1)
    >>> np.random.Generator(bits).random(6) < 0.5
    array([ True, False,  True, False,  True, False])
    >>> bits = RowDraws(0.5, 0, 2, 4).bits(3, 1)
    >>> np.random.Generator(bits).random(4) < 0.5
    array([ True, False,  True, False])
    """

    share: float
    seed: int
    before: int
    n_rows: int

    @classmethod
    def of(cls, params: dict[str, Any], n_rows: int) -> Self | None:
        """Make it from parameters for `xgboost.train`; None if no rows are drawn here.

        The updater draws them if a round has several trees: each is grown on other rows.
        """
        share = params.get("subsample", 1.0)
        has_several = params.get("labels_per_tree") or params.get("num_parallel_tree", 1) > 1
        if share == 1.0 or has_several or "sampling_method" in params:
            return None
        return cls(share, params.get("seed", 0), rows_of_all(n_rows)[0], n_rows)

    def bits(self, round_: int, fold: int) -> np.random.PCG64 | None:
        """Return the random bits that draw a round's rows, those with a number below `share`.

        The first round has all rows: it also estimates where boosting starts.
        """
        if round_ == 0:
            return None
        bits = np.random.PCG64([self.seed, round_, fold])
        return bits.advance(self.before) if self.before else bits


_DRAWN_AT_ONCE = 64
"""Rounds whose draws are prepared at a time."""


def train_out_of_fold(
    estimator: Any,
    data: FitData,
    params: dict[str, Any],
    folds: Folds,
    patience: int,
    should_end: ShouldEnd | None = None,
) -> OutOfFold:
    """Train a booster without each fold, with the number of rounds that is best for all together.

    In a block of :func:`~xdcc.base.side_by_side.side_by_side` they train side by side.

    Parameters
    ----------
    estimator : MultiLabelXGBClassifier
        One that has learned from the data, without a booster.
    data : FitData
        Checked training data.
    params : dict
        Parameters for `xgboost.train`, objective included.
    folds : Folds
        Which rows each fold is tested and trained on.
    patience : int
        End when the log-loss has not fallen for this many rounds, or a few more: after round
        ``n >= 100`` it is computed again ``n // 50`` rounds later.
    should_end : callable, optional
        Called before the log-loss is computed with the number of rounds; True ends the training.

    Returns
    -------
    OutOfFold
        At most `n_estimators` rounds, the same number for all folds.
    """
    training = _OutOfFold(estimator.n_estimators, data, params, folds, patience, should_end)
    run_in_step(
        folds.n_folds,
        training.n_steps,
        training.advance,
        training.is_over,
        moves_cheaply=predicts_fast(training.matrix),
    )
    # Without a known label out of fold there is no log-loss: use `n_estimators`.
    n_best = training.n_best or estimator.n_estimators
    training.best_margins[~folds.tested] = np.nan
    models = [_with_booster(copy.copy(estimator), each[:n_best]) for each in training.boosters]
    unfitted = clone(estimator).set_params(n_estimators=n_best, early_stopping_rounds=None)
    return OutOfFold(training.best_margins, models, unfitted)


def _looks(n_estimators: int, apart: int = 1) -> list[int]:
    """List after how many rounds the log-loss is computed, from 0, where there is none."""
    looks = [0]
    while looks[-1] < n_estimators:
        looks.append(min(looks[-1] + max(apart, looks[-1] // _LOOKS), n_estimators))
    return looks


class _OutOfFold:
    """Boosters of all folds, their margins at the last steps, and the number of rounds so far.

    Attributes
    ----------
    matrix : QuantileDMatrix
        All rows, for the first fold.
    n_steps : int
        Number of steps, each of a look at the log-loss or a few.
    boosters : list of xgboost.Booster
        One for each fold.
    n_best : int
        Number of rounds of the least log-loss, 0 if there is none.
    best_margins : float32 array of shape (n_samples, n_labels)
        Out of fold, after this many rounds.
    """

    def __init__(
        self,
        n_estimators: int,
        data: FitData,
        params: dict[str, Any],
        folds: Folds,
        patience: int,
        should_end: ShouldEnd | None,
    ) -> None:
        self._patience, self._should_end = patience, should_end
        self._rounds = _looks(n_estimators, 1 if folds.n_folds > 1 else _APART_OF_ONE_FOLD)
        # The bins come from all rows with their weights: they are made before a fold is left out.
        self._matrices, self._weight = binned_matrices(data, params, folds.n_folds), _weights(data)
        self.matrix = self._matrices[0]
        numbers = range(folds.n_folds)
        self._weights = [
            by_entry(self._weight) * folds.trains(fold)[:, np.newaxis] for fold in numbers
        ]
        self._rows = [np.flatnonzero(folds.tests(fold)) for fold in numbers]
        self._drawn = RowDraws.of(params, len(self._weight))
        self.boosters = [_booster(params, own, self._drawn) for own in self._matrices]
        # All rows if all are tested, without a copy.
        self._tested = slice(None) if folds.tested.all() else np.flatnonzero(folds.tested)
        self._loss = LogLoss(data.Y[self._tested], self._weight[self._tested])
        self._at_once = rounds_at_once(self.matrix)
        self.n_steps = -(-(len(self._rounds) - 1) // self._at_once)
        n_margins = n_ahead() * self._at_once
        self._margins = [np.zeros(data.Y.shape, np.float32) for _ in range(n_margins)]
        self.best_margins = np.zeros(data.Y.shape, np.float32)
        self.n_best, self._best_loss = 0, np.inf

    def advance(self, fold: int, step: int) -> None:
        """Train the booster of a fold, and keep its margins at the looks of a step."""
        looks = self._of_step(step)
        rounds = range(self._rounds[looks.start], self._rounds[looks.stop])
        bits: list[np.random.PCG64 | None] = []
        if self._drawn is not None:
            bits = [self._drawn.bits(round_, fold) for round_ in rounds]
        boost(
            self.boosters[fold],
            self._matrices[fold],
            rounds,
            weight=self._weights[fold],
            bits=bits,
            share=1.0 if self._drawn is None else self._drawn.share,
            looks=Looks(
                [self._rounds[look + 1] for look in looks],
                [self._margins[look % len(self._margins)] for look in looks],
                self._rows[fold],
            ),
        )

    def is_over(self, step: int) -> bool:
        """Compute the log-loss of all folds at the looks of a step, and tell whether to end."""
        return any(self._ends(look) for look in self._of_step(step))

    def _of_step(self, step: int) -> range:
        first = step * self._at_once
        return range(first, min(first + self._at_once, len(self._rounds) - 1))

    def _ends(self, look: int) -> bool:
        n_rounds, place = self._rounds[look + 1], look % len(self._margins)
        ends = self._should_end is not None and self._should_end(n_rounds)
        margins = self._margins[place]
        now = grand_total(self._loss(margins[self._tested]))
        if now < self._best_loss:
            self._best_loss, self.n_best = now, n_rounds
            self._margins[place], self.best_margins = self.best_margins, margins
            return ends
        return ends or n_rounds - self.n_best >= self._patience


def train_on_all_rows(
    models: Sequence[Any], data: FitData, params: Sequence[dict[str, Any]]
) -> None:
    """Train boosters of one kind on all rows, on the same bins.

    Parameters
    ----------
    models : sequence of MultiLabelXGBClassifier
        That have learned from the data; they get their boosters, of `n_estimators` rounds.
    data : FitData
        Checked training data.
    params : sequence of dict
        Parameters for `xgboost.train` of each, which differ in their seeds.
    """
    matrices, weight = binned_matrices(data, params[0], len(models)), _weights(data)

    def train(model: Any, own: dict[str, Any], matrix: xgb.DMatrix) -> None:
        drawn, rounds = RowDraws.of(own, len(weight)), range(model.n_estimators)
        booster = _booster(own, matrix, drawn)
        if drawn is None:
            boost(booster, matrix, rounds)
        else:
            for first in rounds[::_DRAWN_AT_ONCE]:
                some = rounds[first : first + _DRAWN_AT_ONCE]
                own_bits = [drawn.bits(round_, 0) for round_ in some]
                boost(booster, matrix, some, weight=weight, bits=own_bits, share=drawn.share)
        _with_booster(model, booster)

    run_all([partial(train, *each) for each in zip(models, params, matrices, strict=True)])


def binned_matrices(data: FitData, params: dict[str, Any], n: int) -> list[xgb.DMatrix]:
    """Put the features of all rows into bins, for this many boosters.

    Labels and weights of these matrices can be set, even where the data share their bins with
    other trainings.

    Examples
    --------
    >>> data = FitData(np.eye(3, dtype=np.float32), np.zeros((3, 1), np.float32), None)
    >>> [matrix.num_row() for matrix in binned_matrices(data, {"max_bin": 64}, n=2)]
    [3, 3]
    """
    max_bin = params.get("max_bin", 256)
    matrix = data.binned(max_bin, params.get("nthread"))
    return with_own_weights(matrix, max_bin, n, is_shared=data.bins is not None)


def _weights(data: FitData) -> NDArray[np.float32]:
    """Return the weights of the rows or entries, `(n_samples,)` or `(n_samples, n_labels)`."""
    if data.sample_weight is None:
        return np.ones(len(data.Y), np.float32)
    return data.sample_weight.astype(np.float32)


def _booster(params: dict[str, Any], matrix: xgb.DMatrix, drawn: RowDraws | None) -> xgb.Booster:
    """Make a booster without trees, which draws no rows if they are `drawn` here."""
    return xgb.Booster(params if drawn is None else {**params, "subsample": 1.0}, [matrix])


def _with_booster(model: Any, booster: xgb.Booster) -> Any:
    """Make an estimator fitted."""
    model.booster_ = booster
    model.best_iteration_ = booster.num_boosted_rounds() - 1
    model.evals_result_ = {}
    if hasattr(model, "feature_names_in_"):
        model.booster_.feature_names = list(model.feature_names_in_)
    return model
