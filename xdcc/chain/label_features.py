"""``LabelFeatures``: the matrix [X | P] that the boosters of a trained chain see.

P has a column for each label: its propagated probability, missing while the label is unknown.
The matrix is laid out once, with a place for everything that the rounds will propagate. Dense
data end in the columns of P. In sparse data each row of X is followed by as many free slots as
there are rounds, since a round propagates at most one label; a slot that holds NaN is missing
to the boosters.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.chain.propagation import NO_LABEL, Candidates, propagate
from xdcc.validation import Features


class LabelFeatures:
    """X, augmented by the label features.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Not changed.
    n_labels : int
        Number of label features.
    n_rounds : int
        How often `propagate` will be called at most.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    joined : float32 array or CSR matrix of shape (n_samples, n_features + n_labels)
        [X | P] for ``xgboost.Booster.inplace_predict``. The CSR matrix holds the free slots as
        entries, and a row's labels in the order of their rounds.
    """

    P: NDArray[np.float32]
    joined: Features

    def __init__(self, X: Features, n_labels: int, n_rounds: int) -> None:
        n_samples, self._n_features = X.shape
        self._n_rounds = n_rounds
        self._round = 0
        shape = (n_samples, self._n_features + n_labels)
        if sparse.issparse(X):
            self.joined = self._with_slots(X, shape)
            self.P = np.full((n_samples, n_labels), np.nan, dtype=np.float32)
        else:
            self.joined = np.empty(shape, dtype=np.float32)
            self.joined[:, : self._n_features] = X
            self.P = self.joined[:, self._n_features :]
            self.P.fill(np.nan)

    def propagate(self, Y_proba: NDArray[np.floating], candidates: Candidates) -> NDArray[np.intp]:
        """Propagate at most one label in every row.

        Parameters
        ----------
        Y_proba : float array of shape (n_samples, n_labels)
            The round's predictions.
        candidates : {"open", "all"}
            Which labels compete, see :func:`xdcc.chain.propagation.propagate`.

        Returns
        -------
        int array of shape (n_samples,)
            The label that was newly propagated, `NO_LABEL` where none was.
        """
        label = propagate(self.P, Y_proba, candidates)
        if sparse.issparse(self.joined):
            self._fill_slots(self.joined, label)
        self._round += 1
        return label

    def _with_slots(self, X: sparse.csr_matrix, shape: tuple[int, int]) -> sparse.csr_matrix:
        n_rows = X.shape[0]
        free = self._n_rounds * np.arange(n_rows + 1)
        of_X = np.arange(X.nnz) + np.repeat(free[:-1], np.diff(X.indptr))
        indptr = X.indptr + free
        indices = np.full(indptr[-1], self._n_features)
        data = np.full(indptr[-1], np.nan, dtype=np.float32)
        indices[of_X] = X.indices[: X.nnz]
        data[of_X] = X.data[: X.nnz]
        return sparse.csr_matrix((data, indices, indptr), shape=shape)

    def _fill_slots(self, joined: sparse.csr_matrix, label: NDArray[np.intp]) -> None:
        indices, data = joined.indices, joined.data
        first_slot = joined.indptr[1:] - self._n_rounds
        new = np.flatnonzero(label != NO_LABEL)
        slot = first_slot[new] + self._round
        indices[slot] = self._n_features + label[new]
        data[slot] = self.P[new, label[new]]

        # Where no label is new, the value of an old one may be.
        row = np.flatnonzero(label == NO_LABEL)
        slots = first_slot[row, np.newaxis] + np.arange(self._round)
        position, round_ = np.nonzero(~np.isnan(data[slots]))
        slot = slots[position, round_]
        data[slot] = self.P[row[position], indices[slot] - self._n_features]
