"""Mixtures of trees of labels of every size, learned on the internal training part."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from experiments.engine.registry import Labels
from xdcc.ctbn.annealing import anneal
from xdcc.ctbn.design import Design
from xdcc.ctbn.growth import Grower, Growth, held_out_rows
from xdcc.ctbn.learner import LogisticLearner
from xdcc.ctbn.logistic import Penalty, choose_C
from xdcc.ctbn.mixture import EMLimits

ITERATIONS = 150
"""Of the annealing that predicts, as in the paper."""


class GrowingMixture(BaseEstimator):
    """Mixtures of one tree, of two, up to `n_components`; growth is not stopped before.

    What stops it, the log-likelihood of the internal validation part, only ends EM here.
    """

    def __init__(self, n_components: int, random_state: int) -> None:
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X: Any, Y: Any) -> "GrowingMixture":
        """Grow the mixtures."""
        random = np.random.RandomState(self.random_state)
        self._design = Design(X)
        rows, labels = self._design.transform(X), np.asarray(Y, dtype=np.float64)
        penalty = Penalty(1 / choose_C(rows, labels, random), tol=1e-5)
        learner = LogisticLearner(penalty, "separate")
        held_out = held_out_rows(labels, 5, random)
        train, validation = ((rows[part], labels[part]) for part in (~held_out, held_out))
        grower = Grower(learner, learner, EMLimits(), random)
        sequence = grower.sequence(train, validation, Growth())
        self._mixtures = list(itertools.islice(sequence, self.n_components))
        return self

    def labels(self, X: Any, size: int) -> Labels:
        """Return the most probable labelsets by the mixture of so many trees."""
        mixture = self._mixtures[size - 1]
        parents = [component.parents for component in mixture.components]
        log_cpds = mixture.log_cpds(self._design.transform(X))
        return anneal(log_cpds, parents, mixture.weights, ITERATIONS, np.random.RandomState(0))

    def log_likelihoods(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of rows by each mixture, of shape (n_components,)."""
        rows, labels = self._design.transform(X), np.asarray(Y, dtype=np.float64)
        return np.array([mixture.log_prob(rows, labels).sum() for mixture in self._mixtures])
