"""One side of a horizontal split, which grows row by row: its counts of labels and of pairs.

The side that grows while a feature is scanned is called the moving one, the other rows of the
node are the rest. A row changes the moving side's counts by what it has, and those of the rest
are what is missing to the node's. Sums of variances follow from numbers that a row changes in no
more steps than it has labels; sums of covariances need the pairs, which are counted only if they
are asked for and are taken back by whoever asked, since there are many more than a scan touches.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.lacovac._node_labels cimport NodeLabels


cdef cppclass MovingSide:
    double n_rows
    double sum_count               # Σ m_j: rows of the moving side with label j
    double sum_square              # Σ m_j²
    double sum_pairs               # Σ m_jk over pairs
    double cross                   # Σ c_j m_j, c_j being the node's
    vector[double] count           # [n_varying]: m_j
    vector[int32_t] pair_count     # [at least n_varying²]: m_jk where j < k, 0 between scans
    vector[double] rest_count      # [n_varying]: memory for c_j - m_j


cdef inline void prepare_side(MovingSide* side, const NodeLabels* node) noexcept nogil:
    """Make memory as large as a node wants it."""
    side.rest_count.resize(node.n_varying)
    if <int64_t>side.pair_count.size() < node.n_varying * node.n_varying:
        side.pair_count.resize(node.n_varying * node.n_varying, 0)


cdef inline void empty_side(MovingSide* side, const NodeLabels* node) noexcept nogil:
    """Begin without rows; pairs have been taken back."""
    side.n_rows = 0
    side.sum_count = 0
    side.sum_square = 0
    side.sum_pairs = 0
    side.cross = 0
    side.count.assign(node.n_varying, 0)


cdef inline void move_row(
    MovingSide* side, const NodeLabels* node, int64_t position, bint with_pairs
) noexcept nogil:
    """Add a row, given by its position in the node."""
    cdef int64_t one, other
    cdef int64_t begin = node.row_start[position], end = node.row_start[position + 1]
    cdef int32_t label
    cdef int32_t* pairs_of_label
    cdef double n_labels = <double>(end - begin)
    cdef double sum_square = side.sum_square, cross = side.cross
    side.n_rows += 1
    side.sum_count += n_labels
    side.sum_pairs += n_labels * (n_labels - 1) / 2
    for one in range(begin, end):
        label = node.row_label[one]
        sum_square += 2 * side.count[label] + 1
        cross += node.count[label]
        side.count[label] += 1
        if with_pairs:
            pairs_of_label = side.pair_count.data() + label * node.n_varying
            for other in range(one + 1, end):
                pairs_of_label[node.row_label[other]] += 1
    side.sum_square = sum_square
    side.cross = cross


cdef inline void take_pairs_back(
    MovingSide* side, const NodeLabels* node, int64_t position
) noexcept nogil:
    """Forget the pairs of a row that was moved with them."""
    cdef int64_t one, other, end = node.row_start[position + 1]
    cdef int32_t* pairs_of_label
    for one in range(node.row_start[position], end):
        pairs_of_label = side.pair_count.data() + node.row_label[one] * node.n_varying
        for other in range(one + 1, end):
            pairs_of_label[node.row_label[other]] -= 1
