"""A multi-label booster as a Treelite model, which carries the vectors in its leaves.

Treelite compiles tree models and predicts with them apart from XGBoost. It knows XGBoost's
objectives, not the plugin's, so the booster is rewritten first (``stock_booster.py``). A chain is
one such model for each booster, with the loop of ``stock_chain.py`` around them.
"""

from typing import Any

import xgboost as xgb

from xdcc.serving.stock_booster import stock_booster


def to_treelite(booster: xgb.Booster) -> Any:
    """Turn a booster into a Treelite model.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained with one of the plugin's objectives, or with XGBoost's ``binary:logistic``.

    Returns
    -------
    treelite.Model
        ``treelite.gtil.predict(model, X)`` gives probabilities of shape (n_samples, n_labels, 1)
        for float32 X.

    Raises
    ------
    ImportError
        If Treelite is not installed.

    Examples
    --------
    >>> import treelite
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> trees = to_treelite(model.booster_)
    >>> treelite.gtil.predict(trees, data.X.astype(np.float32)).shape
    (100, 3, 1)
    """
    try:
        import treelite
    except ImportError as error:
        raise ImportError("to_treelite needs Treelite: pip install treelite") from error
    return treelite.frontend.from_xgboost(stock_booster(booster))
