"""``stock_booster``: a booster for XGBoost without the plugin.

The plugin's trees are XGBoost's own, with a value per label in each leaf, and a `base_score` per
label is stored as XGBoost stores it. Parameters of the plugin's updater are not part of a saved
model. Only the objective's name and its parameters are the plugin's. So the JSON of the model is
rewritten in one place, the objective; for margins also in the `base_score`, which is a margin in
XGBoost and a probability in the plugin.
"""

import json
from typing import Any

import numpy as np
import xgboost as xgb

_PLUGIN_PREFIX = "multilabel:"
_MARGINS = "multilabel:logitraw"
_LEAST = np.float32(1e-6)
"""The least probability that the plugin starts from."""


def stock_booster(booster: xgb.Booster) -> xgb.Booster:
    """Rewrite a booster for an XGBoost without the plugin.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained with an objective of the plugin, or with one of XGBoost's own, which is kept. It is
        not changed.

    Returns
    -------
    xgboost.Booster
        With the objective ``binary:logistic``, or ``binary:logitraw`` for
        ``multilabel:logitraw``. Stock XGBoost of the same version loads what its `save_model`
        writes. With ``binary:logistic`` its margins equal those of `booster` bit for bit, and its
        probabilities differ by at most 2e-7, because the plugin rounds differently in the logistic
        function. With ``binary:logitraw`` margins differ by the rounding of `base_score`.

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
    stock.load_model(bytearray(json.dumps(model, ensure_ascii=False).encode()))
    return stock


def _start_from_margin(model_param: dict[str, Any]) -> None:
    probability = np.array(json.loads(model_param["base_score"]))
    # As in the plugin, a label that is always positive, or never, starts from a finite margin.
    probability = np.clip(probability.astype(np.float32), _LEAST, 1 - _LEAST)
    margin = -np.log(1 / probability - 1)
    model_param["base_score"] = json.dumps(margin.tolist())
