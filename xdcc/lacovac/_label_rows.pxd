"""The labels of the training rows, as a kernel reads them: pointers, and who keeps them alive."""

from libc.stdint cimport int32_t, int64_t


cdef struct LabelRows:
    int64_t n_rows
    int64_t n_labels
    const int64_t* start           # row i has label[start[i] : start[i + 1]], ascending
    const int32_t* label


cdef class HeldLabels:
    cdef LabelRows rows
    cdef tuple _arrays
