"""``Shape``: the sizes of training data, by which costs are estimated equally on every machine."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from xdcc.base.fit_data import FitData
from xdcc.base.workers import sum_of_all


class Shape(NamedTuple):
    """The sizes of the training data.

    Attributes
    ----------
    n_rows, n_features, n_labels : int
        The shape of X and Y.
    n_entries : int
        Entries of X that are stored.
    n_folds : int
        Number of folds; 1 if one part of the rows is enough to compare candidates.

    Examples
    --------
    >>> Shape(n_rows=400, n_features=70, n_labels=6, n_entries=28_000, n_folds=5).n_labels
    6
    """

    n_rows: int
    n_features: int
    n_labels: int
    n_entries: int
    n_folds: int

    @classmethod
    def of(cls, data: FitData, n_folds: int) -> "Shape":
        """Measure the data of all workers.

        Examples
        --------
        >>> Shape.of(FitData(np.ones((4, 3), np.float32), np.ones((4, 2), np.float32), None), 2)
        Shape(n_rows=4, n_features=3, n_labels=2, n_entries=12, n_folds=2)
        """
        n_rows, n_features = data.X.shape
        n_entries = data.X.nnz if sparse.issparse(data.X) else n_rows * n_features
        n_rows, n_entries = sum_of_all(np.array([n_rows, n_entries])).tolist()
        return cls(n_rows, n_features, data.Y.shape[1], n_entries, n_folds)
