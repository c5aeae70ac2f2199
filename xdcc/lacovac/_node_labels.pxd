"""The labels that vary in a node: how many of its rows have each one, and each two of them.

With n rows, c_j of which have label j and c_jk both labels, n² times a variance is
c_j (n - c_j) and n² times a covariance is n c_jk - c_j c_k: whole numbers, exact in float64. So
equal splits get equal scores, and rounding decides no tie (while sums stay below 2^53: 10,000 rows
and 10,000 labels at least, since a covariance is at most n²/4). Every search and clustering works
on these counts; labels are numbered by their variances there, the largest first.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.lacovac._label_rows cimport LabelRows


cdef cppclass NodeLabels:
    int64_t n_rows
    int64_t n_varying
    const int32_t* rows
    vector[double] count           # [n_varying]: c_j
    vector[double] variance        # [n_varying]: n² times the variance
    vector[int32_t] pair_count     # [n_varying, n_varying]: c_jk where j < k
    vector[int64_t] row_start      # [n_rows + 1]: row i, counted from the node's first, has ...
    vector[int32_t] row_label      # ... row_label[row_start[i] : row_start[i + 1]], ascending
    double sum_count               # Σ c_j
    double sum_square              # Σ c_j²
    double sum_pairs               # Σ c_jk over pairs
    # By the training labels' own numbers, [n_labels]:
    vector[int32_t] n_positive     # of the node's labels
    vector[int32_t] number         # of the varying ones
    vector[uint8_t] is_counted     # 0 between calls


cdef void count_labels(NodeLabels* node, const LabelRows* Y, const vector[int32_t]* labels
                       ) noexcept nogil

cdef void count_pairs(NodeLabels* node) noexcept nogil
