"""The rounds of a fitted model, walked through with some rows: what the boosters of each saw.

Every explanation starts here. :func:`walk_rounds` gives for each round its boosters, the
propagated labels that they had as features and those that stood after it; :func:`round_matrix`
makes the matrix that they predict from. Label features are what the chain itself predicts for
the rows, never their true labels.

A single booster is a chain of one round without label features, which decides every label. Only
this file tells the two apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.base.features import Features
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.explain.documentation import documented_explanation

type Model = DynamicChainClassifier | MultiLabelXGBClassifier


@dataclass(frozen=True)
class Round:
    """A round and where the rows stood.

    Attributes
    ----------
    number : int
        Counted from 1.
    boosters : list of xgboost.Booster
        At least one. Their probabilities are averaged.
    before : float32 array of shape (n_samples, n_labels)
        Propagated probabilities that the boosters saw, NaN where there was none.
    after : float32 array of shape (n_samples, n_labels)
        The same when the round was over.
    ended : bool array of shape (n_samples,)
        Rows that an end label had ended before the round; it did nothing to them.
    """

    number: int
    boosters: list[xgb.Booster]
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    ended: NDArray[np.bool_]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Labels that the round could still decide, (n_samples, n_labels)."""
        return np.isnan(self.before) & ~self.ended[:, np.newaxis]


@documented_explanation
def walk_rounds(model: Model, X: Any) -> Iterator[Round]:
    """Walk through the rounds of a model.

    Parameters
    ----------
    {model}
    {rows}

    Yields
    ------
    Round
        Its arrays are not changed later.

    Raises
    ------
    {model_errors}
    ValueError
        If X is not as described or has another number of features than in `fit`.
    """
    rounds = boosters_by_round(model)
    features = model._check_X(X)
    before = np.full((features.shape[0], model.n_labels_), np.nan, dtype=np.float32)
    ended = np.zeros(len(before), dtype=bool)
    states = zip(rounds, _states(model, features), strict=True)
    for number, (boosters, (after, ended_after)) in enumerate(states, start=1):
        yield Round(number, boosters, before, after, ended)
        before, ended = after, ended_after


def _states(model: Model, X: Features) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """Yield what is propagated, and which rows have ended, after each round."""
    if isinstance(model, MultiLabelXGBClassifier):
        yield model._proba(X), np.zeros(X.shape[0], dtype=bool)
        return
    for state in model._run(X):
        yield state.P.copy(), state.ended.copy()


@documented_explanation
def boosters_by_round(model: Model) -> list[list[xgb.Booster]]:
    """Get the boosters of each round.

    {takes_model}

    Returns
    -------
    list of lists of xgboost.Booster
        For each round one booster, or one for each fold. A booster that stopped early has the
        trees that it predicts with.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model is something else, or `boosters_` of a chain is not a list of lists. A flat
        list must not pass: a booster can itself be iterated over, which gives its iterations.
    """
    if isinstance(model, MultiLabelXGBClassifier):
        check_is_fitted(model)
        return [[model.booster_[: model.best_iteration_ + 1]]]
    if not isinstance(model, DynamicChainClassifier):
        raise TypeError(
            "xdcc.explain explains a DynamicChainClassifier or a MultiLabelXGBClassifier, not a "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    for number, boosters in enumerate(model.boosters_, start=1):
        if not isinstance(boosters, list):
            raise TypeError(
                f"boosters_ holds a {type(boosters).__name__} for round {number}; it has to hold "
                "a list of boosters for each round. Fit the chain again with this version of xdcc."
            )
    return model.boosters_


@documented_explanation
def propagated_labels(model: Model) -> list[str]:
    """Name the labels that boosters have as features, those of a first round as missing values.

    {takes_model}

    Returns
    -------
    list of str
        All labels of a chain, without the end label; none of a single booster.
    """
    if isinstance(model, MultiLabelXGBClassifier):
        return []
    return [str(name) for name in model.label_names_]


def round_matrix(X: Features, round_: Round, n_threads: int | None) -> xgb.DMatrix:
    """Make the matrix that the boosters of a round predict from.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Checked features.
    round_ : Round
        The round.
    n_threads : int or None
        Number of threads, all if None.

    Returns
    -------
    xgboost.DMatrix
        [X | propagated probabilities], X alone for a single booster; the column of an end label
        is missing everywhere. It has no names: predict with ``validate_features=False``.
    """
    n_samples, n_labels = round_.before.shape
    n_columns = round_.boosters[0].num_features() - X.shape[1]
    P = np.full((n_samples, n_columns), np.nan, dtype=np.float32)
    P[:, :n_labels] = round_.before[:, :n_columns]
    if not sparse.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), nthread=n_threads)
    row, label = np.nonzero(~np.isnan(P))
    stored = sparse.csr_matrix((P[row, label], (row, label)), shape=P.shape)
    return xgb.DMatrix(sparse.hstack((X, stored), format="csr"), nthread=n_threads)


@documented_explanation
def feature_names(model: Model) -> list[str]:
    """Name the features of X.

    {takes_model}

    Returns
    -------
    list of str
        Column names of the DataFrame that `fit` got, else `f0`, `f1` and so on.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"f{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]
