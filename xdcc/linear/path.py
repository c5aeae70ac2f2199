"""The strength of the penalty, chosen by out-of-fold log-loss along a path of penalties.

The path goes from one penalty to the next, and the models of a fold start at their previous
solutions. After each step, the out-of-fold log-odds of all rows are known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfTime, ShouldEnd
from xdcc.base.margins import margins_of
from xdcc.base.workers import sum_of_all
from xdcc.decision.calibration import ConstantLabels
from xdcc.linear.logistic import (
    Floats,
    Penalty,
    Problems,
    Solution,
    linear_predictor,
    model_blocks,
    solve,
)
from xdcc.linear.pace import Pace

_STRONGEST, _WEAKEST = -10, 10
"""Limits of the exponents of the grid: C is from 1e-5 to 1e5."""

_PRIOR = 0.5
"""Weight of the mean loss of all labels in the choice for one label."""


def label_models(data: FitData, penalty: Penalty, start: Floats) -> Solution:
    """Train a model for each label, in the precision of `data.X`.

    Without a penalty of the intercept, the model of a constant label has no optimum. Its intercept
    is that of Laplace's rule of succession, its coefficients are 0.
    """
    targets, weights = _targets(data, data.X.dtype), _entry_weights(data)
    if penalty.l2_intercept > 0:
        return solve(data.X, Problems(targets, weights), penalty, start)
    constant = ConstantLabels.of(data)
    weights[:, ~constant.varied] = 0
    begin = np.where(constant.varied, start, 0).astype(start.dtype)
    found = solve(data.X, Problems(targets, weights), penalty, begin)
    found.coef[-1, ~constant.varied] = margins_of(constant.proba[~constant.varied])
    return found


def label_models_at(
    C: Floats, data: FitData, penalty: Penalty, start: Floats, pace: Pace
) -> Solution:
    """Train a model for each label at strengths `C` (n_labels,), block by block."""

    def trained(own: Penalty, labels: NDArray[np.intp]) -> Solution:
        return label_models(take_labels(data, labels), own, np.take(start, labels, axis=1))

    blocks = [
        (replace(penalty, l2=1 / one), labels[block])
        for one, labels in _groups(C)
        for block in model_blocks(len(labels))
    ]
    n_entries = len(data.Y) * max(len(labels) for _, labels in blocks)
    sizes = [len(labels) for _, labels in blocks]
    parts = pace.run([partial(trained, *block) for block in blocks], sizes, n_entries)
    order = np.concatenate([labels for _, labels in blocks])
    return Solution.of_blocks(parts).take(np.argsort(order))


def _groups(C: Floats) -> Iterator[tuple[float, NDArray[np.intp]]]:
    """Group labels by their strengths."""
    for one in np.unique(C):
        yield float(one), np.flatnonzero(one == C)


def take_labels(data: FitData, labels: NDArray[np.intp]) -> FitData:
    """Select some labels."""
    weight = data.sample_weight
    if weight is not None and data.has_entry_weights:
        weight = np.take(weight, labels, axis=1)
    return data._replace(Y=np.take(data.Y, labels, axis=1), sample_weight=weight)


def _targets(data: FitData, dtype: Any) -> Any:
    """Return the labels, 0 where they are unknown, (n, n_labels)."""
    return np.nan_to_num(data.Y).astype(dtype)


def _entry_weights(data: FitData) -> Any:
    """Return the weights of known labels and 0 for unknown ones, (n, n_labels)."""
    return data.entry_weight.astype(data.X.dtype)


class FoldPath:
    """Models of all folds and labels, at one penalty after the other.

    `coef` (n_folds, n_features + 2, n_labels) are the models of the last step, `margins`
    (n, n_labels) their out-of-fold log-odds, NaN for rows that no fold tests. Before the first step
    all models are `start`.
    """

    def __init__(
        self,
        data: FitData,
        folds: Folds,
        penalty: Penalty,
        should_end: ShouldEnd | None = None,
        pace: Pace | None = None,
        start: Any = 0,
    ) -> None:
        self._data, self._folds, self._penalty = data, folds, penalty
        self._should_end, self._n_steps = should_end, 0
        self._pace = Pace() if pace is None else pace
        n_labels = data.Y.shape[1]
        self.coef: Any = np.empty(
            (folds.n_folds, data.X.shape[1] + 2, n_labels), dtype=data.X.dtype
        )
        self.coef[...] = start
        self.margins: Any = np.full((len(data.Y), n_labels), np.nan, dtype=data.X.dtype)

    def step(self, C: float, labels: NDArray[np.intp] | None = None) -> Floats:
        """Train `labels` (None: all) at `C` and return their out-of-fold log-losses, summed.

        If the training should end before that, `OutOfTime` is raised.
        """
        data, folds = self._data, self._folds
        if labels is None:
            labels = np.arange(data.Y.shape[1])
        penalty = replace(self._penalty, l2=1 / C)
        blocks = [labels[block] for block in model_blocks(len(labels))]

        def solved(fold: int, models: NDArray[np.intp], move: Any) -> None:
            if self._should_end is not None and self._should_end(self._n_steps):
                raise OutOfTime
            others = take_labels(data, models).take(np.flatnonzero(folds.trains(fold)))
            begin = np.take(self.coef[fold], models, axis=1) + move
            coef = label_models(others, penalty, begin).coef
            self.coef[fold][:, models] = coef
            rows = np.flatnonzero(folds.tests(fold))
            self.margins[np.ix_(rows, models)] = linear_predictor(data.X[rows], coef)

        before = np.take(self.coef[0], labels, axis=1)
        n_entries, sizes = len(data.Y) * len(blocks[0]), [len(models) for models in blocks]
        self._pace.describe(f"C={C:.3g}")
        self._pace.run([partial(solved, 0, models, 0) for models in blocks], sizes, n_entries)
        # The folds share most of their rows, so their models move about as those of the first fold.
        moves = np.take(self.coef[0], labels, axis=1) - before
        self._pace.run(
            [
                partial(solved, fold, models, moves[:, block])
                for fold in range(1, len(self.coef))
                for models, block in zip(blocks, model_blocks(len(labels)), strict=True)
            ],
            sizes * (len(self.coef) - 1),
            n_entries,
        )
        self._n_steps += 1
        judged, _ = folds.of_tested(take_labels(data, labels)._replace(X=self.margins[:, labels]))
        return sum_of_all(log_losses(judged, judged.X))

    def at(self, C: Floats) -> "FoldModels":
        """Train all labels at strengths `C` (n_labels,)."""
        for one, labels in _groups(C):
            self.step(one, labels)
        return FoldModels(C, self.coef, self.margins)


def log_losses(data: FitData, margins: Any) -> Floats:
    """Sum the log-loss of each label over its known rows; `margins` are (n, n_labels)."""
    loss = np.logaddexp(0, margins)
    loss -= _targets(data, margins.dtype) * margins
    loss *= _entry_weights(data)
    return np.asarray(loss.sum(axis=0, dtype=np.float64))


@dataclass(frozen=True)
class FoldModels:
    """Models of all folds, each label at its own strength of the penalty."""

    C: Floats  # (n_labels,)
    coef: Any  # (n_folds, n_features + 2, n_labels)
    margins: Any  # out of fold, (n, n_labels)


class _Step(NamedTuple):
    """Losses and models at one penalty."""

    losses: Floats
    coef: Any
    margins: Any


def choose_strength(path: FoldPath, first: int) -> FoldModels:
    """Choose the strength for each label from a grid of C, sqrt(10) apart.

    The search starts at ``C = 10 ** (first / 2)``. It goes to weaker penalties while the log-loss
    of all labels falls, or to stronger ones if the first step raises it. Each label then chooses
    among the best C and its two neighbours. The loss of a rare label is noisy, so the choice is by
    the sum of its own loss and a share `_PRIOR` of the mean loss of all labels. If the training
    should end, the choice is among the strengths that were tried.
    """
    steps: dict[int, _Step] = {}
    best, least, is_over = first, np.inf, False
    for direction in (1, -1):
        exponent = first if direction == 1 else first - 1
        while _STRONGEST <= exponent <= _WEAKEST:
            try:
                losses = path.step(_strength(exponent))
            except OutOfTime:
                if not steps:
                    raise
                is_over = True
                break
            steps[exponent] = _Step(losses, path.coef.copy(), path.margins.copy())
            steps.pop(exponent - 3 * direction, None)
            if losses.sum() >= least:
                break
            best, least = exponent, losses.sum()
            exponent += direction
        if best > first or is_over:
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
