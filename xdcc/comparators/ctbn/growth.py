"""Growing a mixture: add trees one by one on reweighted rows (section 5.3.2).

The rows are split into an internal training and a validation set. Each new tree is learned on the
training set with the weights ω = 1 - P(y|x) under the current mixture (all equal at first), which
focus on badly predicted rows. EM then fits the whole mixture until the log-likelihood of the
validation set decreases. Growth stops when this log-likelihood is lower than with one tree less.
Without the last tree, the mixture is fitted on all rows, with at most as many iterations of EM as a
step of the growth took.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from xdcc.base.folds import stratified_folds
from xdcc.comparators.ctbn.learner import Learner
from xdcc.comparators.ctbn.mixture import (
    Component,
    EMLimits,
    Mixture,
    collapsed,
    expectation_maximisation,
    fit_component,
    without_collapsed,
)
from xdcc.comparators.ctbn.structure import Search, edge_weights, maximum_branching
from xdcc.comparators.ctbn.tree_inference import Parents
from xdcc.linear.logistic import Floats, Matrix

_VALIDATION_FOLDS = 5
"""The internal validation set is one of this number of folds."""

_STRUCTURE_FOLDS = 3
"""The rows that score the structures are one of this number of folds of the training rows."""


@dataclass
class Growth:
    """History of the growth.

    `validation` is the log-likelihood of the validation set by number of components, up to the
    first that is worse or has a collapsed component. `curves` holds the objective of EM by
    iteration for each number of components, `final_curve` that of the fit on all rows.
    """

    validation: list[float] = field(default_factory=list)
    curves: list[list[float]] = field(default_factory=list)
    final_curve: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Grower:
    """Grows mixtures, with one learner during growth and another one for the final models."""

    rough: Learner
    exact: Learner
    limits: EMLimits
    random: np.random.RandomState
    search: Search = field(default_factory=Search)

    def grow(self, X: Matrix, Y: Floats, max_components: int) -> tuple[Mixture, Growth]:
        """Grow a mixture and fit it on all rows, at least two; NaN in Y is unknown."""
        growth = Growth()
        if max_components == 1 or Y.shape[1] == 1:
            component = self._component(X, Y, np.ones(len(Y)))
            mixture = Mixture([component], np.ones(1))
        else:
            held_out = held_out_rows(Y, _VALIDATION_FOLDS, self.random)
            mixture = self._grow_to_peak(
                (X[~held_out], Y[~held_out]), (X[held_out], Y[held_out]), max_components, growth
            )
        n_iter = max([1, *(len(curve) - 1 for curve in growth.curves[1:-1])])
        limits = replace(self.limits, max_iter=min(n_iter, self.limits.max_iter))
        mixture, growth.final_curve = expectation_maximisation(self.exact, mixture, X, Y, limits)
        return without_collapsed(mixture, len(Y)), growth

    def sequence(
        self, train: tuple[Matrix, Floats], validation: tuple[Matrix, Floats], growth: Growth
    ) -> Iterator[Mixture]:
        """Yield mixtures with one tree, two, and so on without end, and update `growth`.

        `train` and `validation` are pairs of X and Y. EM ends when the log-likelihood of the
        validation set decreases.
        """
        mixture = Mixture([self._component(*train, np.ones(len(train[1])))], np.ones(1))
        mixture, curve = expectation_maximisation(self.rough, mixture, *train, self.limits)
        while True:
            growth.curves.append(curve)
            growth.validation.append(float(mixture.log_prob(*validation).sum()))
            yield mixture
            # ω of section 5.3.2; rows with probability 1 keep a tiny weight.
            error = np.maximum(-np.expm1(mixture.log_prob(*train)), np.finfo(float).tiny)
            new = self._component(*train, error / error.mean())
            size = len(mixture.components) + 1
            weights = np.append(mixture.weights * (size - 1), 1.0) / size
            mixture = Mixture([*mixture.components, new], weights)
            mixture, curve = expectation_maximisation(
                self.rough, mixture, *train, self.limits, validation
            )

    def _grow_to_peak(
        self,
        train: tuple[Matrix, Floats],
        validation: tuple[Matrix, Floats],
        max_components: int,
        growth: Growth,
    ) -> Mixture:
        sequence = self.sequence(train, validation, growth)
        best = next(sequence)
        for larger in itertools.islice(sequence, max_components - 1):
            worse = growth.validation[-1] <= growth.validation[-2]
            if worse or collapsed(larger, len(train[1])).any():
                break
            best = larger
        return best

    def _component(self, X: Matrix, Y: Floats, weights: Floats) -> Component:
        """Learn a tree and its models on weighted rows (section 5.3.1)."""
        parents = self._structure(X, Y, weights)
        return fit_component(self.rough, X, Y, parents, weights)

    def _structure(self, X: Matrix, Y: Floats, weights: Floats) -> Parents:
        if len(Y) < 2:
            return np.full(Y.shape[1], -1)
        held_out = held_out_rows(Y, _STRUCTURE_FOLDS, self.random)
        train, held = ((X[rows], Y[rows], weights[rows]) for rows in (~held_out, held_out))
        return maximum_branching(*edge_weights(self.rough, train, held, self.search))


def held_out_rows(Y: Floats, n_folds: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Mark the rows of one of `n_folds` stratified folds; neither side is empty."""
    folds = stratified_folds(Y, min(n_folds, len(Y)), random)
    held_out = folds == 0
    if held_out.all() or not held_out.any():
        # With very few rows, stratification can leave a fold empty.
        held_out = np.arange(len(Y)) % n_folds == 0
    return held_out
