"""``HeldMatrix`` owns the arrays to which its `Matrix` points."""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef class HeldMatrix:
    """The arrays of X; see ``matrix.pyi``."""

    def __init__(self, X, order, sparse_format):
        cdef const float[:, ::1] by_rows
        cdef const float[::1, :] by_columns
        cdef const float[::1] data
        cdef const int32_t[::1] indices
        cdef const int64_t[::1] indptr
        self.matrix.n_rows, self.matrix.n_features = X.shape
        self.matrix.dense = NULL
        self.matrix.data = NULL
        self.matrix.indices = NULL
        self.matrix.indptr = NULL
        if isinstance(X, np.ndarray):
            self._arrays = (X,)
            if order == "C":
                by_rows = X
                self.matrix.dense = &by_rows[0, 0]
            else:
                by_columns = X
                self.matrix.dense = &by_columns[0, 0]
            return
        if X.format != sparse_format:
            raise ValueError(f"X is a {X.format} matrix, but this kernel takes {sparse_format}.")
        # SciPy chooses the integer type of both by the size of the matrix.
        self._arrays = (
            X.data, np.asarray(X.indices, np.int32), np.asarray(X.indptr, np.int64)
        )
        data, indices, indptr = self._arrays
        if data.shape[0]:
            self.matrix.data = &data[0]
            self.matrix.indices = &indices[0]
        self.matrix.indptr = &indptr[0]
