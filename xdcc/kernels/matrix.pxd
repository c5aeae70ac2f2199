"""X as a kernel reads it: pointers without an owner for the loops, and who keeps them alive.

It may be read row by row: a row of a dense X is where it lies, a sparse one is made dense. A thread
has memory for one row. What ``load_row`` writes into it ``unload_row`` makes zero again, so a
sparse row costs its stored values and not the number of features.
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
    """Features of a row of X, in C order or CSR; `memory` is empty or all zero."""
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
    """Make `memory` zero again."""
    cdef int64_t k
    cdef float* values
    if X.dense == NULL:
        values = memory.data()
        for k in range(X.indptr[row], X.indptr[row + 1]):
            values[X.indices[k]] = 0
