"""Boosting rounds without what XGBoost's Python interface checks again in each.

With a few hundred rows a round takes less time than to compare the features' names, to find out
what kind of array the weights are, and to describe the predictions.
"""

import ctypes
import json

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

_AS_MARGINS = json.dumps(
    {"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0, "strict_shape": True}
).encode()


def boost(booster: xgb.Booster, matrix: xgb.DMatrix, round_: int) -> None:
    """Add the trees of a round."""
    _check_call(_LIB.XGBoosterUpdateOneIter(booster.handle, round_, matrix.handle))


def set_weight(matrix: xgb.DMatrix, weight: NDArray[np.floating]) -> None:
    """Replace the weights of the rows of a matrix, `(n_samples,)`."""
    interface = json.dumps(weight.__array_interface__).encode()
    _check_call(_LIB.XGDMatrixSetInfoFromInterface(matrix.handle, b"weight", interface))


def margins_at_hand(booster: xgb.Booster, matrix: xgb.DMatrix) -> NDArray[np.float32]:
    """Get the margins of a matrix, `(n_samples, n_labels)`, until the booster predicts again."""
    margins, shape = ctypes.POINTER(ctypes.c_float)(), ctypes.POINTER(ctypes.c_uint64)()
    n_axes = ctypes.c_uint64()
    _check_call(
        _LIB.XGBoosterPredictFromDMatrix(
            booster.handle,
            matrix.handle,
            _AS_MARGINS,
            ctypes.byref(shape),
            ctypes.byref(n_axes),
            ctypes.byref(margins),
        )
    )
    return np.ctypeslib.as_array(margins, tuple(shape[: n_axes.value]))
