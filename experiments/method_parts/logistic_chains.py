"""Binary relevance and chains on L2-penalised logistic regression, as the MC paper compares them.

Features as they are, one strength C for all models, chosen in the training part, and chains in the
order Y1, …, Yd or, where there are several, in random orders.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from experiments.engine.registry import Split
from xdcc.ctbn.design import Design
from xdcc.ctbn.logistic import Penalty, Problems, choose_C, linear_predictor, solve

type Floats = NDArray[np.float64]


class LogisticChains(BaseEstimator):
    """One or several chains; with `n_chains=0` the labels are independent (binary relevance).

    Parameters
    ----------
    n_chains : int
        Of several chains, the labels are those that half of them predict.
    beam_width : int
        Beginnings of labelsets that are followed: 1 is the classifier chain, which decides
        greedily; as many as there are labelsets find the most probable one (the probabilistic
        chain).
    random_state : int
        Of the folds that choose C, and of the orders.
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
        """Return the labels that half of the chains predict, at least."""
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

        `before` holds the labels that the chain goes on from; None: those of Y themselves.
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
    """CLL-loss of a chain whose labels before a label are those that it predicts, greedily."""
    before = model.predict(split.X) if model.beam_width == 1 and model.n_chains == 1 else None
    return float(-model.log_prob(split.X, Y, before).sum())


def _beside(rows: Any, labels: Floats) -> Any:
    if sparse.issparse(rows):
        return sparse.csr_matrix(sparse.hstack((rows, sparse.csr_matrix(labels))))
    return np.hstack((rows, labels))
