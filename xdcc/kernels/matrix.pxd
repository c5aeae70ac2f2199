"""Access to X from kernels: a `Matrix` has pointers for the loops, a `HeldMatrix` owns the arrays.

``load_row`` returns a row: a pointer into a dense X, or a dense copy of a sparse row in the memory
of the thread. ``unload_row`` sets this memory back to zero, so the cost depends on the number of
stored values and not on the number of features.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector


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


cdef inline const float* load_row(
    const Matrix* X, vector[float]* memory, int64_t row
) noexcept nogil:
    """Return the features of a row of X, in C order or CSR; `memory` is empty or all zero."""
    cdef int64_t k
    cdef float* values
    if X.dense != NULL:
        return X.dense + row * X.n_features
    if memory.empty():
        memory.assign(X.n_features, 0)
    values = memory.data()
    for k in range(X.indptr[row], X.indptr[row + 1]):
        values[X.indices[k]] = X.data[k]
    return values


cdef inline void unload_row(const Matrix* X, vector[float]* memory, int64_t row) noexcept nogil:
    """Set `memory` back to zero."""
    cdef int64_t k
    cdef float* values
    if X.dense == NULL:
        values = memory.data()
        for k in range(X.indptr[row], X.indptr[row + 1]):
            values[X.indices[k]] = 0
