"""Kernel that reads a forest: weights of the training rows, and of these the labels' frequencies.

A row that is predicted reaches a leaf in each tree. A leaf that lists its rows gives each of them
its part of the weight 1; a leaf that holds shares adds these. The weights of a training row are
added up over the trees first, then its labels are looked at once. An unknown label is left out of
the mean. Threads go over rows; trees are read in their order, so the sums do not depend on them.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.forest.nodes cimport Nodes, leaf_of, nodes_of
from xdcc.kernels.arrays cimport elements, factor_at
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.matrix cimport load_row, unload_row
from xdcc.kernels.threads cimport run_loop


cdef enum:
    LARGEST_BLOCK = 64     # rows that go through a tree together
    BLOCK_ENTRIES = 65536  # of their features


cdef struct ForestView:
    # Pointers into the arrays of a `ExtraTrees`, which has to stay alive.
    int64_t n_trees
    int64_t n_labels
    Nodes nodes
    const double* leaf_weight
    const int64_t* row_start
    const int32_t* row
    const int64_t* label_start
    const int32_t* label
    const float* share
    const int64_t* positive_start
    const int32_t* positive
    const int64_t* unknown_start
    const int32_t* unknown
    const double* mean
    const float* weight
    const float* positive_share
    const float* unknown_share


cdef cppclass Reader:
    """Working memory of a thread."""
    vector[vector[float]] x        # [rows of a block]: features, if X is sparse
    vector[const float*] features  # [rows of a block]
    vector[int64_t] leaf           # [rows of a block, n_trees]; -1: the tree is left out
    vector[double] weight          # [n_rows]: of training rows; zero between rows
    vector[int32_t] seen           # training rows with a weight
    vector[double] known           # [n_labels]: weight of what is known of a label


cdef struct Reading:
    # The loop of `predict`.
    int64_t block                  # rows
    const ForestView* forest
    const Matrix* X
    Reader* readers                # [n_threads]
    const uint8_t* is_left_out     # [n_trees, n_rows] or NULL
    double* proba                  # [n_rows, n_labels]


cdef inline void read_leaf(
    const ForestView* forest, Reader* reader, int64_t leaf, double* proba
) noexcept nogil:
    """Add a leaf to the weights of its rows, or its shares to the labels'."""
    cdef int64_t i, begin = forest.row_start[leaf], end = forest.row_start[leaf + 1]
    cdef int32_t row
    cdef double total = forest.leaf_weight[leaf]
    for i in range(forest.label_start[leaf], forest.label_start[leaf + 1]):
        proba[forest.label[i]] += forest.share[i]
    for i in range(begin, end):
        row = forest.row[i]
        if reader.weight[row] == 0:
            reader.seen.push_back(row)
        reader.weight[row] += (forest.weight[row] if forest.weight != NULL else 1) / total


cdef void predict_row(
    const ForestView* forest, Reader* reader, const int64_t* leaf, double* proba
) noexcept nogil:
    """Mean of the leaves that a row reaches."""
    cdef int64_t tree, at, label
    cdef size_t i
    cdef int32_t seen
    cdef double weight, n_trees = 0
    for label in range(forest.n_labels):
        proba[label] = 0
    for tree in range(forest.n_trees):
        if leaf[tree] >= 0:
            n_trees += 1
            read_leaf(forest, reader, leaf[tree], proba)
    reader.known.assign(forest.n_labels, n_trees)
    for i in range(reader.seen.size()):
        seen = reader.seen[i]
        weight = reader.weight[seen]
        reader.weight[seen] = 0
        for at in range(forest.positive_start[seen], forest.positive_start[seen + 1]):
            proba[forest.positive[at]] += weight * factor_at(forest.positive_share, at)
        for at in range(forest.unknown_start[seen], forest.unknown_start[seen + 1]):
            reader.known[forest.unknown[at]] -= weight * factor_at(forest.unknown_share, at)
    reader.seen.clear()
    for label in range(forest.n_labels):
        # A remainder that is only rounding counts as zero.
        if reader.known[label] > 1e-9 * n_trees:
            proba[label] = min(proba[label] / reader.known[label], 1)
        else:
            proba[label] = forest.mean[label]


