"""``LabelFeatures``: the matrix [X | P] that the boosters of a trained chain see.

P has a column for each label: its propagated probability, missing while the label is unknown.
The matrix is laid out once, with a place for everything that the rounds will propagate. Dense
data end in the columns of P. In sparse data each row of X is followed by as many free slots as
its labels may need; a slot that holds NaN is missing to the boosters.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.chain.propagation import NO_LABEL


class LabelFeatures:
    """X, augmented by the label features.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Not changed.
    n_columns : int
        Number of label features.
    n_slots : int
        How many labels will be propagated in a row at most.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_columns)
        Propagated probabilities, NaN where there is none. After changes call `take_in`.
    joined : float32 array or CSR matrix of shape (n_samples, n_features + n_columns)
        [X | P] for ``xgboost.Booster.inplace_predict``. The CSR matrix holds the free slots as
        entries, and a row's labels in the order in which they were propagated.

    Examples
    --------
    >>> features = LabelFeatures(np.array([[0.5], [1.5]], np.float32), n_columns=2, n_slots=1)
    >>> features.P[1, 0] = 0.25
    >>> features.take_in(np.array([[-1], [0]]))
    >>> features.joined
    array([[0.5 ,  nan,  nan],
           [1.5 , 0.25,  nan]], dtype=float32)
    """

    P: NDArray[np.float32]
    joined: Features

    def __init__(self, X: Features, n_columns: int, n_slots: int) -> None:
        n_samples, self._n_features = X.shape
        self._n_slots = n_slots
        self._n_used = 0
        shape = (n_samples, self._n_features + n_columns)
        if sparse.issparse(X):
            self.joined = self._with_slots(X, shape)
            self.P = np.full((n_samples, n_columns), np.nan, dtype=np.float32)
        else:
            self.joined = np.empty(shape, dtype=np.float32)
            self.joined[:, : self._n_features] = X
            self.P = self.joined[:, self._n_features :]
            self.P.fill(np.nan)

    def take_in(self, labels: NDArray[np.intp]) -> None:
        """Take what a round wrote into `P` into the joined matrix.

        Parameters
        ----------
        labels : int array of shape (n_samples, labels_per_round)
            The labels that were newly propagated, `NO_LABEL` where none was. Where a row has
            none at all, the value of an older one may have changed.
        """
        if sparse.issparse(self.joined):
            self._fill_slots(self.joined, labels)
        self._n_used += labels.shape[1]

    def _with_slots(self, X: sparse.csr_matrix, shape: tuple[int, int]) -> sparse.csr_matrix:
        n_rows = X.shape[0]
        free = self._n_slots * np.arange(n_rows + 1)
        of_X = np.arange(X.nnz) + np.repeat(free[:-1], np.diff(X.indptr))
        indptr = X.indptr + free
        indices = np.full(indptr[-1], self._n_features)
        data = np.full(indptr[-1], np.nan, dtype=np.float32)
        indices[of_X] = X.indices[: X.nnz]
        data[of_X] = X.data[: X.nnz]
        return sparse.csr_matrix((data, indices, indptr), shape=shape)

    def _fill_slots(self, joined: sparse.csr_matrix, labels: NDArray[np.intp]) -> None:
        indices, data = joined.indices, joined.data
        first_slot = joined.indptr[1:] - self._n_slots
        row, position = np.nonzero(labels != NO_LABEL)
        new = labels[row, position]
        slot = first_slot[row] + self._n_used + position
        indices[slot] = self._n_features + new
        data[slot] = self.P[row, new]

        row = np.flatnonzero((labels == NO_LABEL).all(axis=1))
        slots = first_slot[row, np.newaxis] + np.arange(self._n_used)
        old, position = np.nonzero(~np.isnan(data[slots]))
        slot = slots[old, position]
        data[slot] = self.P[row[old], indices[slot] - self._n_features]
