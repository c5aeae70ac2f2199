"""A multi-label booster as one that an XGBoost without our plugin reads.

The plugin's trees are XGBoost's own, with a value per label in each leaf, and a `base_score` per
label is stored as XGBoost stores it. Only the objective's name and its parameters are the
plugin's; the parameters of its updater are no part of a saved model. So the model's JSON is
rewritten in one place, the objective. (And in a second for margins: there XGBoost's own
`base_score` is a margin, the plugin's a probability.)
"""

import json
from typing import Any

import numpy as np
import xgboost as xgb

_PLUGIN_PREFIX = "multilabel:"
_MARGINS = "multilabel:logitraw"


def stock_booster(booster: xgb.Booster) -> xgb.Booster:
    """Rewrite a booster for an XGBoost without the plugin.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained with one of the plugin's objectives, or with one of XGBoost's own, which stays. It
        is not changed.

    Returns
    -------
    xgboost.Booster
        With the objective ``binary:logistic``, or ``binary:logitraw`` for
        ``multilabel:logitraw``. Stock XGBoost of the same version loads what its `save_model`
        writes. With ``binary:logistic`` its margins are those of `booster`, bit for bit, and its
        probabilities differ by 2e-7 at most, because the plugin computes the logistic function in
        its own way. With ``binary:logitraw`` margins differ by roundings of `base_score`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> stock = stock_booster(model.booster_)
    >>> np.allclose(stock.inplace_predict(data.X), model.predict_proba(data.X))
    True
    """
    model = json.loads(booster.save_raw("json"))
    learner = model["learner"]
    objective = learner["objective"]
    if objective["name"].startswith(_PLUGIN_PREFIX):
        stock_name = "binary:logistic"
        if objective["name"] == _MARGINS:
            stock_name = "binary:logitraw"
            _start_from_margin(learner["learner_model_param"])
        learner["objective"] = {
            "name": stock_name,
            "reg_loss_param": objective["reg_loss_param"],
        }
    stock = xgb.Booster()
    stock.load_model(bytearray(json.dumps(model).encode()))
    return stock


def _start_from_margin(model_param: dict[str, Any]) -> None:
    probability = np.array(json.loads(model_param["base_score"]))
    margin = np.log(probability / (1 - probability)).astype(np.float32)
    model_param["base_score"] = json.dumps(margin.tolist())
