"""``feature_importance``: how much each round of a chain uses features and propagated labels."""

from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.domains import Choice, check_domain
from xdcc.chain.classifier import DynamicChainClassifier
from xdcc.explain.booster_model import Tree, read_model
from xdcc.explain.rounds import boosters_by_round, feature_names

ImportanceType = Literal["gain", "weight", "total_gain", "cover", "total_cover"]


def feature_importance(
    chain: DynamicChainClassifier,
    importance_type: ImportanceType = "gain",
    *,
    aggregate: bool = False,
) -> pd.DataFrame:
    """Measure how much a chain uses the features of X and the propagated labels.

    Parameters
    ----------
    chain : DynamicChainClassifier
        A fitted chain.
    importance_type : {"gain", "weight", "total_gain", "cover", "total_cover"}, default="gain"
        As in `xgboost.Booster.get_score`: ``"weight"`` is the number of splits on a feature,
        ``"total_gain"`` the sum of their gains, ``"total_cover"`` that of the Hessians of the
        nodes that they split, averaged over the labels; ``"gain"`` and ``"cover"`` are these
        sums divided by the number of splits. Gains are those of the split method that the chain
        was trained with.
    aggregate : bool, default=False
        Whether to take all rounds together. Sums run over all boosters of a round, or over
        those of all rounds.

    Returns
    -------
    DataFrame
        A row for each round (not with `aggregate`) and each feature that is used in a split:
        `round` (from 1, not with `aggregate`), `kind` ("feature" for a column of X, "label" for
        a propagated label), `name`, `importance`. Features come in the order of X's columns,
        then labels in theirs.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    TypeError
        If `boosters_` is not a list of lists.
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
    check_domain("importance_type", importance_type, Choice(get_args(ImportanceType)))
    rounds = [
        [tree for booster in boosters for trees in read_model(booster).iterations for tree in trees]
        for boosters in boosters_by_round(chain)
    ]
    if aggregate:
        rounds = [[tree for trees in rounds for tree in trees]]
    names = [*feature_names(chain), *(str(name) for name in chain.label_names_)]
    frames = []
    for number, trees in enumerate(rounds, start=1):
        importance = _importance(trees, len(names), importance_type)
        used = np.flatnonzero(~np.isnan(importance))
        frames.append(
            pd.DataFrame(
                {
                    "round": np.full(len(used), number),
                    "kind": np.where(used < chain.n_features_in_, "feature", "label"),
                    "name": np.array(names, dtype=object)[used],
                    "importance": importance[used],
                }
            )
        )
    table = pd.concat(frames, ignore_index=True)
    return table.drop(columns="round") if aggregate else table


def _importance(
    trees: list[Tree], n_columns: int, importance_type: ImportanceType
) -> NDArray[np.float64]:
    """Score each column, (n_columns,), NaN where no split uses it."""
    feature = np.concatenate([tree.feature[tree.splits] for tree in trees])
    n_splits = np.bincount(feature, minlength=n_columns).astype(np.float64)
    if importance_type == "weight":
        return np.where(n_splits > 0, n_splits, np.nan)
    values = "gain" if importance_type.endswith("gain") else "cover"
    of_split = np.concatenate([getattr(tree, values)[tree.splits] for tree in trees])
    total = np.bincount(feature, of_split, minlength=n_columns)
    divisor = 1.0 if importance_type.startswith("total") else n_splits
    return np.divide(total, divisor, out=np.full(n_columns, np.nan), where=n_splits > 0)
