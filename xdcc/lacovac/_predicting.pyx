"""Reading predictions from the leaves that rows reach.

There are three of them: the leaf of each label, the labelset that a tree predicts, and the labels'
probabilities averaged over trees. Each is a function that reads one row, and threads share the
rows; what they write does not depend on their number.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport HeldMatrix, Matrix, load_row, unload_row
from xdcc.lacovac._walk cimport Trees, Walker, labels_begin, labels_end, trees_of, walk, walk_row


cdef struct Reading:
    Matrix X
    Trees trees
    const int32_t* n_samples       # [n_nodes]
    const int64_t* count_start     # [n_nodes + 1]: where a leaf's numbers begin in ...
    const int32_t* label_count     # ... these arrays, one for each of its labels
    const int8_t* label_predicted
    int64_t tree                   # the one that is read, unless it is all
    double smoothing
    int32_t* leaves                # [n_rows, n_labels], what is written: one of the three
    int8_t* labelsets
    double* proba

ctypedef void (*RowReader)(const Reading* reading, Walker* walker, int64_t row) noexcept nogil


cdef Reading reading_of(trees, HeldMatrix X):
    """Point at what is read, which has to stay alive."""
    cdef Reading reading
    reading.X = X.matrix
    reading.trees = trees_of(trees)
    reading.n_samples = elements[int32_t](trees.n_samples)
    reading.count_start = elements[int64_t](trees.count_start)
    reading.label_count = elements[int32_t](trees.label_count)
    reading.label_predicted = elements[int8_t](trees.label_predicted)
    return reading


cdef void read_rows(const Reading* reading, RowReader read_row, int n_threads) noexcept nogil:
    cdef int64_t row
    cdef vector[Walker] walkers
    walkers.resize(n_threads)
    cdef Walker* walker = walkers.data()
    with parallel(num_threads=n_threads):
        for row in prange(reading.X.n_rows, schedule="static"):
            read_row(reading, walker + threadid(), row)


cdef void read_leaves(const Reading* reading, Walker* walker, int64_t row) noexcept nogil:
    cdef const Trees* trees = &reading.trees
    cdef int32_t* leaf_of = reading.leaves + row * trees.n_labels
    cdef int64_t i, j
    cdef int32_t leaf
    walk_row(walker, trees, reading.tree, &reading.X, row)
    for i in range(<int64_t>walker.leaves.size()):
        leaf = walker.leaves[i]
        for j in range(labels_begin(trees, leaf), labels_end(trees, leaf)):
            leaf_of[trees.list_label[j]] = leaf


cdef void read_labelset(const Reading* reading, Walker* walker, int64_t row) noexcept nogil:
    cdef const Trees* trees = &reading.trees
    cdef const int8_t* predicted
    cdef int8_t* labelset = reading.labelsets + row * trees.n_labels
    cdef int64_t i, j, begin
    cdef int32_t leaf
    walk_row(walker, trees, reading.tree, &reading.X, row)
    for i in range(<int64_t>walker.leaves.size()):
        leaf = walker.leaves[i]
        predicted = reading.label_predicted + reading.count_start[leaf]
        begin = labels_begin(trees, leaf)
        for j in range(labels_end(trees, leaf) - begin):
            labelset[trees.list_label[begin + j]] = predicted[j]


cdef void read_mean_proba(const Reading* reading, Walker* walker, int64_t row) noexcept nogil:
    cdef const Trees* trees = &reading.trees
    cdef double* proba = reading.proba + row * trees.n_labels
    cdef const float* features = load_row(&reading.X, &walker.features, row)
    cdef int64_t tree, i, label
    for tree in range(trees.n_trees):
        walk(walker, trees, tree, features)
        for i in range(<int64_t>walker.leaves.size()):
            add_proba(reading, walker.leaves[i], proba)
    unload_row(&reading.X, &walker.features, row)
    for label in range(trees.n_labels):
        proba[label] /= trees.n_trees


cdef inline void add_proba(const Reading* reading, int32_t leaf, double* proba) noexcept nogil:
    cdef const Trees* trees = &reading.trees
    cdef const int32_t* n_positive = reading.label_count + reading.count_start[leaf]
    cdef double n_samples = reading.n_samples[leaf]
    cdef int64_t j, begin = labels_begin(trees, leaf)
    for j in range(labels_end(trees, leaf) - begin):
        proba[trees.list_label[begin + j]] += (
            (n_positive[j] + reading.smoothing) / (n_samples + 2 * reading.smoothing)
        )


def apply(trees, tree, X, n_threads):
    """Leaf of each label for every row; see ``_predicting.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    leaves = np.empty((reading.X.n_rows, reading.trees.n_labels), np.int32)
    cdef int32_t[:, ::1] out = leaves
    reading.tree = tree
    reading.leaves = &out[0, 0]
    read_rows(&reading, read_leaves, n_threads)
    return leaves


def predict(trees, tree, X, n_threads):
    """Most frequent labelsets of the leaves that rows reach; see ``_predicting.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    labelsets = np.empty((reading.X.n_rows, reading.trees.n_labels), np.int8)
    cdef int8_t[:, ::1] out = labelsets
    reading.tree = tree
    reading.labelsets = &out[0, 0]
    read_rows(&reading, read_labelset, n_threads)
    return labelsets


def mean_proba(trees, smoothing, X, n_threads):
    """Labels' marginal probabilities, averaged over trees; see ``_predicting.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    proba = np.zeros((reading.X.n_rows, reading.trees.n_labels))
    cdef double[:, ::1] out = proba
    reading.smoothing = smoothing
    reading.proba = &out[0, 0]
    read_rows(&reading, read_mean_proba, n_threads)
    return proba
