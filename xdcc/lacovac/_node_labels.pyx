"""Counting the labels of a node, row by row through the labels that each has."""

from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.lacovac._label_rows cimport LabelRows


cdef struct Candidate:
    double variance
    int32_t label


cdef inline bint comes_first(const Candidate& one, const Candidate& other) noexcept nogil:
    if one.variance != other.variance:
        return one.variance > other.variance
    return one.label < other.label


cdef void count_labels(NodeLabels* node, const LabelRows* Y, const vector[int32_t]* labels
                       ) noexcept nogil:
    """Find those of `labels` that vary in the node's rows, and count them.

    `rows`, `n_rows` and the memory of the training labels are there already.
    """
    cdef const int32_t* label = labels.data()
    cdef int64_t n_labels = <int64_t>labels.size()
    cdef int64_t i, j, row, begin
    cdef double size
    cdef vector[Candidate] varying
    cdef Candidate candidate
    for j in range(n_labels):
        node.is_counted[label[j]] = 1
        node.n_positive[label[j]] = 0
    for i in range(node.n_rows):
        row = node.rows[i]
        for j in range(Y.start[row], Y.start[row + 1]):
            node.n_positive[Y.label[j]] += 1
    for j in range(n_labels):
        candidate.label = label[j]
        size = node.n_positive[label[j]]
        if 0 < size < node.n_rows:
            candidate.variance = size * (<double>node.n_rows - size)
            varying.push_back(candidate)
        else:
            node.is_counted[label[j]] = 0
    sort(varying.begin(), varying.end(), &comes_first)
    node.n_varying = <int64_t>varying.size()
    node.count.resize(node.n_varying)
    node.variance.resize(node.n_varying)
    node.sum_count = 0
    node.sum_square = 0
    for j in range(node.n_varying):
        size = node.n_positive[varying[j].label]
        node.number[varying[j].label] = <int32_t>j
        node.count[j] = size
        node.variance[j] = varying[j].variance
        node.sum_count += size
        node.sum_square += size * size
    node.row_start.resize(node.n_rows + 1)
    node.row_start[0] = 0
    node.row_label.clear()
    node.sum_pairs = 0
    for i in range(node.n_rows):
        row = node.rows[i]
        begin = <int64_t>node.row_label.size()
        for j in range(Y.start[row], Y.start[row + 1]):
            if node.is_counted[Y.label[j]]:
                node.row_label.push_back(node.number[Y.label[j]])
        sort(node.row_label.begin() + begin, node.row_label.end())
        node.row_start[i + 1] = <int64_t>node.row_label.size()
        size = <double>(node.row_start[i + 1] - begin)
        node.sum_pairs += size * (size - 1) / 2
    for j in range(node.n_varying):
        node.is_counted[varying[j].label] = 0


cdef void count_pairs(NodeLabels* node) noexcept nogil:
    """Count the rows that have both labels of every pair."""
    cdef int64_t i, one, other
    node.pair_count.assign(node.n_varying * node.n_varying, 0)
    for i in range(node.n_rows):
        for one in range(node.row_start[i], node.row_start[i + 1]):
            for other in range(one + 1, node.row_start[i + 1]):
                node.pair_count[
                    node.row_label[one] * node.n_varying + node.row_label[other]
                ] += 1
