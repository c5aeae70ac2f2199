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
    """
    copy = booster.copy()
    copy.feature_names = None
    return copy
