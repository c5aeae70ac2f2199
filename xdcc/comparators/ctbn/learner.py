"""Models of labels given the features and a parent label: logistic regressions, or any classifier.

A :class:`Learner` trains a batch of models, one per column of the targets. The models predict the
log-odds of each column for both values of its parent. `LogisticLearner` passes the batch to the
solver (``logistic.py``), with the parent as an additional feature or with a model for each of its
values. `EstimatorLearner` trains clones of a classifier one by one.

For a model without a parent, the parent is 0 everywhere.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, stratified_folds
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.linear.logistic import (
    Floats,
    Matrix,
    Penalty,
    Problems,
    Solution,
    linear_predictor,
    solve,
)
from xdcc.linear.path import FoldPath

ParentEffect = Literal["feature", "separate"]

GRID = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)

_FOLDS = 5

_TOL_OF_CHOICE = 1e-5
"""Tolerance of the solver in the search for `C`."""


class Models(Protocol):
    """Trained models of a batch."""

    def log_odds(self, X: Matrix) -> Floats:
        """Predict log-odds for the parent values 0 and 1, shape (n_models, 2, n)."""

    def take(self, models: Any) -> Self:
        """Select some of the models."""

    def followed_by(self, others: Self) -> Self:
        """Concatenate two batches."""

    def penalty(self) -> float:
        """Sum the penalties in the training objective."""

    def not_converged(self) -> NDArray[np.bool_]:
        """Mark the models that did not converge, shape (n_models,)."""

    def _check_columns(self, n_columns: int | None) -> None:
        """Stop if models from a file are for other columns; None: for features as they are."""


class Learner(Protocol):
    """Trains batches of models."""

    def fit(
        self, X: Matrix, targets: Floats, weights: Floats, parents: Floats, start: Any
    ) -> Models:
        """Train the models.

        `targets`, `weights` and `parents` are (n, n_models). Targets are in [0, 1]: a target t
        counts as a positive with weight t and a negative with weight 1 - t. `parents` are the
        values of the parents, 0 or 1. `start` are similar models to start from, or None.
        """


@stored
@dataclass(frozen=True)
class LogisticModels(Models):
    """A batch of logistic regressions.

    `off` and `on` are the models for the parent values 0 and 1, one and the same object if the
    parent is a feature.
    """

    off: Solution
    on: Solution
    penalties: Penalty

    def _check_state(self) -> None:
        for solution in (self.off, self.on):
            require(solution.coef.shape == (len(self.off.coef), self.n_models), "coef")

    def _check_columns(self, n_columns: int | None) -> None:
        require(n_columns is not None and len(self.off.coef) == n_columns + 2, "coef")

    @property
    def n_models(self) -> int:
        """Number of models."""
        return int(self.off.coef.shape[1])

    def log_odds(self, X: Matrix) -> Floats:
        """Predict log-odds for the parent values 0 and 1, shape (n_models, 2, n)."""
        shape = (X.shape[0], self.off.coef.shape[1])
        off = linear_predictor(X, self.off.coef, np.zeros(shape))
        if self.on is self.off:
            on = off + self.off.coef[-2]
        else:
            on = linear_predictor(X, self.on.coef, np.zeros(shape))
        return np.stack((off.T, on.T), axis=1)

    def take(self, models: Any) -> "LogisticModels":
        """Select some of the models."""
        off = self.off.take(models)
        on = off if self.on is self.off else self.on.take(models)
        return replace(self, off=off, on=on)

    def followed_by(self, others: "LogisticModels") -> "LogisticModels":
        """Concatenate two batches."""
        off = self.off.followed_by(others.off)
        shared = self.on is self.off and others.on is others.off
        on = off if shared else self.on.followed_by(others.on)
        return replace(self, off=off, on=on)

    def penalty(self) -> float:
        """Sum the penalties."""
        parts = [self.off] if self.on is self.off else [self.off, self.on]
        return sum(self.penalties.of(part.coef).sum() for part in parts)

    def not_converged(self) -> NDArray[np.bool_]:
        """Mark the models that did not converge, shape (n_models,)."""
        return ~(self.off.converged & self.on.converged)


@dataclass(frozen=True)
class LogisticLearner:
    """Trains batches of L2-penalised logistic regressions."""

    penalties: Penalty
    parent_effect: ParentEffect  # the parent as a feature, or a model for each of its values

    def fit(
        self,
        X: Matrix,
        targets: Floats,
        weights: Floats,
        parents: Floats,
        start: LogisticModels | None,
    ) -> LogisticModels:
        """Train the models; see `Learner.fit`."""
        if start is None:
            zero = np.zeros((X.shape[1] + 2, targets.shape[1]))
            off_start = on_start = zero
        else:
            off_start, on_start = start.off.coef, start.on.coef
        if self.parent_effect == "feature":
            both = self._solve(X, targets, weights, parents, off_start)
            return LogisticModels(both, both, self.penalties)
        none = np.zeros_like(parents)
        if not parents.any():
            alone = self._solve(X, targets, weights, none, off_start)
            return LogisticModels(alone, alone, self.penalties)
        # If the parent never has a value, the model for it is 0, and so is its penalty.
        off = self._solve(X, targets, weights * (1 - parents), none, off_start)
        on = self._solve(X, targets, weights * parents, none, on_start)
        return LogisticModels(off, on, self.penalties)

    def _solve(
        self, X: Matrix, targets: Floats, weights: Floats, extra: Floats, start: Floats
    ) -> Solution:
        problems = Problems(targets, weights, extra)
        constant = ~((weights * targets).any(axis=0) & (weights * (1 - targets)).any(axis=0))
        if not constant.any():
            return solve(X, problems, self.penalties, start)
        varying = solve(X, problems.take(~constant), self.penalties, start[:, ~constant])
        # A constant label has only an intercept, which its penalty keeps finite.
        alone = replace(problems.take(constant), extra=np.zeros((X.shape[0], constant.sum())))
        begin = np.where(weights.any(axis=0), start[-2:] * [[0], [1]], 0)[:, constant]
        intercepts = solve(X[:, :0], alone, self.penalties, begin)
        return varying.joined(intercepts, constant)


def choose_C(X: Matrix, Y: Floats, random: np.random.RandomState) -> float:
    """Choose `C` from `GRID` by cross-validation on at least two rows; NaN in Y is unknown.

    As in the paper, all models share it: the `C` with the smallest held-out log loss of the models
    without parents, summed over labels. The search goes from strong to weak penalties and stops
    when the loss increases.
    """
    folds = Folds(stratified_folds(Y, min(_FOLDS, len(Y)), random))
    path = FoldPath(FitData(X, Y.astype(np.float32), None), folds, Penalty(1.0, tol=_TOL_OF_CHOICE))
    smallest, chosen = np.inf, GRID[0]
    for C in GRID:
        loss = float(path.step(C).sum())
        if loss > smallest:
            break
        smallest, chosen = loss, C
    return chosen


@stored
@dataclass(frozen=True)
class EstimatorModels(Models):
    """A batch of classifiers with the parent as the last feature."""

    estimators: list[Any]  # fitted classifiers, or the log-odds (a float) of a constant label

    def _check_columns(self, n_columns: int | None) -> None:
        require(n_columns is None, "models")

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.estimators)

    def log_odds(self, X: Matrix) -> Floats:
        """Predict log-odds for the parent values 0 and 1, shape (n_models, 2, n)."""
        found = np.empty((len(self.estimators), 2, X.shape[0]))
        for value in (0, 1):
            with_parent = _with_column(X, np.full(X.shape[0], float(value)))
            for number, estimator in enumerate(self.estimators):
                if isinstance(estimator, float):
                    found[number, value] = estimator
                else:
                    proba = np.asarray(estimator.predict_proba(with_parent), dtype=float)[:, 1]
                    proba = np.clip(proba, _SMALLEST, 1 - _SMALLEST)
                    found[number, value] = np.log(proba) - np.log1p(-proba)
        return found

    def take(self, models: Any) -> "EstimatorModels":
        """Select some of the models."""
        numbers = np.arange(len(self.estimators))[models]
        return EstimatorModels([self.estimators[number] for number in numbers])

    def followed_by(self, others: "EstimatorModels") -> "EstimatorModels":
        """Concatenate two batches."""
        return EstimatorModels(self.estimators + others.estimators)

    def penalty(self) -> float:
        """Return 0, as the penalties of classifiers are unknown."""
        return 0.0

    def not_converged(self) -> NDArray[np.bool_]:
        """Mark no model; classifiers issue their own warnings."""
        return np.zeros(len(self.estimators), dtype=bool)


_SMALLEST = 1e-6
"""Probabilities of classifiers are clipped this far from 0 and 1."""


@dataclass(frozen=True)
class EstimatorLearner:
    """Trains clones of a classifier that has `predict_proba` and `sample_weight`."""

    estimator: Any

    def fit(
        self, X: Matrix, targets: Floats, weights: Floats, parents: Floats, start: Any
    ) -> EstimatorModels:
        """Train the models; see `Learner.fit`. `start` is not used."""
        return EstimatorModels(
            [
                self._fit_one(X, targets[:, k], weights[:, k], parents[:, k])
                for k in range(targets.shape[1])
            ]
        )

    def _fit_one(self, X: Matrix, target: Floats, weight: Floats, parent: Floats) -> Any:
        positive, negative = weight * target, weight * (1 - target)
        if not (positive.any() and negative.any()):
            # Add half an instance of each class to keep the probability away from 0 and 1.
            return float(np.log(positive.sum() + 0.5) - np.log(negative.sum() + 0.5))
        as_positive, as_negative = np.flatnonzero(positive), np.flatnonzero(negative)
        rows = np.concatenate((as_positive, as_negative))
        classes = np.repeat([1, 0], [len(as_positive), len(as_negative)])
        weights = np.concatenate((positive[as_positive], negative[as_negative]))
        return clone(self.estimator).fit(
            _with_column(X, parent)[rows], classes, sample_weight=weights
        )


def warn_if_not_converged(models: Models, names: list[str], max_iter: int) -> None:
    """Issue a ConvergenceWarning with the names of the models that did not converge."""
    late = [names[number] for number in np.flatnonzero(models.not_converged())]
    if late:
        warnings.warn(
            f"Logistic regression did not converge in {max_iter} iterations: {', '.join(late)}.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _with_column(X: Matrix, column: Floats) -> Matrix:
    if sparse.issparse(X):
        return sparse.csr_matrix(sparse.hstack((X, sparse.csr_matrix(column[:, None]))))
    return np.column_stack((X, column))
