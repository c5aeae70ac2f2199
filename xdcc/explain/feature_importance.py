"""``feature_importance``: how much each round uses features and propagated labels."""

import numpy as np
import pandas as pd

from xdcc.base.domains import Choice, check_domain
from xdcc.boosting.importance import IMPORTANCE_TYPES, ImportanceType, column_importance
from xdcc.explain.walks import Model, documented_explanation, walk_of


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
