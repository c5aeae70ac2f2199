"""How a mixture grows: structures are added one by one on reweighted rows (section 5.3.2).

The rows are split into an internal training and a validation part. Each new tree is learned on
the training part with the weights ω = 1 - P(y|x) under the mixture so far (all equal at first),
which turns to the rows that are predicted badly; EM then fits the whole mixture, until the
validation part's log-likelihood falls. When it is lower than with one tree less, growth stops, and
without the last tree the mixture is fitted again on all rows, by at most as many iterations of EM
as a step of the growth took.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from xdcc.base.folds import stratified_folds
from xdcc.ctbn.learner import Learner
from xdcc.ctbn.mixture import (
    Component,
    EMLimits,
    Mixture,
    collapsed,
    expectation_maximisation,
    fit_component,
    without_collapsed,
)
from xdcc.ctbn.structure import Search, edge_weights, maximum_branching
from xdcc.ctbn.tree_inference import Parents, documented_tree
from xdcc.linear.logistic import Floats, Matrix

_VALIDATION_FOLDS = 5
"""One of so many parts of the rows is the internal test set."""

_STRUCTURE_FOLDS = 3
"""One of so many parts of the training rows scores the structures."""


@dataclass
class Growth:
    """How the growing went.

    Attributes
    ----------
    validation : list of float
        Log-likelihood of the validation part by number of components, to the first that is worse or
        has a component that collapsed.
    curves : list of lists of float
        EM's objective by iteration, for each number of components.
    final_curve : list of float
        EM's objective on all rows.
    """

    validation: list[float] = field(default_factory=list)
    curves: list[list[float]] = field(default_factory=list)
    final_curve: list[float] = field(default_factory=list)


@documented_tree
class Grower:
    """Grows mixtures on given data.

    Parameters
    ----------
    rough, exact : Learner
        Train models while the mixture grows, and those of the final mixture.
    limits : EMLimits
        When EM ends.
    random : RandomState
        Splits the rows.
    search : Search
        How structures are searched for.
    """

    def __init__(
        self,
        rough: Learner,
        exact: Learner,
        limits: EMLimits,
        random: np.random.RandomState,
        search: Search = Search(),  # noqa: B008 (it cannot change)
    ) -> None:
        self._rough = rough
        self._exact = exact
        self._limits = limits
        self._random = random
        self._search = search

    def grow(self, X: Matrix, Y: Floats, max_components: int) -> tuple[Mixture, Growth]:
        """Find structures and fit the mixture on all rows.

        Parameters
        ----------
        X : float array or CSR matrix of shape (n, n_features)
            Features, at least two rows.
        {known_or_not}
        max_components : int
            Most trees; one needs no validation part.

        Returns
        -------
        Mixture, Growth
        """
        growth = Growth()
        if max_components == 1 or Y.shape[1] == 1:
            component = self._component(X, Y, np.ones(len(Y)))
            mixture = Mixture([component], np.ones(1))
        else:
            held_out = held_out_rows(Y, _VALIDATION_FOLDS, self._random)
            mixture = self._grow_to_peak(
                (X[~held_out], Y[~held_out]), (X[held_out], Y[held_out]), max_components, growth
            )
        n_iter = max([1, *(len(curve) - 1 for curve in growth.curves[1:-1])])
        limits = replace(self._limits, max_iter=min(n_iter, self._limits.max_iter))
        mixture, growth.final_curve = expectation_maximisation(self._exact, mixture, X, Y, limits)
        return without_collapsed(mixture, len(Y)), growth

    def sequence(
        self, train: tuple[Matrix, Floats], validation: tuple[Matrix, Floats], growth: Growth
    ) -> Iterator[Mixture]:
        """Grow without end.

        Parameters
        ----------
        train, validation : tuples of X and Y
            Rows to learn from, and rows that end EM when their log-likelihood falls.
        growth : Growth
            Gets the log-likelihoods.

        Yields
        ------
        Mixture
            With one tree, two, and so on.
        """
        mixture = Mixture([self._component(*train, np.ones(len(train[1])))], np.ones(1))
        mixture, curve = expectation_maximisation(self._rough, mixture, *train, self._limits)
        while True:
            growth.curves.append(curve)
            growth.validation.append(float(mixture.log_prob(*validation).sum()))
            yield mixture
            # ω of section 5.3.2; a row that is certain still counts a little.
            error = np.maximum(-np.expm1(mixture.log_prob(*train)), np.finfo(float).tiny)
            new = self._component(*train, error / error.mean())
            size = len(mixture.components) + 1
            weights = np.append(mixture.weights * (size - 1), 1.0) / size
            mixture = Mixture([*mixture.components, new], weights)
            mixture, curve = expectation_maximisation(
                self._rough, mixture, *train, self._limits, validation
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
        return fit_component(self._rough, X, Y, parents, weights)

    def _structure(self, X: Matrix, Y: Floats, weights: Floats) -> Parents:
        if len(Y) < 2:
            return np.full(Y.shape[1], -1)
        held_out = held_out_rows(Y, _STRUCTURE_FOLDS, self._random)
        train, held = ((X[rows], Y[rows], weights[rows]) for rows in (~held_out, held_out))
        return maximum_branching(*edge_weights(self._rough, train, held, self._search))


def held_out_rows(Y: Floats, n_folds: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Hold one of `n_folds` parts of the rows out, with about the same share of every label.

    Parameters
    ----------
    Y : float array of shape (n, n_labels)
        0, 1, or NaN for unknown; at least two rows.
    n_folds : int
        Number of parts; at most as many as there are rows are made.
    random : RandomState
        Deals the rows out.

    Returns
    -------
    bool array of shape (n,)
        Some True and some False.
    """
    folds = stratified_folds(Y, min(n_folds, len(Y)), random)
    held_out = folds == 0
    if held_out.all() or not held_out.any():
        # Stratification may leave one of very few parts empty.
        held_out = np.arange(len(Y)) % n_folds == 0
    return held_out
