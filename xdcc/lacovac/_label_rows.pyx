"""Y while a kernel reads it: a `HeldLabels` owns the arrays that its `LabelRows` point into."""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef class HeldLabels:
    """The arrays of Y; see ``_label_rows.pyi``."""

    def __init__(self, Y):
        self._arrays = np.asarray(Y.indptr, np.int64), np.asarray(Y.indices, np.int32)
        cdef const int64_t[::1] start = self._arrays[0]
        cdef const int32_t[::1] label = self._arrays[1]
        self.rows.n_rows, self.rows.n_labels = Y.shape
        self.rows.start = &start[0]
        self.rows.label = &label[0] if label.shape[0] else NULL
