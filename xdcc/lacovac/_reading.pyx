"""Kernels that walk grown label trees: contents of leaves, reached leaves, probabilities.

A walk follows one child of a horizontal split and all children of a vertical one, so it ends in
one leaf for every label. Threads share rows (or trees, when leaves are filled); what they write
does not depend on their number. (More than 300 lines: all of it is one walk and what it is for.)
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.rows cimport load_row, unload_row

from xdcc.lacovac._splits import KINDS

cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <vector>

    using XdccLabelset = std::vector<std::int32_t>;

    static inline bool xdcc_equal(XdccLabelset const& a, XdccLabelset const& b) { return a == b; }
    static inline void xdcc_sort(std::vector<XdccLabelset>* v) { std::sort(v->begin(), v->end()); }
    """
    bint is_equal "xdcc_equal"(const vector[int32_t]& a, const vector[int32_t]& b) noexcept nogil
    void sort_labelsets "xdcc_sort"(vector[vector[int32_t]]* labelsets) noexcept nogil

cdef int8_t LEAF = KINDS["leaf"]
cdef int8_t VERTICAL = KINDS["vertical"]
cdef int8_t NUMERIC = KINDS["numeric"]


cdef cppclass View:
    """Arrays of a `LabelTrees`."""
    int64_t n_trees
    int64_t n_labels
    const int64_t* start
    const int8_t* kind
    const int32_t* feature
    const float* threshold
    const float* value
    const int32_t* child
    const int32_t* n_children
    const int32_t* default_child
    const int32_t* n_samples
    const int32_t* label_list
    const int64_t* list_start
    const int32_t* list_label
    const int64_t* count_start     # NULL while leaves are empty
    const int32_t* label_count
    const int8_t* label_predicted


cdef View _view(trees):
    """Pointers into a `LabelTrees`, which has to stay alive."""
    cdef View v
    cdef const int64_t[::1] start = trees.start
    cdef const int8_t[::1] kind = trees.kind
    cdef const int32_t[::1] feature = trees.feature
    cdef const float[::1] threshold = trees.threshold
    cdef const float[::1] value = trees.value
    cdef const int32_t[::1] child = trees.child
    cdef const int32_t[::1] n_children = trees.n_children
    cdef const int32_t[::1] default_child = trees.default_child
    cdef const int32_t[::1] n_samples = trees.n_samples
    cdef const int32_t[::1] label_list = trees.label_list
    cdef const int64_t[::1] list_start = trees.list_start
    cdef const int32_t[::1] list_label = trees.list_label
    cdef const int64_t[::1] count_start = trees.count_start
    cdef const int32_t[::1] label_count = trees.label_count
    cdef const int8_t[::1] label_predicted = trees.label_predicted
    v.n_trees = start.shape[0] - 1
    v.n_labels = trees.n_labels
    v.start = &start[0]
    v.kind = &kind[0]
    v.feature = &feature[0]
    v.threshold = &threshold[0]
    v.value = &value[0]
    v.child = &child[0]
    v.n_children = &n_children[0]
    v.default_child = &default_child[0]
    v.n_samples = &n_samples[0]
    v.label_list = &label_list[0]
    v.list_start = &list_start[0]
    v.list_label = &list_label[0]
    v.count_start = &count_start[0]
    v.label_count = &label_count[0] if label_count.shape[0] else NULL
    v.label_predicted = &label_predicted[0] if label_count.shape[0] else NULL
    return v


cdef cppclass Walker:
    """A thread's memory: a sparse row made dense, and nodes still to be visited."""
    vector[float] x
    vector[int32_t] stack
    vector[int32_t] leaves         # what the last walk reached


cdef void _walk(const View* v, Walker* w, const float* x, int64_t tree) noexcept nogil:
    """Find the leaves that a row reaches in a tree."""
    cdef int32_t node, i, branch
    cdef float value
    w.leaves.clear()
    w.stack.push_back(<int32_t>v.start[tree])
    while not w.stack.empty():
        node = w.stack.back()
        w.stack.pop_back()
        while v.kind[node] != LEAF and v.kind[node] != VERTICAL:
            value = x[v.feature[node]]
            branch = v.default_child[node]
            if v.kind[node] == NUMERIC:
                if not isnan(value):
                    branch = value > v.threshold[node]
            else:
                for i in range(v.n_children[node]):
                    if v.value[v.child[node] + i] == value:
                        branch = i
                        break
            node = v.child[node] + branch
        if v.kind[node] == LEAF:
            w.leaves.push_back(node)
        else:
            for i in range(v.n_children[node] - 1, -1, -1):
                w.stack.push_back(v.child[node] + i)


