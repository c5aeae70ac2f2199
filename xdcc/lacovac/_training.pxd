"""What label trees are grown from, and by which rules; all threads read it, none writes.

``_growing.pyx`` makes it of Python's arguments; `GrowthRules` in ``tree.py`` describes the rules.
"""

from libc.stdint cimport int64_t

from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.lacovac._label_rows cimport LabelRows

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


cdef struct Training:
    Matrix X                       # dense in Fortran order, or CSR
    LabelRows Y
    Categories categories          # none: the feature is a number
    const double* nlogn            # [rows of a tree + 1]: n log2(n)
    Rules rules
