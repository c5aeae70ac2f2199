"""The rules that label trees are grown by; `GrowthRules` in ``tree.py`` describes them."""

from libc.stdint cimport int64_t

cdef enum:
    COVARIANCE = 0
    VARIANCE = 1
    GAIN_RATIO = 2

cdef enum:
    TOGETHER = 0
    SINGLE_LINKAGE = 1
    ALL_OR_NONE = 2


cdef struct Rules:
    int criterion
    int clustering
    bint threshold_of_train        # λ follows from the number of training rows, not the node's
    int64_t max_depth              # -1: no limit
    int64_t min_samples_split
    int64_t min_samples_leaf
    int64_t max_features           # 0: all
