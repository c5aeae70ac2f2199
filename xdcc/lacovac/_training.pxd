"""What label trees are grown from and by; all threads read it, none writes."""

from libc.stdint cimport int32_t, int64_t

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix

cdef enum:
    # The kinds of node; Python has them as ``_growing.KINDS``.
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
    # `GrowthRules` in ``tree.py`` describes them.
    int criterion
    int clustering
    bint threshold_of_train        # λ follows from the number of training rows, not the node's
    int64_t max_depth              # -1: no limit
    int64_t min_samples_split
    int64_t min_samples_leaf
    int64_t max_features           # 0: all


cdef struct LabelRows:
    # Which labels each training row has.
    int64_t n_rows
    int64_t n_labels
    const int64_t* start           # row i has label[start[i] : start[i + 1]], ascending
    const int32_t* label


cdef inline LabelRows label_rows_of(
    const int64_t[::1] start, const int32_t[::1] label, int64_t n_labels
) noexcept:
    """Point at the indices of a CSR matrix, which have to stay alive."""
    cdef LabelRows rows
    rows.n_rows = start.shape[0] - 1
    rows.n_labels = n_labels
    rows.start = elements[int64_t](start)
    rows.label = elements[int32_t](label)
    return rows


cdef struct Training:
    Matrix X                       # dense in Fortran order, or CSR
    LabelRows Y
    Categories categories          # none: the feature is a number
    const double* nlogn            # [rows of a tree + 1]: n log2(n)
    Rules rules
