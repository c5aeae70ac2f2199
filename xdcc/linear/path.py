"""The strength of the penalty: regressions without each fold, along a path of penalties.

The path goes from one penalty to the next, and the models of a fold begin where they were. All
folds share the features; a fold's labels are solved in blocks (``logistic.py``). After each step
the log-odds of every row are known, by the models that have not seen it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.decision.calibration import ConstantLabels, margins_of
from xdcc.linear.logistic import (
    Floats,
    Matrix,
    Penalty,
    Problems,
    Run,
    Solution,
    linear_predictor,
    model_blocks,
    one_by_one,
    solve,
)

_STRONGEST, _WEAKEST = -10, 10
"""Limits of the exponents of the grid: C from 1e-5 to 1e5."""

_PRIOR = 0.5
"""By how many average labels the common curve counts for a label."""


@dataclass(frozen=True)
class LabelData:
    """Labels to learn, one model for each.

    Attributes
    ----------
    X : float array or CSR matrix of shape (n, n_features)
        Features. Their precision is that of the training.
    Y : float array of shape (n, n_labels)
        0, 1, or NaN for unknown, which does not count.
    weight : float array of shape (n,) or None
        Weights of the rows.
    """

    X: Matrix
    Y: NDArray[np.floating]
    weight: NDArray[np.floating] | None

    def rows(self, rows: Any) -> "LabelData":
        """Keep some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return LabelData(self.X[rows], self.Y[rows], weight)

    def labels(self, labels: Any) -> "LabelData":
        """Keep some labels."""
        return replace(self, Y=np.take(self.Y, labels, axis=1))

    def astype(self, dtype: Any) -> "LabelData":
        """Convert the features to another precision."""
        return replace(self, X=self.X.astype(dtype))

    def entry_weights(self) -> NDArray[np.floating]:
        """Weights of known labels, 0 of unknown ones, shape (n, n_labels)."""
        known = (~np.isnan(self.Y)).astype(self.X.dtype)
        return known if self.weight is None else known * self.weight[:, None].astype(self.X.dtype)

    def solve(self, penalty: Penalty, start: Floats, run: Run = one_by_one) -> Solution:
        """Train the models.

        Without a penalty of the intercept there is no best one for a label that is the same in
        all rows. It gets what Laplace's rule of succession says, and no coefficients.
        """
        targets = np.nan_to_num(self.Y).astype(self.X.dtype)
        weights = self.entry_weights()
        if penalty.l2_intercept > 0:
            return solve(self.X, Problems(targets, weights), penalty, start, run)
        constant = ConstantLabels.of(self.Y, self.weight)
        weights[:, ~constant.varied] = 0
        begin = np.where(constant.varied, start, 0).astype(start.dtype)
        found = solve(self.X, Problems(targets, weights), penalty, begin, run)
        found.coef[-1, ~constant.varied] = margins_of(constant.proba[~constant.varied])
        return found

    def solve_each(
        self, C: Floats, penalty: Penalty, start: Floats, run: Run = one_by_one
    ) -> Solution:
        """Train the models, each at its own strength of the penalty."""
        parts, order = [], []
        for one, labels in _groups(C):
            some = self.labels(labels)
            part = some.solve(replace(penalty, l2=1 / one), np.take(start, labels, axis=1), run)
            parts.append(part)
            order.append(labels)
        return reduce(Solution.followed_by, parts).take(np.argsort(np.concatenate(order)))


def _groups(C: Floats) -> Iterator[tuple[float, NDArray[np.intp]]]:
    """Group labels by their strength."""
    for one in np.unique(C):
        yield float(one), np.flatnonzero(one == C)


