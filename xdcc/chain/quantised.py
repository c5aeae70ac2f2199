"""``QuantisedFeatures``: the bins of X, made once and joined with the label features of a round.

XGBoost sorts the values of every feature into bins before it grows trees. In a chain X stays
and only the label features P change, so the project's XGBoost has two functions of its own
(``plugins/multilabel/joined_matrix.cc``): one makes the bins of X, the other a matrix of
[X | P] for the booster that copies them. The boosters are those that a new matrix of [X | P]
would give.
"""

import ctypes
import json

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

from xdcc.base.fit_data import FitData


class QuantisedFeatures:
    """The features of the training data as bins, with labels and weights.

    Parameters
    ----------
    data : FitData
        Checked training data.
    max_bin : int or None
        Largest number of bins per feature, as the boosters have it. None is their default.
    n_threads : int or None
        Number of threads, all if None.
    """

    def __init__(self, data: FitData, *, max_bin: int | None, n_threads: int | None) -> None:
        matrix = xgb.DMatrix(
            data.X,
            label=data.Y,
            weight=data.sample_weight,
            feature_types=data.feature_types,
            nthread=n_threads,
        )
        handle = ctypes.c_void_p()
        config = json.dumps({"max_bin": max_bin}).encode()
        _check_call(_LIB.XDCCQuantiseFeatures(matrix.handle, config, ctypes.byref(handle)))
        self._features = xgb.DMatrix(handle)

    def joined(self, P: NDArray[np.float32]) -> xgb.DMatrix:
        """Make the matrix of a round.

        It takes over the memory of the matrix before, if that was deleted. In distributed
        training all workers have to call this together.

        Parameters
        ----------
        P : float32 array of shape (n_samples, n_labels)
            Label features, contiguous, NaN where missing.

        Returns
        -------
        xgboost.DMatrix
            Bins of [X | P]. It can train and predict; it does not give values of features back.

        Raises
        ------
        xgboost.core.XGBoostError
            If P has another number of rows than X or is not as described.
        """
        handle = ctypes.c_void_p()
        interface = json.dumps(P.__array_interface__).encode()
        _check_call(_LIB.XDCCJoinFeatures(self._features.handle, interface, ctypes.byref(handle)))
        return xgb.DMatrix(handle)
