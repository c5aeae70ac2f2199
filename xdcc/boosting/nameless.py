"""Boosters that call their columns by position."""

import xgboost as xgb


def nameless(booster: xgb.Booster) -> xgb.Booster:
    """Copy a booster without the names of its features, which are `f0`, `f1` and so on then.

    Our matrices have no names: XGBoost would refuse some that columns of a DataFrame may have.

    Parameters
    ----------
    booster : xgboost.Booster
        Is not changed.

    Returns
    -------
    xgboost.Booster
        It trains and predicts as `booster` does.

    Examples
    --------
    >>> X = pd.DataFrame({"height": [1.5, 1.6, 1.8, 1.9]})
    >>> booster = xgb.train({"min_child_weight": 0}, xgb.DMatrix(X, label=[0, 0, 1, 1]), 1)
    >>> booster.get_score(importance_type="weight")
    {'height': 1.0}
    >>> nameless(booster).get_score(importance_type="weight")
    {'f0': 1.0}
    """
    copy = booster.copy()
    copy.feature_names = None
    return copy