def apply(trees, tree, X, n_threads):
    """Leaf of each label for every row; see ``_reading.pyi``."""
    cdef View view = _view(trees)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef const View* v = &view
    cdef const Matrix* x = &held.matrix
    cdef int64_t i, j, n = held.matrix.n_rows, which = tree
    cdef int32_t leaf, a
    cdef int threads = n_threads
    reached = np.empty((n, view.n_labels), np.int32)
    cdef int32_t[:, ::1] out = reached
    cdef vector[Walker] memory
    memory.resize(threads)
    cdef Walker* own = memory.data()
    cdef Walker* w
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="static"):
            w = own + threadid()
            _walk(v, w, load_row(x, &w.x, i), which)
            unload_row(x, &w.x, i)
            for a in range(<int32_t>w.leaves.size()):
                leaf = w.leaves[a]
                for j in range(v.list_start[v.label_list[leaf]],
                               v.list_start[v.label_list[leaf] + 1]):
                    out[i, v.list_label[j]] = leaf
    return reached


cdef void _add_proba(const View* v, const Walker* w, double smoothing, double* proba
                     ) noexcept nogil:
    cdef int64_t a, j, begin, size
    cdef int32_t leaf
    for a in range(<int64_t>w.leaves.size()):
        leaf = w.leaves[a]
        begin = v.list_start[v.label_list[leaf]]
        size = v.list_start[v.label_list[leaf] + 1] - begin
        for j in range(size):
            proba[v.list_label[begin + j]] += (
                (<double>v.label_count[v.count_start[leaf] + j] + smoothing)
                / (<double>v.n_samples[leaf] + 2 * smoothing)
            )


def predict(trees, tree, X, n_threads):
    """Most frequent labelsets of the leaves that rows reach; see ``_reading.pyi``."""
    cdef View view = _view(trees)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef const View* v = &view
    cdef const Matrix* x = &held.matrix
    cdef int64_t i, j, begin, n = held.matrix.n_rows, which = tree
    cdef int32_t leaf, a
    cdef int threads = n_threads
    predicted = np.empty((n, view.n_labels), np.int8)
    cdef int8_t[:, ::1] out = predicted
    cdef vector[Walker] memory
    memory.resize(threads)
    cdef Walker* own = memory.data()
    cdef Walker* w
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="static"):
            w = own + threadid()
            _walk(v, w, load_row(x, &w.x, i), which)
            unload_row(x, &w.x, i)
            for a in range(<int32_t>w.leaves.size()):
                leaf = w.leaves[a]
                begin = v.list_start[v.label_list[leaf]]
                for j in range(v.list_start[v.label_list[leaf] + 1] - begin):
                    out[i, v.list_label[begin + j]] = v.label_predicted[v.count_start[leaf] + j]
    return predicted


def mean_proba(trees, smoothing, X, n_threads):
    """Labels' marginal probabilities, averaged over trees; see ``_reading.pyi``."""
    cdef View view = _view(trees)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef const View* v = &view
    cdef const Matrix* x = &held.matrix
    cdef int64_t i, j, tree, n = held.matrix.n_rows
    cdef int threads = n_threads
    cdef double added = smoothing
    cdef const float* values
    proba = np.zeros((n, view.n_labels))
    cdef double[:, ::1] out = proba
    cdef vector[Walker] memory
    memory.resize(threads)
    cdef Walker* own = memory.data()
    cdef Walker* w
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="static"):
            w = own + threadid()
            values = load_row(x, &w.x, i)
            for tree in range(v.n_trees):
                _walk(v, w, values, tree)
                _add_proba(v, w, added, &out[i, 0])
            unload_row(x, &w.x, i)
            for j in range(v.n_labels):
                out[i, j] /= v.n_trees
    return proba


# ---------------------------------------------------------------------------------------- leaves


cdef cppclass Contents:
    """What the leaves of a tree hold; node by node, nothing for inner nodes."""
    vector[int64_t] count_end
    vector[int32_t] label_count
    vector[int8_t] label_predicted
    vector[int64_t] labelset_end
    vector[int32_t] labelset_count
    vector[int64_t] member_end
    vector[int32_t] member


cdef cppclass LabelRows:
    """Labels of the training rows."""
    int64_t n_rows
    const int64_t* start
    const int32_t* label


cdef void _labelset(const LabelRows* Y, vector[uint8_t]& here, int64_t row,
                    vector[int32_t]* labelset) noexcept nogil:
    """Labels of a row among those of a leaf, negated.

    So the order of vectors is the lexicographic order of labelsets as zeros and ones.
    """
    cdef int64_t k
    labelset.clear()
    for k in range(Y.start[row], Y.start[row + 1]):
        if here[Y.label[k]]:
            labelset.push_back(-Y.label[k])


cdef int64_t _training_frequency(const LabelRows* Y, vector[uint8_t]& here,
                                 const vector[int32_t]& labelset) noexcept nogil:
    cdef int64_t row, total = 0
    cdef vector[int32_t] other
    for row in range(Y.n_rows):
        _labelset(Y, here, row, &other)
        total += is_equal(other, labelset)
    return total


