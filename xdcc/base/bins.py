"""The bins of X, made once for all boosters that are trained on it.

Finding the bins of 300,000 rows and 100 features takes as long as fifty boosting rounds. Boosters
of several folds, seeds and candidates have the same bins, so :class:`SharedBins` keeps them with
the training data (:class:`~xdcc.base.fit_data.FitData`).
"""

import operator
import threading
from collections.abc import Callable
from typing import Any

from xdcc.base.libraries import xgb


class SharedBins:
    """Matrices of the same rows, one for each number of bins.

    They are not to be changed: a training that sets weights takes a copy, which shares the bins
    (:func:`~xdcc.base.rounds.with_own_weights`). Data that are derived from these have bins of
    their own, and those of some of the rows share none.

    Examples
    --------
    >>> from xdcc.base.fit_data import FitData
    >>> X = np.eye(3, dtype=np.float32)
    >>> data = FitData(X, X, None, bins=SharedBins())
    >>> data.binned(64) is data.binned(64), data.binned(64) is data.take([0, 1, 2]).binned(64)
    (True, False)
    """

    def __init__(self) -> None:
        self._arrays: tuple[Any, ...] = ()
        self._made: dict[int, xgb.QuantileDMatrix] = {}
        self._lock = threading.Lock()

    def matrix(
        self, arrays: tuple[Any, ...], max_bin: int, make: "Callable[[], xgb.QuantileDMatrix]"
    ) -> "xgb.QuantileDMatrix":
        """Return the matrix of the first arrays that were asked for, or make one of others.

        Parameters
        ----------
        arrays : tuple
            Features, labels and weights.
        max_bin : int
            Largest number of bins per feature.
        make : callable
            Makes the matrix.
        """
        with self._lock:
            self._arrays = self._arrays or arrays
            if not all(map(operator.is_, arrays, self._arrays)):
                return make()
            if max_bin not in self._made:
                self._made[max_bin] = make()
            return self._made[max_bin]
