"""Conditional tree-structured Bayesian networks (SC, MC), and the baselines of the MC paper.

These are a single network and mixtures; mixtures without early stopping, evaluated at every size
(Figure 3 of the paper); and binary relevance and chains on L2-penalised logistic regression, with
unscaled features and one strength C for all models, chosen on the training part. A single chain has
the order Y1, …, Yd; several chains have random orders.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts import OF_PROBABILITIES, cll_loss, log_loss
from xdcc.comparators.ctbn import CTBNMixtureClassifier
from xdcc.comparators.ctbn.annealing import anneal
from xdcc.comparators.ctbn.growth import Grower, Growth, held_out_rows
from xdcc.comparators.ctbn.learner import LogisticLearner, choose_C
from xdcc.comparators.ctbn.mixture import EMLimits
from xdcc.data import MultiLabelDataset
from xdcc.linear.design import Design
from xdcc.linear.logistic import Penalty, Problems, linear_predictor, solve

ITERATIONS = 150
"""Parameters of the annealing for prediction, as in the paper."""


class GrowingMixture(BaseEstimator):
    """Mixtures of one tree, of two, up to `n_components`, without early stopping.

    The log-likelihood of the internal validation part, which usually stops growth, only ends EM.
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
        """Return the most probable labelsets by the mixture of the given number of trees."""
        mixture = self._mixtures[size - 1]
        parents = [component.parents for component in mixture.components]
        log_cpds = mixture.log_cpds(self._design.transform(X))
        return anneal(log_cpds, parents, mixture.weights, ITERATIONS, np.random.RandomState(0))

    def log_likelihoods(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of rows by each mixture, of shape (n_components,)."""
        rows, labels = self._design.transform(X), np.asarray(Y, dtype=np.float64)
        return np.array([mixture.log_prob(rows, labels).sum() for mixture in self._mixtures])


type Floats = NDArray[np.float64]


class LogisticChains(BaseEstimator):
    """One or several chains; with `n_chains=0` the labels are independent (binary relevance).

    Parameters
    ----------
    n_chains : int
        Several chains predict the labels that half of them predict.
    beam_width : int
        Width of the beam search: 1 is the greedy classifier chain; the number of labelsets gives
        the most probable one (the probabilistic chain).
    random_state : int
        Seed of the folds for the choice of C, and of the orders.
    """

    def __init__(self, n_chains: int, beam_width: int, random_state: int) -> None:
        self.n_chains, self.beam_width, self.random_state = n_chains, beam_width, random_state

    def fit(self, X: Any, Y: Any) -> "LogisticChains":
        """Train the models of all chains."""
        random = np.random.RandomState(self.random_state)
        self._design = Design(X)
        rows, Y = self._design.transform(X), np.asarray(Y, dtype=np.float64)
        self.C_ = choose_C(rows, Y, random)
        self._alone = self._solve(rows, Y, np.zeros((rows.shape[1] + 2, Y.shape[1])))
        labels = np.arange(Y.shape[1])
        self._orders = [labels] if self.n_chains == 1 else []
        if self.n_chains > 1:
            self._orders = [random.permutation(labels) for _ in range(self.n_chains)]
        self._chains = [self._links(rows, Y[:, order], order) for order in self._orders]
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the labels that at least half of the chains predict."""
        rows = self._design.transform(X)
        if not self._chains:
            return (self._log_odds(rows, self._alone) > 0).astype(np.int64)
        modes = [self._mode(rows, number) for number in range(len(self._chains))]
        return (2 * np.sum(modes, axis=0) >= len(modes)).astype(np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of independent labels."""
        return 1 / (1 + np.exp(-self._log_odds(self._design.transform(X), self._alone)))

    def log_prob(self, X: Any, Y: Any, before: Any = None) -> Floats:
        """Return the log-probability of labelsets by the first chain, or of independent labels.

        `before` has the labels that the chain uses as features; None: those of Y.
        """
        rows, Y = self._design.transform(X), np.asarray(Y, dtype=np.float64)
        log_odds = self._log_odds(rows, self._alone)
        before = Y if before is None else np.asarray(before, dtype=np.float64)
        for place, link in enumerate(self._chains[0] if self._chains else ()):
            label = self._orders[0][place]
            known = before[:, self._orders[0][:place]]
            log_odds[:, label] = self._log_odds(_beside(rows, known), link)[:, 0]
        return (Y * log_odds - np.logaddexp(0, log_odds)).sum(axis=1)

    def _links(self, rows: Any, Y: Floats, order: NDArray[np.intp]) -> list[Floats]:
        """Coefficients of each label in a chain's order, with all labels before as features."""
        links = []
        for place, label in enumerate(order):
            start = np.insert(self._alone[:, [label]], [-2] * place, 0.0, axis=0)
            links.append(self._solve(_beside(rows, Y[:, :place]), Y[:, [place]], start))
        return links

    def _solve(self, rows: Any, Y: Floats, start: Floats) -> Floats:
        problems = Problems(Y, np.ones_like(Y), np.zeros_like(Y))
        return solve(rows, problems, Penalty(1 / self.C_, tol=1e-7), start).coef

    def _log_odds(self, rows: Any, coef: Floats) -> Floats:
        return linear_predictor(rows, coef, np.zeros((rows.shape[0], coef.shape[1])))

    def _mode(self, rows: Any, number: int) -> NDArray[np.int64]:
        """Return the most probable labelset that the beam search of a chain finds."""
        n_rows, n_labels = rows.shape[0], len(self._orders[number])
        log_prob = np.zeros((n_rows, 1))
        begun = np.zeros((n_rows, 1, 0))
        for place, link in enumerate(self._chains[number]):
            of_labels = link[rows.shape[1] : rows.shape[1] + place, 0]
            without = self._log_odds(_beside(rows, np.zeros((n_rows, place))), link)
            log_odds = without + begun @ of_labels
            both = np.stack((-np.logaddexp(0, log_odds), -np.logaddexp(0, -log_odds)), axis=2)
            log_prob = (log_prob[:, :, np.newaxis] + both).reshape(n_rows, -1)
            begun = np.repeat(begun, 2, axis=1)
            added = np.tile([0.0, 1.0], begun.shape[1] // 2)[np.newaxis, :, np.newaxis]
            begun = np.concatenate((begun, np.repeat(added, n_rows, axis=0)), axis=2)
            best = np.argsort(-log_prob, axis=1, kind="stable")[:, : self.beam_width]
            log_prob = np.take_along_axis(log_prob, best, axis=1)
            begun = np.take_along_axis(begun, best[:, :, np.newaxis], axis=1)
        labels = np.empty((n_rows, n_labels), dtype=np.int64)
        labels[:, self._orders[number]] = begun[:, 0]
        return labels


def cll_loss_of_own_labels(model: LogisticChains, split: Split, Y: Any) -> float:
    """CLL-loss of a chain that uses its own greedy predictions as features."""
    before = model.predict(split.X) if model.beam_width == 1 and model.n_chains == 1 else None
    return float(-model.log_prob(split.X, Y, before).sum())


def _beside(rows: Any, labels: Floats) -> Any:
    if sparse.issparse(rows):
        return sparse.csr_matrix(sparse.hstack((rows, sparse.csr_matrix(labels))))
    return np.hstack((rows, labels))


def _ctbn(train: MultiLabelDataset, seed: int, **params: Any) -> CTBNMixtureClassifier:
    return CTBNMixtureClassifier(random_state=seed, n_jobs=1, **params)


def _ctbn_growth(train: MultiLabelDataset, seed: int, n_components: int) -> GrowingMixture:
    return GrowingMixture(n_components, seed)


def _labels_by_size(model: GrowingMixture, split: Split) -> Iterator[Labels]:
    return (model.labels(split.X, size) for size in range(1, model.n_components + 1))


def _losses_by_size(model: GrowingMixture, X: Any, Y: Any) -> dict[str, Any]:
    return {"cll_loss": [-float(p) for p in model.log_likelihoods(X, Y)]}


def _logistic_chains(
    train: MultiLabelDataset, seed: int, n_chains: int, beam_width: int
) -> LogisticChains:
    return LogisticChains(n_chains, beam_width, seed)


METHODS = {
    "ctbn": Method(
        title="mixture of conditional tree-structured Bayesian networks",
        reference="Hong, Batal, Hauskrecht, A Mixtures-of-Trees Framework for Multi-Label "
        "Classification, CIKM 2014",
        build=_ctbn,
        params={"max_components": 20},
        scores=OF_PROBABILITIES | {"cll_loss": cll_loss},
    ),
    "ctbn_growth": Method(
        title="mixture of conditional trees, without early stopping",
        reference="Hong, Batal, Hauskrecht, CIKM 2014, Figure 3",
        build=_ctbn_growth,
        params={"n_components": 20},
        rules={"by size": _labels_by_size},
        details=_losses_by_size,
    ),
    "logistic_chains": Method(
        title="binary relevance and chains on logistic regression, one strength for all models",
        reference="Read et al., 2011; Dembczyński et al., 2010; as in Hong et al., CIKM 2014",
        build=_logistic_chains,
        params={"n_chains": 0, "beam_width": 1},
        scores={
            "log_loss": log_loss,
            "cll_loss": cll_loss_of_own_labels,
            "chain_rule_cll_loss": cll_loss,
        },
    ),
}
