"""``RowReader``: rows that kernels can take as they are, in a few microseconds.

For single rows, the check of X (:mod:`xdcc.base.features`) takes longer than the prediction: it
copies a frame and looks at each column several times. The reader takes arrays, sparse matrices and
frames that have the form of those in ``fit``. What it does not take goes through the check, which
also raises the errors.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features, check_sparse_structure
from xdcc.base.kept import kept

_FEW_ROWS = 8
"""From here on the check, which works by columns, takes less time for frames."""

_LARGEST = np.finfo(np.float32).max
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class RowReader:
    """Reads rows that have the form of those in ``fit``.

    Parameters
    ----------
    form : object
        Has what an estimator has learned about X, as attributes.
    sparse_zeros : str or None
        What entries mean that a sparse X does not store, see :mod:`xdcc.base.features`.
    warns_of_names : bool
        Whether the check warns of an array if X had names in ``fit``.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(50, n_labels=2, random_state=0)
    >>> reader = RowReader.of(xdcc.MultiLabelXGBClassifier(n_estimators=2).fit(data.X, data.Y))
    >>> reader.read(data.X) is data.X, reader.read(data.X.tolist())
    (True, None)
    """

    def __init__(self, form: Any, sparse_zeros: str | None, *, warns_of_names: bool) -> None:
        names, categories = getattr(form, "feature_names_in_", None), _categories(form)
        fitted_on_sparse = sparse_zeros == "missing" and form.sparse_X_
        self._n_features = form.n_features_in_
        is_plain = categories is None and not (warns_of_names and names is not None)
        self._takes_arrays = is_plain and not fitted_on_sparse
        self._takes_csr = is_plain and (sparse_zeros is None or fitted_on_sparse)
        self._frames = None
        if names is not None and not fitted_on_sparse:
            self._frames = FrameReader(names.tolist(), categories or {})

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """Get the reader of a fitted estimator; None before ``fit``."""
        learned = vars(model)
        if "n_features_in_" not in learned:
            return None
        zeros = model._sparse_zeros()
        made_from = (
            learned["n_features_in_"],
            learned.get("feature_names_in_"),
            learned.get("categories_"),
            learned.get("sparse_X_"),
            zeros,
        )
        return kept(model, "reader", made_from, lambda: cls(model, zeros, warns_of_names=True))

    def read(self, X: Any) -> Any:
        """Return an array of any strides or a CSR matrix, or None if X has to be checked.

        Entries may be infinite, and a matrix need not be canonical: the kernels of
        :mod:`xdcc.prediction` reject these.
        """
        if type(X) is np.ndarray:
            return X if self._takes_arrays and self._is_table(X) and X.dtype in _FLOATS else None
        if type(X) is pd.DataFrame:
            return None if self._frames is None else self._frames.read(X)
        return X if self._takes_csr and _is_single_csr(X) and self._is_table(X) else None

    def read_checked(self, X: Any) -> Features | None:
        """Return rows as :func:`~xdcc.base.features.check_features` does, or None."""
        rows = self.read(X)
        return None if rows is None else checked_rows(rows, self._n_features)

    def _is_table(self, X: Any) -> bool:
        return X.ndim == 2 and X.shape[1] == self._n_features and X.shape[0] > 0


def checked_rows(rows: Any, n_features: int) -> Features | None:
    """Return rows that were read in the form of checked ones; None if they have to be checked.

    Examples
    --------
    >>> checked_rows(np.array([[1.5, 2.5]]), n_features=2)
    array([[1.5, 2.5]], dtype=float32)
    """
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != n_features:
        return None
    if sparse.issparse(rows):
        check_sparse_structure("X", rows)
        is_checked = rows.has_canonical_format and not np.isinf(rows.data).any()
        return sparse.csr_matrix(rows) if is_checked else None
    if rows.dtype not in _FLOATS:
        return None
    with np.errstate(over="ignore"):  # infinity is reported by the later check
        rows = np.ascontiguousarray(rows, np.float32)
    return None if np.isinf(rows).any() else rows


def _categories(form: Any) -> dict[int, NDArray[Any]] | None:
    return getattr(form, "categories_", None)


def _is_single_csr(X: Any) -> bool:
    """Tell whether X is a CSR matrix of the types that kernels read."""
    return (
        isinstance(X, sparse.csr_matrix | sparse.csr_array)
        and X.ndim == 2
        and X.data.dtype == np.float32
        and X.indices.dtype == np.int32
    )


class FrameReader:
    """Reads frames that have the columns of ``fit``.

    Parameters
    ----------
    names : list of str
        Names of the features.
    categories : dict of int to array
        Categories of the columns that have any, as estimators keep them.

    Examples
    --------
    >>> reader = FrameReader(["size", "colour"], {1: np.array(["blue", "red"])})
    >>> reader.read(pd.DataFrame({"size": [1.5], "colour": ["red"]}))
    array([[1.5, 1. ]])
    """

    def __init__(self, names: list[str], categories: dict[int, NDArray[Any]]) -> None:
        self._names = names
        self._codes = {
            position: {value: float(code) for code, value in enumerate(values.tolist())}
            for position, values in categories.items()
        }

    def read(self, X: pd.DataFrame) -> NDArray[np.number] | None:
        """Return an array of the numbers and codes, or None if X has to be checked."""
        if X.columns.tolist() != self._names or not len(X):
            return None
        objects = self._columns_of_objects(X)
        if objects is None:
            return None
        if not self._codes and not objects:
            rows = X.to_numpy(np.float64)
        else:
            if len(X) > _FEW_ROWS:
                return None
            read = [self._numbers(X.iloc[row].tolist(), objects) for row in range(len(X))]
            if None in read:
                return None
            rows = np.array(read, np.float64)
        return None if (np.abs(rows) > _LARGEST).any() else rows

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
