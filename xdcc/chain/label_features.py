"""``LabelFeatures``: the matrix [X | P] that the boosters of a chain see.

P has a column for each label: its propagated probability, missing while the label is
unknown. Dense data are laid out once, and the propagated values are written into the last
columns in place; sparse data are joined anew for every round, storing known values only, so
that "missing" means the same in both.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.validation import Features


class LabelFeatures:
    """X, augmented by the label features.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Not changed.
    n_labels : int
        Number of label features.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, all NaN at first. Write to it in place.
    """

    P: NDArray[np.float32]

    def __init__(self, X: Features, n_labels: int) -> None:
        n_samples, n_features = X.shape
        self._X = X
        if sparse.issparse(X):
            self.P = np.full((n_samples, n_labels), np.nan, dtype=np.float32)
        else:
            self._joined = np.empty((n_samples, n_features + n_labels), dtype=np.float32)
            self._joined[:, :n_features] = X
            self.P = self._joined[:, n_features:]
            self.P.fill(np.nan)

    def joined(self) -> Features:
        """Return [X | P] as it is now.

        Returns
        -------
        float32 array or CSR matrix of shape (n_samples, n_features + n_labels)
            For dense data a view that later changes of `P` show in.
        """
        if not sparse.issparse(self._X):
            return self._joined
        known = ~np.isnan(self.P)
        per_row = known.sum(axis=1)
        stored = sparse.csr_matrix(
            (self.P[known], known.nonzero()[1], np.concatenate(([0], per_row.cumsum()))),
            shape=self.P.shape,
        )
        return sparse.csr_matrix(sparse.hstack((self._X, stored), format="csr"))
