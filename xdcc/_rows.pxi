# How kernels read X row by row: a sparse row is made dense while it is read.

cdef cppclass Rows:
    """X, dense in C order or CSR."""
    int64_t n_features
    const float* dense
    const float* data
    const int32_t* indices
    const int64_t* indptr


cdef Rows _rows(X, X_parts, int64_t n_features):
    cdef Rows rows
    cdef const float[:, ::1] dense
    cdef const float[::1] data
    cdef const int32_t[::1] indices
    cdef const int64_t[::1] indptr
    rows.n_features = n_features
    rows.dense = NULL
    rows.data = NULL
    rows.indices = NULL
    if X is not None:
        dense = X
        rows.dense = &dense[0, 0]
    else:
        data, indices, indptr = X_parts
        if data.shape[0]:
            rows.data = &data[0]
            rows.indices = &indices[0]
        rows.indptr = &indptr[0]
    return rows


cdef const float* _load(const Rows* X, vector[float]* x, int64_t row) noexcept nogil:
    """Features of a row; `x` is the thread's memory for one, all zero if it is not empty."""
    cdef int64_t k
    if X.dense != NULL:
        return X.dense + row * X.n_features
    if x.empty():
        x.assign(X.n_features, 0)
    cdef float* values = x.data()
    for k in range(X.indptr[row], X.indptr[row + 1]):
        values[X.indices[k]] = X.data[k]
    return values


cdef void _unload(const Rows* X, vector[float]* x, int64_t row) noexcept nogil:
    """Make `x` zero again."""
    cdef int64_t k
    cdef float* values
    if X.dense == NULL:
        values = x.data()
        for k in range(X.indptr[row], X.indptr[row + 1]):
            values[X.indices[k]] = 0
