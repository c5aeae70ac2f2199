"""X as a kernel reads it: pointers without an owner for the loops, and who keeps them alive."""

from libc.stdint cimport int32_t, int64_t


cdef struct Matrix:
    int64_t n_rows
    int64_t n_features
    const float* dense             # [n_rows, n_features] or transposed; NULL if X is sparse
    const float* data              # values that a sparse X stores: [indptr[-1]]
    const int32_t* indices         # their columns (CSR) or rows (CSC)
    const int64_t* indptr          # [n_rows + 1] (CSR) or [n_features + 1] (CSC)


cdef class HeldMatrix:
    cdef Matrix matrix
    cdef tuple _arrays