class FoldPath:
    """Models of all folds and labels, at one penalty after the other.

    Parameters
    ----------
    data : LabelData
        Training data.
    folds : int array of shape (n,)
        Fold of each row, from 0.
    penalty : Penalty
        All but the strength.
    run : callable, default=one_by_one
        As :func:`~xdcc.linear.logistic.solve` takes it.

    Attributes
    ----------
    coef : float array of shape (n_folds, n_features + 2, n_labels)
        The models of the last step.
    margins : float array of shape (n, n_labels)
        Log-odds of the last step, out of fold.
    """

    def __init__(
        self,
        data: LabelData,
        folds: NDArray[np.intp],
        penalty: Penalty,
        run: Run = one_by_one,
    ) -> None:
        self._data, self._folds, self._penalty, self._run = data, folds, penalty, run
        n_labels = data.Y.shape[1]
        self.coef: Any = np.zeros(
            (int(folds.max()) + 1, data.X.shape[1] + 2, n_labels), dtype=data.X.dtype
        )
        self.margins: Any = np.empty((len(folds), n_labels), dtype=data.X.dtype)

    def step(self, C: float, labels: NDArray[np.intp] | None = None) -> Floats:
        """Go to another penalty.

        Parameters
        ----------
        C : float
            Inverse of its strength.
        labels : int array, optional
            Labels that go there; the others stay where they are. All labels if not given.

        Returns
        -------
        float64 array of shape (n_labels,) or as many as `labels`
            Log-loss of each label out of fold, summed over the rows.
        """
        data, folds = self._data, self._folds
        if labels is None:
            labels = np.arange(data.Y.shape[1])
        penalty = replace(self._penalty, l2=1 / C)
        blocks = [labels[block] for block in model_blocks(len(labels))]

        def solved(task: tuple[int, NDArray[np.intp], Any]) -> None:
            fold, models, move = task
            found = data.labels(models).rows(folds != fold)
            coef = found.solve(penalty, np.take(self.coef[fold], models, axis=1) + move).coef
            self.coef[fold][:, models] = coef
            rows = np.flatnonzero(folds == fold)
            self.margins[np.ix_(rows, models)] = linear_predictor(data.X[rows], coef)

        before = np.take(self.coef[0], labels, axis=1)
        self._run(solved, [(0, models, 0) for models in blocks])
        # The other folds share most rows with the first one: their models move about as its did.
        moves = np.take(self.coef[0], labels, axis=1) - before
        self._run(
            solved,
            [
                (fold, models, moves[:, block])
                for fold in range(1, len(self.coef))
                for models, block in zip(blocks, model_blocks(len(labels)), strict=True)
            ],
        )
        return log_losses(data.labels(labels), np.take(self.margins, labels, axis=1))

    def at(self, C: Floats) -> "FoldModels":
        """Go to penalties that are given, and return the models there."""
        for one, labels in _groups(C):
            self.step(one, labels)
        return FoldModels(C, self.coef, self.margins)


def log_losses(data: LabelData, margins: Any) -> Floats:
    """Add up each label's log-loss over its known rows, from margins of shape (n, n_labels)."""
    loss = np.logaddexp(0, margins)
    loss -= np.nan_to_num(data.Y).astype(margins.dtype) * margins
    loss *= data.entry_weights()
    return np.asarray(loss.sum(axis=0, dtype=np.float64))


@dataclass(frozen=True)
class FoldModels:
    """Models of all folds, each label's at its best penalty.

    Attributes
    ----------
    C : float64 array of shape (n_labels,)
        Inverse strengths of the penalty.
    coef : float array of shape (n_folds, n_features + 2, n_labels)
        The models.
    margins : float array of shape (n, n_labels)
        Their log-odds, out of fold.
    """

    C: Floats
    coef: Any
    margins: Any


class _Step(NamedTuple):
    """What is known at one penalty."""

    losses: Floats
    coef: Any
    margins: Any


def choose_strength(path: FoldPath, first: int) -> FoldModels:
    """Choose the penalty of each label from a grid of C, sqrt(10) apart.

    The grid is walked to the least log-loss of all labels together. Then a label may choose among
    the best C and its two neighbours. A rare label's own loss says little. So it is judged by its
    loss and that of half an average label, which has the common curve.

    Parameters
    ----------
    path : FoldPath
        At its beginning.
    first : int
        The walk begins at ``C = 10 ** (first / 2)``. It goes on to weaker penalties while the loss
        falls, and to stronger ones if the first step made it rise.

    Returns
    -------
    FoldModels
    """
    steps: dict[int, _Step] = {}
    best, least = first, np.inf
    for direction in (1, -1):
        exponent = first if direction == 1 else first - 1
        while _STRONGEST <= exponent <= _WEAKEST:
            losses = path.step(_strength(exponent))
            steps[exponent] = _Step(losses, path.coef.copy(), path.margins.copy())
            steps.pop(exponent - 3 * direction, None)
            if losses.sum() >= least:
                break
            best, least = exponent, losses.sum()
            exponent += direction
        if best > first:
            break
    near = [exponent for exponent in (best - 1, best, best + 1) if exponent in steps]
    total = np.array([steps[exponent].losses.sum() for exponent in near])
    common = _PRIOR * steps[best].losses.mean() * total / least
    losses = np.array([steps[exponent].losses for exponent in near]) + common[:, None]
    choice = losses.argmin(axis=0)
    found = FoldModels(
        np.array([_strength(exponent) for exponent in near])[choice],
        steps[best].coef,
        steps[best].margins,
    )
    for number, exponent in enumerate(near):
        chosen = choice == number
        found.coef[..., chosen] = steps[exponent].coef[..., chosen]
        found.margins[:, chosen] = steps[exponent].margins[:, chosen]
    return found


def _strength(exponent: int) -> float:
    return float(10.0 ** (exponent / 2))
