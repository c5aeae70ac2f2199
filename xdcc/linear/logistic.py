"""A batched solver for many L2-penalised logistic regressions that share their features.

Model k has targets t, weights s and one feature e of its own (the parent label). It minimises over
the coefficients w, the coefficient a of e and the intercept b

    sum_n s_nk (log(1 + exp(z_nk)) - t_nk z_nk) + l2/2 (|w_k|² + a_k²) + l2_intercept/2 b_k²,
    z_nk = x_n w_k + a_k e_nk + b_k.

All models take L-BFGS steps together (:func:`solve`), so each iteration needs two matrix products
for all of them, one for the directions and one for the gradients; the line search needs none. Each
model has its own step length, history and stopping point. The features are uncorrelated
(``design.py``), so a diagonal matrix is a good initial guess of each Hessian, and few iterations
are needed. The objective of a model never increases, so EM can stop it at any iteration.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.side_by_side import end_if_stopped, run_large
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.base.workers import rows_of_all, sum_of_all

type Floats = NDArray[np.float64]
type Matrix = Floats | sparse.csr_matrix

_HISTORY = 8
BLOCK = 64
"""Number of models solved at a time; their histories fit into the cache of a core."""

_SHORTEST_STEP = 2.0**-30


@dataclass(frozen=True)
class Problems:
    """Targets, weights and the additional feature of each model, all (n, n_models).

    Targets are in [0, 1]: a target t counts as a positive with weight t and a negative with weight
    1 - t. The feature is None if there is none.
    """

    targets: Floats
    weights: Floats
    extra: Floats | None = None

    def take(self, models: Any) -> "Problems":
        """Select some models."""
        return self._each(lambda array: array[:, models])

    def rows(self, rows: Any) -> "Problems":
        """Select some rows."""
        return self._each(lambda array: array[rows])

    def _each(self, change: Callable[[Floats], Floats]) -> "Problems":
        extra = None if self.extra is None else change(self.extra)
        return Problems(change(self.targets), change(self.weights), extra)


@stored
@dataclass(frozen=True)
class Penalty:
    """Strength of the penalty and stopping criteria.

    `l2` is the inverse of scikit-learn's `C`. `l2_intercept` keeps the intercept finite if a label
    is constant. A model has converged when another Newton step would lower its objective by less
    than `tol` times its sum of weights.
    """

    l2: float
    l2_intercept: float = 0.04
    tol: float = 1e-11
    max_iter: int = 500

    def of(self, coef: Floats) -> Floats:
        """Compute the penalties (n_models,) of coefficients (n_features + 2, n_models)."""
        squares = coef**2
        return 0.5 * (self.l2 * squares[:-1].sum(axis=0) + self.l2_intercept * squares[-1])


@stored
@dataclass(frozen=True)
class Solution:
    """Solved models; the last two rows of `coef` are the additional feature and the intercept."""

    coef: Annotated[Floats, Shape(None, None)]  # (n_features + 2, n_models)
    objective: Floats  # (n_models,)
    converged: NDArray[np.bool_]  # (n_models,)
    n_iter: NDArray[np.intp]  # (n_models,)

    def take(self, models: Any) -> "Solution":
        """Select some models."""
        return Solution(*(getattr(self, field.name)[..., models] for field in fields(self)))

    @classmethod
    def of_blocks(cls, blocks: Sequence[Self]) -> Self:
        """Concatenate batches."""
        return cls(
            *(
                np.concatenate([getattr(block, field.name) for block in blocks], axis=-1)
                for field in fields(cls)
            )
        )

    def followed_by(self, others: Self) -> Self:
        """Concatenate two batches."""
        return self.of_blocks([self, others])

    def joined(self, intercepts: "Solution", where: NDArray[np.bool_]) -> "Solution":
        """Insert models with only an intercept at the positions `where`."""
        coef = np.zeros((len(self.coef), len(where)))
        coef[:, ~where] = self.coef
        coef[-2:, where] = intercepts.coef

        def merged(of_these: NDArray[Any], of_those: NDArray[Any]) -> NDArray[Any]:
            values = np.empty(len(where), dtype=of_these.dtype)
            values[~where], values[where] = of_these, of_those
            return values

        return Solution(
            coef,
            merged(self.objective, intercepts.objective),
            merged(self.converged, intercepts.converged),
            merged(self.n_iter, intercepts.n_iter),
        )


def linear_predictor(X: Matrix, coef: Floats, extra: Floats | None = None) -> Floats:
    """Compute the log-odds z of all models, (n, n_models)."""
    z = np.asarray(X @ coef[:-2])
    if extra is not None:
        z += extra * coef[-2]
    z += coef[-1]
    return z


def solve(X: Matrix, problems: Problems, penalty: Penalty, start: Floats) -> Solution:
    """Minimise the objectives of all models, starting at `start` (n_features + 2, n_models).

    `X` (n, n_features) are the shared features; uncorrelated features are fastest. Blocks of models
    are solved side by side (:mod:`xdcc.base.side_by_side`) if they are large, which does not change
    the solutions.
    """
    mean_square = _mean_squares(X)

    def solved(block: slice) -> Solution:
        part, rows = problems.take(block), X
        used = part.weights.any(axis=1)
        if used.any() and not used.all():
            part, rows = part.rows(used), X[used]
        return _Descent(rows, mean_square, part, penalty, start[:, block]).run()

    blocks = list(model_blocks(start.shape[1]))
    n_entries = X.shape[0] * (blocks[0].stop - blocks[0].start)
    parts = run_large([partial(solved, block) for block in blocks], n_entries)
    return Solution.of_blocks(parts)


def _mean_squares(X: Matrix) -> Floats:
    """Compute the means of the squared features, over the rows of all workers."""
    squares = X.multiply(X) if isinstance(X, sparse.csr_matrix) else X * X
    own = np.zeros(X.shape[1], dtype=X.dtype)
    if X.shape[0]:
        own = np.asarray(squares.mean(axis=0), dtype=X.dtype).ravel()
    return sum_of_all(own * np.divide(X.shape[0], rows_of_all(X.shape[0])[1], dtype=X.dtype))


def model_blocks(n_models: int) -> Iterator[slice]:
    """Cut models into blocks that are solved at a time."""
    for first in range(0, max(n_models, 1), BLOCK):
        yield slice(first, min(first + BLOCK, n_models))


@dataclass(frozen=True)
class _Point:
    """The current coefficients of the models, their log-odds, objectives and gradients."""

    coef: Floats
    z: Floats
    objective: Floats
    gradient: Floats


class _Descent:
    """L-BFGS on a block of models, which are removed from the block when they have converged."""

    def __init__(
        self, X: Matrix, mean_square: Floats, problems: Problems, penalty: Penalty, start: Floats
    ) -> None:
        self._X = X
        self._problems = problems
        self._penalty = penalty
        n_models = start.shape[1]
        self._l2 = np.full((len(start), 1), penalty.l2, dtype=start.dtype)
        self._l2[-1] = penalty.l2_intercept
        # Models with almost no weight have the absolute tolerance of models with one row.
        self._total = np.maximum(sum_of_all(problems.weights.sum(axis=0)), 1)
        z = linear_predictor(X, start, problems.extra)
        objective, proba = self._value(start, z)
        self._now = _Point(start, z, objective, self._gradient(start, proba))
        self._inverse_hessian = 1 / self._curvature(mean_square, proba)
        self._scale = np.ones(n_models, dtype=start.dtype)
        self._history: list[tuple[Floats, Floats, Floats]] = []
        self._open = np.arange(n_models)
        self._found = Solution(
            np.empty_like(start),
            np.empty(n_models, dtype=start.dtype),
            np.zeros(n_models, dtype=bool),
            np.zeros(n_models, dtype=np.intp),
        )

    def run(self) -> Solution:
        for iteration in range(self._penalty.max_iter + 1):
            end_if_stopped()
            direction = -self._times_inverse_hessian(self._now.gradient)
            slope = _dots(direction, self._now.gradient)
            converged = -slope <= 2 * self._penalty.tol * self._total
            if iteration == self._penalty.max_iter:
                self._leave(np.ones(len(converged), dtype=bool), converged, iteration)
                break
            if converged.any():
                self._leave(converged, converged, iteration)
                if not len(self._open):
                    break
                direction, slope = direction[:, ~converged], slope[~converged]
            stuck = self._step(direction, slope)
            if stuck.any():
                # No step along a descent direction lowers the objective, because of rounding.
                self._leave(stuck, stuck, iteration)
                if not len(self._open):
                    break
        return self._found

    def _value(self, coef: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Compute objectives and probabilities."""
        decay = np.abs(z)
        np.negative(decay, out=decay)
        np.exp(decay, out=decay)
        loss = _log1p(decay)
        loss += np.maximum(z, 0)
        loss -= self._problems.targets * z
        proba = np.where(z >= 0, 1.0, decay)
        decay += 1
        proba /= decay
        value = sum_of_all(_dots(self._problems.weights, loss))
        return value + self._penalty.of(coef), proba

    def _gradient(self, coef: Floats, proba: Floats) -> Floats:
        residual = self._problems.weights * (proba - self._problems.targets)
        gradient = np.zeros_like(coef)
        gradient[:-2] = self._X.T @ residual
        if self._problems.extra is not None:
            gradient[-2] = _dots(residual, self._problems.extra)
        gradient[-1] = residual.sum(axis=0)
        gradient = sum_of_all(gradient)
        gradient += self._l2 * coef
        return gradient

    def _curvature(self, mean_square: Floats, proba: Floats) -> Floats:
        """Estimate the diagonals of the Hessians, as if the curvature did not depend on X."""
        curvature = self._problems.weights * proba * (1 - proba)
        # If all weights are zero, use any positive number.
        total = np.maximum(sum_of_all(curvature.sum(axis=0)), np.finfo(curvature.dtype).tiny)
        diagonal = np.zeros((len(mean_square) + 2, len(total)), dtype=curvature.dtype)
        diagonal[:-2] = mean_square[:, None] * total
        if self._problems.extra is not None:
            diagonal[-2] = sum_of_all(_dots(curvature, self._problems.extra**2))
        diagonal[-1] = total
        return diagonal + self._l2

    def _times_inverse_hessian(self, gradient: Floats) -> Floats:
        """Apply the two-loop recursion of L-BFGS for all models."""
        q = gradient.copy()
        factors = []
        for step, change, rho in reversed(self._history):
            factor = rho * _dots(step, q)
            q -= factor * change
            factors.append(factor)
        q *= self._scale * self._inverse_hessian
        for (step, change, rho), factor in zip(self._history, reversed(factors), strict=True):
            q += (factor - rho * _dots(change, q)) * step
        return q

    def _step(self, direction: Floats, slope: Floats) -> NDArray[np.bool_]:
        """Move along the directions by backtracking line search; return which models are stuck."""
        now = self._now
        dz = linear_predictor(self._X, direction, self._problems.extra)
        length = np.ones_like(slope)
        while True:
            coef = now.coef + length * direction
            z = now.z + length * dz
            objective, proba = self._value(coef, z)
            too_far = ~(objective <= now.objective + 1e-4 * length * slope)
            too_far &= length > _SHORTEST_STEP
            if not too_far.any():
                break
            length[too_far] /= 2
        stuck = length <= _SHORTEST_STEP
        if stuck.any():
            coef[:, stuck], z[:, stuck] = now.coef[:, stuck], now.z[:, stuck]
            objective, proba = self._value(coef, z)
        self._now = _Point(coef, z, objective, self._gradient(coef, proba))
        self._remember(coef - now.coef, self._now.gradient - now.gradient)
        return stuck

    def _remember(self, step: Floats, change: Floats) -> None:
        product = _dots(step, change)
        usable = product > np.finfo(product.dtype).tiny * 1e8
        rho = np.divide(1, product, out=np.zeros_like(product), where=usable)
        square = _dots(change, self._inverse_hessian * change)
        self._scale = np.divide(product, square, out=self._scale.copy(), where=usable)
        self._history = [*self._history, (step, change, rho)][-_HISTORY:]

    def _leave(
        self, models: NDArray[np.bool_], converged: NDArray[np.bool_], iteration: int
    ) -> None:
        """Store the solutions of models and remove them from the block."""
        where = self._open[models]
        self._found.coef[:, where] = self._now.coef[:, models]
        self._found.objective[where] = self._now.objective[models]
        self._found.converged[where] = converged[models]
        self._found.n_iter[where] = iteration
        stay = ~models
        self._open = self._open[stay]
        self._problems = self._problems.take(stay)
        now = self._now
        self._now = replace(
            now,
            coef=now.coef[:, stay],
            z=now.z[:, stay],
            objective=now.objective[stay],
            gradient=now.gradient[:, stay],
        )
        self._total, self._scale = self._total[stay], self._scale[stay]
        self._inverse_hessian = self._inverse_hessian[:, stay]
        self._history = [(s[:, stay], c[:, stay], rho[stay]) for s, c, rho in self._history]


def _log1p(decay: Floats) -> Floats:
    """Compute log(1 + decay), in single precision by the function that NumPy has vectorised."""
    return np.log1p(decay) if decay.dtype == np.float64 else np.log(decay + 1)


def _dots(a: Floats, b: Floats) -> Floats:
    """Compute the dot products of the columns."""
    return np.einsum("ij,ij->j", a, b)
