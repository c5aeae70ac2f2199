"""The rounds of a fitted model, walked through with some rows: what the boosters of each saw.

Every explanation starts here. A :class:`Walk` gives for each round its boosters, what they had as
features, the propagated labels among it, and those that stood after the round. Label features are
what the model itself predicts for the rows, never their true labels. Which models there are, and
how each walks, is in ``walks.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features


@dataclass(frozen=True)
class Round:
    """A round and where the rows stood.

    Attributes
    ----------
    number : int
        Counted from 1.
    boosters : list of xgboost.Booster
        They predict together; none where labels turned out not to depend on each other.
    features : float32 array or CSR matrix of shape (n_samples, n_features)
        What the boosters saw besides propagated labels.
    before : float32 array of shape (n_samples, n_labels)
        Propagated values that the boosters saw, NaN where there was none.
    after : float32 array of shape (n_samples, n_labels)
        The same when the round was over.
    ended : bool array of shape (n_samples,)
        Rows that an end label had ended before the round; it did nothing to them.
    weights : float array of shape (n_boosters, n_labels) or None
        What the margins of the boosters count; None is their mean.
    start : float array that broadcasts to (n_samples, n_labels), or None
        What is added to these margins; None is nothing.
    """

    number: int
    boosters: list[xgb.Booster]
    features: Features
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    ended: NDArray[np.bool_]
    weights: NDArray[np.floating] | None = None
    start: NDArray[np.floating] | None = None

    @property
    def open(self) -> NDArray[np.bool_]:
        """Labels that the round could still decide, (n_samples, n_labels)."""
        return np.isnan(self.before) & ~self.ended[:, np.newaxis]


class Walk(ABC):
    """A fitted model, as the explanations see it.

    Attributes
    ----------
    labels : int array of shape (n_labels,)
        The labels that are explained, by their positions in Y.
    label_names : list of str
        Their names.
    outputs : int array of shape (n_labels,)
        Where they stand in what the boosters predict.
    feature_names : list of str
        Names of the boosters' features, without propagated labels.
    propagated_names : list of str
        Names of the labels that boosters have as features besides, those of a first round as
        missing values.
    boosters : list of lists of xgboost.Booster
        Those of each round, with the trees that they predict with. What is the same in all rounds
        stands there once.
    n_rounds : int
        How many rounds :meth:`rounds` has.
    """

    labels: NDArray[np.intp]
    label_names: list[str]
    outputs: NDArray[np.intp]
    feature_names: list[str]
    propagated_names: list[str]
    boosters: list[list[xgb.Booster]]
    n_rounds: int

    @abstractmethod
    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the rounds.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        Round
            Its arrays are not changed later.

        Raises
        ------
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """


class ChainWalk(Walk):
    """A walk through a model whose boosters have labels as features.

    Attributes
    ----------
    known_are_silent : bool
        Whether labels of training rows were unknown where they were features. A mask of the
        boosters' own is told by :func:`~xdcc.explain.booster_model.read_model`.
    penalties : pair of float
        `reg_lambda` and `reg_alpha` of the boosters.
    """

    known_are_silent = False
    penalties: tuple[float, float]


def round_matrix(round_: Round, n_threads: int | None) -> xgb.DMatrix:
    """Make the matrix that the boosters of a round predict from.

    Parameters
    ----------
    round_ : Round
        The round; it has boosters.
    n_threads : int or None
        Number of threads, all if None.

    Returns
    -------
    xgboost.DMatrix
        [features | propagated labels], features alone for a single booster; the column of an end
        label is missing everywhere. It has no names: predict with ``validate_features=False``.
    """
    X = round_.features
    n_samples, n_labels = round_.before.shape
    n_columns = round_.boosters[0].num_features() - X.shape[1]
    P = np.full((n_samples, n_columns), np.nan, dtype=np.float32)
    P[:, :n_labels] = round_.before[:, :n_columns]
    if not sparse.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), nthread=n_threads)
    row, label = np.nonzero(~np.isnan(P))
    stored = sparse.csr_matrix((P[row, label], (row, label)), shape=P.shape)
    return xgb.DMatrix(sparse.hstack((X, stored), format="csr"), nthread=n_threads)
