"""Training data and settings of label trees, read by all threads."""

from libc.stdint cimport int32_t, int64_t

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix

cdef enum:
    # The kinds of nodes, in Python ``_growing.KINDS``.
    LEAF = 0
    VERTICAL = 1
    NUMERIC = 2
    NOMINAL = 3

cdef enum:
    COVARIANCE = 0
    VARIANCE = 1
    GAIN_RATIO = 2

cdef enum:
    TOGETHER = 0
    SINGLE_LINKAGE = 1
    ALL_OR_NONE = 2


cdef struct Rules:
    # The fields of `GrowthRules` in ``tree.py``.
    int criterion
    int clustering
    bint threshold_of_train        # whether λ depends on the number of training rows, not the node
    int64_t max_depth              # -1 for no limit
    int64_t min_samples_split
    int64_t min_samples_leaf
    int64_t max_features           # 0 for all


cdef struct LabelRows:
    # The positive labels of each training row.
    int64_t n_rows
    int64_t n_labels
    const int64_t* start           # row i has label[start[i] : start[i + 1]], ascending
    const int32_t* label


cdef inline LabelRows label_rows_of(
    const int64_t[::1] start, const int32_t[::1] label, int64_t n_labels
) noexcept:
    """Point to the indices of a CSR matrix, which must stay alive."""
    cdef LabelRows rows
    rows.n_rows = start.shape[0] - 1
    rows.n_labels = n_labels
    rows.start = elements[int64_t](start)
    rows.label = elements[int32_t](label)
    return rows


cdef struct Training:
    Matrix X                       # dense in Fortran order, or CSR
    LabelRows Y
    Categories categories          # numeric features have none
    const double* nlogn            # [n_rows of a tree + 1] n log2(n)
    Rules rules
