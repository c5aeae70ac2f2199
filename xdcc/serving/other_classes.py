"""Estimators of other libraries that model files can hold, as parts of ours."""

from typing import Annotated, Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn import multioutput
from sklearn.base import BaseEstimator

from xdcc.base.stored import store_other
from xdcc.base.stored_types import OPTIONAL, Permutation

_SEVERAL = {
    "estimators_": list[BaseEstimator],
    "classes_": list[NDArray[Any]],
    "n_features_in_": Annotated[int, OPTIONAL],
}

store_other(
    multioutput.ClassifierChain,
    "sklearn.ClassifierChain",
    multioutput.ClassifierChain._get_param_names(),
    {
        **_SEVERAL,
        "order_": Annotated[NDArray[np.int64], Permutation("estimators_")],
        "chain_method_": Annotated[str, OPTIONAL],
    },
)
store_other(
    multioutput.MultiOutputClassifier,
    "sklearn.MultiOutputClassifier",
    multioutput.MultiOutputClassifier._get_param_names(),
    _SEVERAL,
)
store_other(
    xgb.XGBClassifier,
    "xgboost.XGBClassifier",
    xgb.XGBClassifier().get_params(deep=False),
    {
        "_Booster": xgb.Booster,
        "n_classes_": int,
        "evals_result_": Annotated[dict[str, Any], OPTIONAL],
        "kwargs": Annotated[dict[str, Any], OPTIONAL],
    },
)
