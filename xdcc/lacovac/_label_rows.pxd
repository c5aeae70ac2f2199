"""The labels of the training rows, as a kernel reads them."""

from libc.stdint cimport int32_t, int64_t


cdef struct LabelRows:
    int64_t n_rows
    int64_t n_labels
    const int64_t* start           # row i has label[start[i] : start[i + 1]], ascending
    const int32_t* label


cdef inline LabelRows label_rows_of(
    const int64_t[::1] start, const int32_t[::1] label, int64_t n_labels
) noexcept:
    """Point at the parts of a CSR matrix, which have to stay alive."""
    cdef LabelRows Y
    Y.n_rows = start.shape[0] - 1
    Y.n_labels = n_labels
    Y.start = &start[0]
    Y.label = &label[0] if label.shape[0] else NULL
    return Y
