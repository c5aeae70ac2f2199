"""How much features and propagated labels count: in the splits of each round, and by SHAP values.

:func:`feature_importance` is XGBoost's, of the boosters of a round together. :func:`shap_values`
tells what every feature and every propagated label adds to a prediction. XGBoost computes the SHAP
values of trees exactly, and can do so for every label of trees with vectors in their leaves. The
values of a label add up to its margin, the log-odds of its probability. In a round of several
boosters probabilities are averaged, which is no sum of features; the values there are those of the
mean of the boosters' margins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.domains import Choice, Number, check_domain
from xdcc.base.threads import n_threads
from xdcc.boosting.importance import IMPORTANCE_TYPES, ImportanceType, column_importance
from xdcc.explain.walks import Model, Round, Walk, documented_explanation, round_matrix, walk_of


@dataclass(frozen=True)
class ShapValues:
    """SHAP values of a model, in log-odds.

    Attributes
    ----------
    values : float32 array of shape (n_samples, n_labels, n_features + n_propagated + 1)
        For every row and predicted label: what each feature of X adds, then each propagated
        label (n_propagated is n_labels in a chain, 0 in a single booster), then the bias, the
        expected margin. A label that is still open can add something
        too: that it is open tells the boosters something.
    feature_names : list of str
        Names of the features.
    label_names : list of str
        Names of the labels: of those predicted, and of the propagated ones.
    round : int or None
        The round that is explained, from 1; None if each label is explained by the round that
        decided it.

    Examples
    --------
    >>> values = ShapValues(
    ...     values=np.array([[[0.5, 0.0, -1.0]]], dtype=np.float32),
    ...     feature_names=["x0"],
    ...     label_names=["y0"],
    ...     round=1,
    ... )
    >>> values.values.sum(axis=2)  # margins
    array([[-0.5]], dtype=float32)
    """

    values: NDArray[np.float32]
    feature_names: list[str]
    label_names: list[str]
    round: int | None

    @property
    def of_features(self) -> NDArray[np.float32]:
        """The part of the features of X, (n_samples, n_labels, n_features)."""
        return self.values[:, :, : len(self.feature_names)]

    @property
    def of_labels(self) -> NDArray[np.float32]:
        """The part of the propagated labels, (n_samples, n_labels, n_propagated)."""
        return self.values[:, :, len(self.feature_names) : -1]

    @property
    def propagated_names(self) -> list[str]:
        """Names of the propagated labels: those of all labels, or none for a single booster."""
        return self.label_names[: self.of_labels.shape[2]]

    @property
    def bias(self) -> NDArray[np.float32]:
        """The expected margin, (n_samples, n_labels)."""
        return self.values[:, :, -1]


@documented_explanation
def shap_values(model: Model, X: Any, round_: int | None = None) -> ShapValues:
    """Explain the predictions of a model by SHAP values.

    Label features are what the chain itself propagated before the round. That a propagated
    label in turn depends on X is not followed further. Takes memory for n_samples * n_labels *
    (n_features + n_propagated + 1) numbers, and much more time than predicting.

    Parameters
    ----------
    {model}
    {rows}
    round_ : int, optional
        The round to explain, from 1. By default each label of a row is explained by the round
        that propagated it; if none did, by the last round that the row took part in.

    Returns
    -------
    ShapValues
        Their sum over the last axis is the margin of the round's booster, or the mean margin of
        its boosters. The end label, if the chain has one, is not explained.

    Raises
    ------
    {model_errors}
    ValueError
        If `round_` is not one of the chain's, or X is not as described or has another number of
        features than in `fit`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=4, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> shap_values(chain.fit(data.X, data.Y), data.X).values.shape
    (100, 3, 8)
    """
    walk = walk_of(model)
    if round_ is not None:
        check_domain("round_", round_, Number(low=1, high=walk.n_rounds, whole=True))
    for here in walk.rounds(X):
        if round_ is None:
            found = _of_round(here, walk, model.n_jobs)
            if here.number == 1:
                values = np.zeros_like(found)
            values[here.open] = found[here.open]
        elif round_ == here.number:
            values = _of_round(here, walk, model.n_jobs)
            break
    return ShapValues(values, walk.feature_names, walk.label_names, round_)


def _of_round(round_: Round, walk: Walk, n_jobs: int | None) -> NDArray[np.float32]:
    """Compute SHAP values, (n_samples, n_labels, n_columns), without those of an end label."""
    n_before_bias = len(walk.feature_names) + len(walk.propagated_names)
    values = np.zeros((*round_.before.shape, n_before_bias + 1), dtype=np.float32)
    if round_.start is not None:
        values[:, :, -1] = round_.start
    if not round_.boosters:
        return values
    weights = round_.weights
    if weights is None:
        weights = np.full((len(round_.boosters), len(walk.labels)), 1 / len(round_.boosters))
    matrix = round_matrix(round_, n_threads(n_jobs))
    # The column of an end label, before the bias, is 0 everywhere.
    shown = [*range(n_before_bias), -1]
    for booster, weight in zip(round_.boosters, weights, strict=True):
        found = booster.predict(
            matrix, pred_contribs=True, validate_features=False, strict_shape=True
        )
        values += weight[:, np.newaxis] * found[:, walk.outputs][:, :, shown]
    return values


@documented_explanation
def feature_importance(
    model: Model,
    importance_type: ImportanceType = "gain",
    *,
    aggregate: bool = False,
) -> pd.DataFrame:
    """Measure how much a model uses the features of X and the propagated labels.

    Parameters
    ----------
    {model}
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}, default="gain"
        As in `xgboost.Booster.get_score`, see
        :func:`xdcc.boosting.importance.column_importance`.
    aggregate : bool, default=False
        Whether to take all rounds together. Sums run over all boosters of a round, or over
        those of all rounds.

    Returns
    -------
    DataFrame
        A row for each round (not with `aggregate`) and each feature that is used in a split:
        `round` (from 1, not with `aggregate`), `kind` ("feature" for a column of X, "label" for
        a propagated label), `name`, `importance`. Features come in the order of X's columns,
        then labels in theirs. An order-free chain has one booster for all rounds, and as features
        the margins of its labels.

    Raises
    ------
    {model_errors}
    ValueError
        If `importance_type` is unknown.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> importance = feature_importance(chain.fit(data.X, data.Y))
    >>> importance.columns.tolist(), importance["kind"].unique().tolist()
    (['round', 'kind', 'name', 'importance'], ['feature', 'label'])
    """
    check_domain("importance_type", importance_type, Choice(IMPORTANCE_TYPES))
    walk = walk_of(model)
    rounds, n_features = walk.boosters, len(walk.feature_names)
    if aggregate:
        rounds = [[booster for boosters in rounds for booster in boosters]]
    names = [*walk.feature_names, *walk.propagated_names]
    frames = []
    for number, boosters in enumerate(rounds, start=1):
        importance = column_importance(boosters, len(names), importance_type)
        used = np.flatnonzero(~np.isnan(importance))
        frames.append(
            pd.DataFrame(
                {
                    "round": np.full(len(used), number),
                    "kind": np.where(used < n_features, "feature", "label"),
                    "name": np.array(names, dtype=object)[used],
                    "importance": importance[used],
                }
            )
        )
    table = pd.concat(frames, ignore_index=True)
    return table.drop(columns="round") if aggregate else table