cdef void _fill_leaf(const View* v, const LabelRows* Y, int32_t leaf, vector[int32_t]& rows,
                     vector[uint8_t]& here, Contents* out) noexcept nogil:
    cdef int64_t i, j, begin = v.list_start[v.label_list[leaf]]
    cdef int64_t end = v.list_start[v.label_list[leaf] + 1]
    cdef int64_t frequency, best_frequency = -1, best = 0, n_best = 0
    cdef vector[vector[int32_t]] labelsets
    cdef vector[pair[int32_t, int32_t]] order
    cdef pair[int32_t, int32_t] entry
    cdef vector[int32_t] labelset
    cdef vector[int32_t] positive
    cdef vector[int8_t] predicted
    for j in range(begin, end):
        here[v.list_label[j]] = 1
    for i in range(<int64_t>rows.size()):
        _labelset(Y, here, rows[i], &labelset)
        labelsets.push_back(labelset)
    sort_labelsets(&labelsets)
    for i in range(<int64_t>labelsets.size()):
        if i == 0 or not is_equal(labelsets[i], labelsets[i - 1]):
            entry.first = 0
            entry.second = <int32_t>i
            order.push_back(entry)
        # Negated, so that sorting puts the most frequent one first.
        order[order.size() - 1].first -= 1
    sort(order.begin(), order.end())
    # The most frequent one first; ties: more frequent in training, lexicographically smaller.
    while n_best < <int64_t>order.size() and order[n_best].first == order[0].first:
        n_best += 1
    if n_best > 1:
        for i in range(n_best):
            frequency = _training_frequency(Y, here, labelsets[order[i].second])
            if frequency > best_frequency:
                best_frequency = frequency
                best = i
        entry = order[best]
        for i in range(best, 0, -1):
            order[i] = order[i - 1]
        order[0] = entry
    positive.assign(v.n_labels, 0)
    predicted.assign(v.n_labels, 0)
    for i in range(<int64_t>order.size()):
        out.labelset_count.push_back(-order[i].first)
        for j in range(<int64_t>labelsets[order[i].second].size()):
            out.member.push_back(-labelsets[order[i].second][j])
            positive[out.member.back()] -= order[i].first
            if i == 0:
                predicted[out.member.back()] = 1
        out.member_end.push_back(<int64_t>out.member.size())
    for j in range(begin, end):
        out.label_count.push_back(positive[v.list_label[j]])
        out.label_predicted.push_back(predicted[v.list_label[j]])
        here[v.list_label[j]] = 0


cdef void _fill_tree(const View* v, const Matrix* X, const LabelRows* Y, int64_t tree,
                     const int32_t* rows, int64_t n_rows, Contents* out) noexcept nogil:
    cdef Walker w
    cdef vector[vector[int32_t]] of_node
    cdef vector[uint8_t] here
    cdef int64_t i, a, first = v.start[tree], n_nodes = v.start[tree + 1] - v.start[tree]
    of_node.resize(n_nodes)
    here.assign(v.n_labels, 0)
    for i in range(n_rows):
        _walk(v, &w, load_row(X, &w.x, rows[i]), tree)
        unload_row(X, &w.x, rows[i])
        for a in range(<int64_t>w.leaves.size()):
            of_node[w.leaves[a] - first].push_back(rows[i])
    for i in range(n_nodes):
        if v.kind[first + i] == LEAF:
            _fill_leaf(v, Y, <int32_t>(first + i), of_node[i], here, out)
        out.count_end.push_back(<int64_t>out.label_count.size())
        out.labelset_end.push_back(<int64_t>out.labelset_count.size())


def fill(trees, X, label_start, label, rows, n_threads):
    """Count labels and labelsets in the leaves of every tree; see ``_reading.pyi``."""
    cdef View view = _view(trees)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef const int64_t[::1] y_start = label_start
    cdef const int32_t[::1] y_label = label
    cdef const int32_t[:, ::1] of_tree = rows
    cdef LabelRows y_rows
    y_rows.n_rows = y_start.shape[0] - 1
    y_rows.start = &y_start[0]
    y_rows.label = &y_label[0] if y_label.shape[0] else NULL
    cdef const View* v = &view
    cdef const Matrix* x = &held.matrix
    cdef const LabelRows* y = &y_rows
    cdef int64_t tree, n_trees = view.n_trees, n = of_tree.shape[1]
    cdef vector[Contents] contents
    contents.resize(n_trees)
    cdef Contents* out = contents.data()
    cdef int threads = min(n_threads, n_trees)
    for tree in prange(n_trees, nogil=True, schedule="dynamic", chunksize=1, num_threads=threads):
        _fill_tree(v, x, y, tree, &of_tree[tree, 0], n, out + tree)
    return [
        {
            "count_end": as_array(contents[tree].count_end.data(), contents[tree].count_end.size()),
            "label_predicted": as_array(
                contents[tree].label_predicted.data(), contents[tree].label_predicted.size()
            ),
            "label_count": as_array(contents[tree].label_count.data(), contents[tree].label_count.size()),
            "labelset_end": as_array(contents[tree].labelset_end.data(), contents[tree].labelset_end.size()),
            "labelset_count": as_array(contents[tree].labelset_count.data(), contents[tree].labelset_count.size()),
            "member_end": as_array(contents[tree].member_end.data(), contents[tree].member_end.size()),
            "member": as_array(contents[tree].member.data(), contents[tree].member.size()),
        }
        for tree in range(n_trees)
    ]
