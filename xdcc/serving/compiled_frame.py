"""``FrameReader``: rows of a pandas DataFrame as numbers, without making other frames of them.

For single rows, the input check of estimators is expensive: it copies the frame and looks at each
column several times. Frames that the reader rejects go through that check, which also raises the
errors.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_FEW_ROWS = 8
"""From here on the check, which works by columns, takes less time."""


class FrameReader:
    """Reads frames that have the columns of ``fit``.

    Parameters
    ----------
    names : list of str
        Names of the features.
    categories : dict of int to array
        Categories of the columns that have any, as estimators keep them.
    """

    def __init__(self, names: list[str], categories: dict[int, NDArray[Any]]) -> None:
        self._names = names
        self._codes = {
            position: {value: float(code) for code, value in enumerate(values.tolist())}
            for position, values in categories.items()
        }

    @classmethod
    def of(cls, checker: Any) -> Self | None:
        """Make the reader for what an estimator was fitted on; None if that had no names."""
        if not hasattr(checker, "feature_names_in_"):
            return None
        return cls(checker.feature_names_in_.tolist(), getattr(checker, "categories_", {}))

    def read(self, X: pd.DataFrame) -> NDArray[np.number] | None:
        """Return an array of the numbers and codes, or None if X has to be checked."""
        if X.columns.tolist() != self._names or not len(X):
            return None
        objects = self._columns_of_objects(X)
        if objects is None:
            return None
        if not self._codes and not objects:
            return X.to_numpy(np.float64)
        if len(X) > _FEW_ROWS:
            return None
        rows = [self._numbers(X.iloc[row].tolist(), objects) for row in range(len(X))]
        return None if None in rows else np.array(rows, np.float64)

    def _columns_of_objects(self, X: pd.DataFrame) -> list[int] | None:
        """Return the columns that may have other values than numbers; None if they surely do."""
        objects = []
        for position, dtype in enumerate(X.dtypes):
            if position in self._codes:
                continue
            if not isinstance(dtype, np.dtype) or dtype.kind not in "biufO":
                return None
            if dtype.kind == "O":
                objects.append(position)
        return objects

    def _numbers(self, row: list[Any], objects: list[int]) -> list[float] | None:
        """Return the numbers of a row, or None if it has other values."""
        for position, codes in self._codes.items():
            value = row[position]
            if isinstance(value, str) and value in codes:
                row[position] = codes[value]
            elif _is_missing(value):
                row[position] = np.nan
            else:
                return None
        for position in objects:
            if row[position] is None:
                row[position] = np.nan
            elif not isinstance(row[position], float | int):
                return None
        return row


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
