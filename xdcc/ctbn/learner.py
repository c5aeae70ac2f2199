"""Models of labels given the features and a parent label: logistic regressions, or any classifier.

A :class:`Learner` trains a batch of models, one per column of the targets, and what it returns
says the log odds of every column for both values of its parent. `LogisticLearner` gives the batch
to the solver (``logistic.py``) with the parent as one more feature or as two models, one for each
of its values. `EstimatorLearner` trains clones of a classifier one by one.

A model without a parent is one whose parent is 0 everywhere.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from xdcc.base.folds import stratified_folds
from xdcc.linear.logistic import (
    Floats,
    Matrix,
    Penalty,
    Problems,
    Run,
    Solution,
    linear_predictor,
    one_by_one,
    solve,
)
from xdcc.linear.path import FoldPath, LabelData

ParentEffect = Literal["feature", "separate"]

GRID = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)

_FOLDS = 5

_TOL_OF_CHOICE = 1e-5
"""Tolerance of the solver while `C` is chosen."""


class Models(Protocol):
    """Trained models of a batch."""

    def log_odds(self, X: Matrix) -> Floats:
        """Log odds of the targets, shape (n_models, 2, n): for a parent that is 0 and 1."""

    def take(self, models: Any) -> Self:
        """Keep some of the models."""

    def followed_by(self, others: Self) -> Self:
        """Put two batches together."""

    def penalty(self) -> float:
        """Sum up what the objective of training has beyond the negative log-likelihood."""

    def not_converged(self) -> NDArray[np.bool_]:
        """Which of the models did not reach their optimum, shape (n_models,)."""


class Learner(Protocol):
    """Trains batches of models."""

    def fit(
        self, X: Matrix, targets: Floats, weights: Floats, parents: Floats, start: Any
    ) -> Models:
        """Train the models.

        Parameters
        ----------
        X : float array or CSR matrix of shape (n, n_features)
            Features of the rows.
        targets : float array of shape (n, n_models)
            In [0, 1]; a share counts as that much of a positive and the rest of a negative.
        weights : float array of shape (n, n_models)
            Not negative.
        parents : float array of shape (n, n_models)
            0 or 1: value of each model's parent.
        start : Models or None
            Similar models with the same columns, to begin with.

        Returns
        -------
        Models
        """


@dataclass(frozen=True)
class LogisticModels:
    """Logistic regressions of a batch.

    Attributes
    ----------
    off, on : Solution
        Models for a parent that is 0 and 1. The same one if the parent is a feature.
    penalties : Penalty
        What they were trained with.
    """

    off: Solution
    on: Solution
    penalties: Penalty

    def log_odds(self, X: Matrix) -> Floats:
        """Log odds of the targets, shape (n_models, 2, n): for a parent that is 0 and 1."""
        shape = (X.shape[0], self.off.coef.shape[1])
        off = linear_predictor(X, self.off.coef, np.zeros(shape))
        if self.on is self.off:
            on = off + self.off.coef[-2]
        else:
            on = linear_predictor(X, self.on.coef, np.zeros(shape))
        return np.stack((off.T, on.T), axis=1)

    def take(self, models: Any) -> "LogisticModels":
        """Keep some of the models."""
        off = self.off.take(models)
        on = off if self.on is self.off else self.on.take(models)
        return replace(self, off=off, on=on)

    def followed_by(self, others: "LogisticModels") -> "LogisticModels":
        """Put two batches together."""
        off = self.off.followed_by(others.off)
        shared = self.on is self.off and others.on is others.off
        on = off if shared else self.on.followed_by(others.on)
        return replace(self, off=off, on=on)

    def penalty(self) -> float:
        """Sum of the penalties."""
        parts = [self.off] if self.on is self.off else [self.off, self.on]
        return sum(self.penalties.of(part.coef).sum() for part in parts)

    def not_converged(self) -> NDArray[np.bool_]:
        """Which of the models ran out of iterations."""
        return ~(self.off.converged & self.on.converged)


@dataclass(frozen=True)
class LogisticLearner:
    """L2-penalised logistic regressions, a batch at a time.

    Attributes
    ----------
    penalties : Penalty
        Strength of the penalty, tolerance, limit of iterations.
    parent_effect : {"feature", "separate"}
        Whether the parent is one more feature of a label's model, or the label has a model for
        each value of the parent, with coefficients of their own.
    run : callable
        Solves blocks of models (``logistic.py``).
    """

    penalties: Penalty
    parent_effect: ParentEffect
    run: Run = one_by_one

    def fit(
        self,
        X: Matrix,
        targets: Floats,
        weights: Floats,
        parents: Floats,
        start: LogisticModels | None,
    ) -> LogisticModels:
        """Train the models; parameters as described for `Learner`."""
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
        # A model for a value that the parent never has is 0, and so is its penalty.
        off = self._solve(X, targets, weights * (1 - parents), none, off_start)
        on = self._solve(X, targets, weights * parents, none, on_start)
        return LogisticModels(off, on, self.penalties)

    def _solve(
        self, X: Matrix, targets: Floats, weights: Floats, extra: Floats, start: Floats
    ) -> Solution:
        problems = Problems(targets, weights, extra)
        constant = ~((weights * targets).any(axis=0) & (weights * (1 - targets)).any(axis=0))
        if not constant.any():
            return solve(X, problems, self.penalties, start, self.run)
        varying = solve(X, problems.take(~constant), self.penalties, start[:, ~constant], self.run)
        # Of a constant label only the intercept is learned, which its penalty keeps finite.
        alone = replace(problems.take(constant), extra=np.zeros((X.shape[0], constant.sum())))
        begin = np.where(weights.any(axis=0), start[-2:] * [[0], [1]], 0)[:, constant]
        intercepts = solve(X[:, :0], alone, self.penalties, begin)
        return varying.joined(intercepts, constant)


def choose_C(X: Matrix, Y: Floats, random: np.random.RandomState) -> float:
    """Choose the inverse strength `C` from `GRID`.

    As in the paper one strength serves all models. It is the one with the smallest held-out log
    loss of the parentless models, all labels together. The grid is walked from strong to weak
    penalties and left when the loss rises.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, n_features)
        Features, at least two rows.
    Y : float array of shape (n, n_labels)
        0, 1, or NaN for unknown, which does not count.
    random : RandomState
        Deals the rows out to five folds.

    Returns
    -------
    float
    """
    folds = stratified_folds(Y, min(_FOLDS, len(Y)), random)
    path = FoldPath(LabelData(X, Y, None), folds, Penalty(1.0, tol=_TOL_OF_CHOICE))
    smallest, chosen = np.inf, GRID[0]
    for C in GRID:
        loss = float(path.step(C).sum())
        if loss > smallest:
            break
        smallest, chosen = loss, C
    return chosen


@dataclass(frozen=True)
class EstimatorModels:
    """Classifiers of a batch, each with the parent as its last feature.

    Attributes
    ----------
    estimators : list of length n_models
        Trained classifiers, or the log odds (a float) of a label that was constant.
    """

    estimators: list[Any]

    def log_odds(self, X: Matrix) -> Floats:
        """Log odds of the targets, shape (n_models, 2, n): for a parent that is 0 and 1."""
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
        """Keep some of the models."""
        numbers = np.arange(len(self.estimators))[models]
        return EstimatorModels([self.estimators[number] for number in numbers])

    def followed_by(self, others: "EstimatorModels") -> "EstimatorModels":
        """Put two batches together."""
        return EstimatorModels(self.estimators + others.estimators)

    def penalty(self) -> float:
        """Return 0: nothing is known of one."""
        return 0.0

    def not_converged(self) -> NDArray[np.bool_]:
        """Say none: a classifier warns itself."""
        return np.zeros(len(self.estimators), dtype=bool)


_SMALLEST = 1e-6
"""Probabilities of classifiers are kept this far from 0 and 1."""


@dataclass(frozen=True)
class EstimatorLearner:
    """Clones of a probabilistic classifier, one per model.

    Attributes
    ----------
    estimator : classifier
        With `predict_proba` and with `sample_weight` in `fit`.
    """

    estimator: Any

    def fit(
        self, X: Matrix, targets: Floats, weights: Floats, parents: Floats, start: Any
    ) -> EstimatorModels:
        """Train the models; parameters as described for `Learner`, `start` is not used."""
        return EstimatorModels(
            [
                self._fit_one(X, targets[:, k], weights[:, k], parents[:, k])
                for k in range(targets.shape[1])
            ]
        )

    def _fit_one(self, X: Matrix, target: Floats, weight: Floats, parent: Floats) -> Any:
        positive, negative = weight * target, weight * (1 - target)
        if not (positive.any() and negative.any()):
            # Half an instance of each class keeps the probability away from 0 and 1.
            return float(np.log(positive.sum() + 0.5) - np.log(negative.sum() + 0.5))
        as_positive, as_negative = np.flatnonzero(positive), np.flatnonzero(negative)
        rows = np.concatenate((as_positive, as_negative))
        classes = np.repeat([1, 0], [len(as_positive), len(as_negative)])
        weights = np.concatenate((positive[as_positive], negative[as_negative]))
        return clone(self.estimator).fit(
            _with_column(X, parent)[rows], classes, sample_weight=weights
        )


def warn_if_not_converged(models: Models, names: list[str], max_iter: int) -> None:
    """Warn about models that did not reach their optimum.

    Parameters
    ----------
    models : Models
        A batch.
    names : list of str of length n_models
        What to call them.
    max_iter : int
        The limit of iterations that they ran into.

    Warns
    -----
    ConvergenceWarning
        If there are any; the message names them.
    """
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
