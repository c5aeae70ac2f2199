"""Boosting rounds without what XGBoost's Python interface checks again in each.

With a few hundred rows a round takes less time than to compare the features' names, to find out
what kind of array the weights are, and to describe the predictions.

:func:`with_own_weights` lets boosters train at the same time on the same bins, each on rows of its
own.
"""

import ctypes
import json

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

from xdcc.base.side_by_side import n_at_once

_AS_MARGINS = json.dumps(
    {"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0, "strict_shape": True}
).encode()


def boost(booster: xgb.Booster, matrix: xgb.DMatrix, round_: int) -> None:
    """Add the trees of a round.

    Examples
    --------
    >>> matrix = xgb.DMatrix(np.eye(4), label=np.array([0, 1, 1, 0]))
    >>> booster = xgb.Booster({"objective": "binary:logistic"}, [matrix])
    >>> boost(booster, matrix, 0)
    >>> booster.num_boosted_rounds()
    1
    """
    _check_call(_LIB.XGBoosterUpdateOneIter(booster.handle, round_, matrix.handle))


def quantised(matrix: xgb.DMatrix, max_bin: int | None) -> xgb.DMatrix:
    """Make a matrix of the bins of another one, with labels and weights of its own.

    Bins that the other one has already are shared, not copied. `max_bin` is as the boosters have
    it, None for their default.
    """
    handle = ctypes.c_void_p()
    config = json.dumps({"max_bin": max_bin}).encode()
    _check_call(_LIB.XDCCQuantiseFeatures(matrix.handle, config, ctypes.byref(handle)))
    return xgb.DMatrix(handle)


def with_own_weights(matrix: xgb.DMatrix, max_bin: int | None, n: int) -> list[xgb.DMatrix]:
    """Make so many matrices of the same bins whose weights can be set at the same time.

    Where nothing runs side by side (:mod:`xdcc.base.side_by_side`), all are the matrix itself.

    Examples
    --------
    >>> from xdcc.base.side_by_side import side_by_side
    >>> matrix = xgb.QuantileDMatrix(np.eye(3), label=np.zeros(3))
    >>> with side_by_side(2):
    ...     first, second = with_own_weights(matrix, None, 2)
    >>> set_weight(first, np.array([1, 0, 2], np.float32))
    >>> second.get_weight().size
    0
    """
    return [matrix] * n if n_at_once() == 1 else [quantised(matrix, max_bin) for _ in range(n)]


def set_weight(matrix: xgb.DMatrix, weight: NDArray[np.floating]) -> None:
    """Replace the weights of the rows of a matrix, `(n_samples,)`.

    Examples
    --------
    >>> matrix = xgb.DMatrix(np.eye(3))
    >>> set_weight(matrix, np.array([1, 0, 2], np.float32))
    >>> matrix.get_weight()
    array([1., 0., 2.], dtype=float32)
    """
    interface = json.dumps(weight.__array_interface__).encode()
    _check_call(_LIB.XGDMatrixSetInfoFromInterface(matrix.handle, b"weight", interface))


def margins_at_hand(booster: xgb.Booster, matrix: xgb.DMatrix) -> NDArray[np.float32]:
    """Get the margins of a matrix, `(n_samples, n_labels)`, until the booster predicts again.

    Examples
    --------
    >>> matrix = xgb.DMatrix(np.eye(2), label=np.array([0, 1]))
    >>> booster = xgb.Booster({"objective": "binary:logistic", "base_score": 0.5}, [matrix])
    >>> margins_at_hand(booster, matrix) + 1
    array([[1.],
           [1.]], dtype=float32)
    """
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