cdef void predict_block(void* data, int64_t number, int thread) noexcept nogil:
    """Predict some rows; each tree sees them together, so that it stays in the cache."""
    cdef const Reading* reading = <const Reading*>data
    cdef const ForestView* forest = reading.forest
    cdef Reader* reader = reading.readers + thread
    cdef int64_t begin = number * reading.block, tree, row
    cdef int64_t n_rows = min(reading.block, reading.X.n_rows - begin)
    cdef int64_t* leaf = reader.leaf.data()
    for row in range(n_rows):
        reader.features[row] = load_row(reading.X, &reader.x[row], begin + row)
    for tree in range(forest.n_trees):
        for row in range(n_rows):
            if (
                reading.is_left_out != NULL
                and reading.is_left_out[tree * reading.X.n_rows + begin + row]
            ):
                leaf[row * forest.n_trees + tree] = -1
            else:
                leaf[row * forest.n_trees + tree] = leaf_of(
                    &forest.nodes, tree, reader.features[row]
                )
    for row in range(n_rows):
        predict_row(
            forest,
            reader,
            leaf + row * forest.n_trees,
            reading.proba + (begin + row) * forest.n_labels,
        )
        unload_row(reading.X, &reader.x[row], begin + row)


def predict(forest, X, is_left_out, n_threads):
    """Mean frequencies of the labels in the leaves of every row; see ``_prediction.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef ForestView view
    cdef int64_t n_rows = held.matrix.n_rows
    cdef int threads = n_threads, i
    labels = forest.labels
    set_number = forest.set_number
    view.n_trees = len(forest.start) - 1
    view.n_labels = labels.n_labels
    view.nodes = nodes_of(forest, set_number)
    view.leaf_weight = elements[double](forest.leaf_weight)
    view.row_start = elements[int64_t](forest.row_start)
    view.row = elements[int32_t](forest.row)
    view.label_start = elements[int64_t](forest.label_start)
    view.label = elements[int32_t](forest.label)
    view.share = elements[float](forest.share)
    view.positive_start = elements[int64_t](labels.positive_start)
    view.positive = elements[int32_t](labels.positive)
    view.unknown_start = elements[int64_t](labels.unknown_start)
    view.unknown = elements[int32_t](labels.unknown)
    view.mean = elements[double](labels.mean)
    view.weight = elements[float](labels.weight)
    view.positive_share = elements[float](labels.positive_share)
    view.unknown_share = elements[float](labels.unknown_share)
    proba = np.empty((n_rows, view.n_labels))
    cdef double[:, ::1] proba_view = proba
    cdef const uint8_t[:, ::1] left_out
    cdef Reading reading
    reading.block = BLOCK_ENTRIES // max(<int64_t>1, held.matrix.n_features)
    reading.block = max(<int64_t>1, min(<int64_t>LARGEST_BLOCK, reading.block, n_rows))
    cdef vector[Reader] readers = vector[Reader](threads)
    for i in range(threads):
        readers[i].weight.assign(len(labels.positive_start) - 1, 0)
        readers[i].x.resize(reading.block)
        readers[i].features.resize(reading.block)
        readers[i].leaf.resize(reading.block * view.n_trees)
    reading.forest = &view
    reading.X = &held.matrix
    reading.readers = readers.data()
    reading.is_left_out = NULL
    if is_left_out is not None:
        left_out = is_left_out
        reading.is_left_out = &left_out[0, 0]
    reading.proba = &proba_view[0, 0]
    with nogil:
        run_loop(
            (n_rows + reading.block - 1) // reading.block, 1, threads, predict_block, &reading
        )
    return proba
