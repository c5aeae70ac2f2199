"""Kernel of the leaves: count labels and labelsets in training, and predict.

A row follows one branch of a horizontal split and all branches of a vertical split, so it reaches
one leaf for each label.

Counting is done after pruning, in parallel over trees. A leaf predicts its most frequent labelset
(ties: the one that is more frequent in all training rows, then the lexicographically smaller one);
the others follow by decreasing frequency.

Prediction returns the leaf of each label in a tree, the labelset of each tree, or the mean
probabilities over all trees. It is parallel over rows and does not depend on the number of threads.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.algorithm cimport rotate, sort
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array, elements
from xdcc.kernels.matrix cimport HeldMatrix, Matrix, load_row, unload_row
from xdcc.kernels.rows cimport RowFunction, run_rows
from xdcc.kernels.threads cimport run_loop
from xdcc.comparators.lacovac._training cimport LEAF, NUMERIC, VERTICAL, LabelRows, label_rows_of


# -------------------------------------------------------------------------------- tree traversal


cdef struct Trees:
    # Pointers to the arrays of `LabelTrees` (``tree.py``).
    int64_t n_trees
    int64_t n_labels
    const int64_t* start           # [n_trees + 1] first node of each tree
    const int8_t* kind             # [n_nodes], as the following arrays
    const int32_t* feature
    const float* threshold
    const float* value
    const int32_t* child
    const int32_t* n_children
    const int32_t* default_child
    const int32_t* label_list
    const int64_t* list_start
    const int32_t* list_label


cdef inline Trees trees_of(trees):
    """Point to the arrays of `LabelTrees`."""
    cdef Trees view
    view.n_trees = len(trees.start) - 1
    view.n_labels = trees.n_labels
    view.start = elements[int64_t](trees.start)
    view.kind = elements[int8_t](trees.kind)
    view.feature = elements[int32_t](trees.feature)
    view.threshold = elements[float](trees.threshold)
    view.value = elements[float](trees.value)
    view.child = elements[int32_t](trees.child)
    view.n_children = elements[int32_t](trees.n_children)
    view.default_child = elements[int32_t](trees.default_child)
    view.label_list = elements[int32_t](trees.label_list)
    view.list_start = elements[int64_t](trees.list_start)
    view.list_label = elements[int32_t](trees.list_label)
    return view


cdef inline int64_t labels_begin(const Trees* trees, int32_t node) noexcept nogil:
    """Return the beginning of the labels of a node in `list_label`."""
    return trees.list_start[trees.label_list[node]]


cdef inline int64_t labels_end(const Trees* trees, int32_t node) noexcept nogil:
    return trees.list_start[trees.label_list[node] + 1]


cdef cppclass Traversal:
    """Working memory of a thread."""
    vector[int32_t] stack
    vector[int32_t] leaves         # the reached leaves


cdef inline int32_t next_node(const Trees* trees, int32_t node, const float* features
                              ) noexcept nogil:
    """Find the child of a horizontal split that a row reaches."""
    cdef float value = features[trees.feature[node]]
    cdef int32_t branch
    if trees.kind[node] == NUMERIC:
        if not isnan(value):
            return trees.child[node] + (value > trees.threshold[node])
    else:
        for branch in range(trees.n_children[node]):
            if trees.value[trees.child[node] + branch] == value:
                return trees.child[node] + branch
    return trees.child[node] + trees.default_child[node]


cdef inline void traverse(Traversal* traversal, const Trees* trees, int64_t tree,
                          const float* features) noexcept nogil:
    """Find the leaves of a tree that a row reaches."""
    cdef int32_t node, i
    traversal.leaves.clear()
    traversal.stack.push_back(<int32_t>trees.start[tree])
    while not traversal.stack.empty():
        node = traversal.stack.back()
        traversal.stack.pop_back()
        while trees.kind[node] != LEAF and trees.kind[node] != VERTICAL:
            node = next_node(trees, node, features)
        if trees.kind[node] == LEAF:
            traversal.leaves.push_back(node)
        else:
            for i in range(trees.n_children[node] - 1, -1, -1):
                traversal.stack.push_back(trees.child[node] + i)


# ------------------------------------------------------------------------------------ leaf counts

# Negated labels in descending order: comparing vectors compares labelsets lexicographically, as
# vectors of zeros and ones.
ctypedef vector[int32_t] Labelset


cdef struct Group:
    int32_t n_rows
    int32_t first                  # index of the first of equal labelsets in sorted order


cdef cppclass Leaf:
    """Working memory for counting in one leaf."""
    const LabelRows* Y
    vector[uint8_t] has_label      # [n_labels] whether the leaf has a label; 0 between leaves
    vector[int32_t] n_positive     # [n_labels] 0 between leaves
    vector[int8_t] is_predicted    # [n_labels] 0 between leaves
    vector[Labelset] labelsets     # labelsets of the rows of the leaf, sorted
    vector[Group] groups           # groups of equal labelsets, the predicted one first


cdef cppclass Contents:
    """Counts in the leaves of a tree, by node; inner nodes have none."""
    vector[int64_t] count_end
    vector[int32_t] label_count
    vector[int8_t] label_predicted
    vector[int64_t] labelset_end
    vector[int32_t] labelset_count
    vector[int64_t] member_end
    vector[int32_t] member


cdef void get_labelset(Labelset* labelset, const Leaf* leaf, int64_t row) noexcept nogil:
    """Get the labels of a row that the leaf has."""
    cdef int64_t k
    cdef int32_t label
    labelset.clear()
    for k in range(leaf.Y.start[row], leaf.Y.start[row + 1]):
        label = leaf.Y.label[k]
        if leaf.has_label[label]:
            labelset.push_back(-label)


cdef int64_t count_in_training(const Leaf* leaf, Labelset& labelset) noexcept nogil:
    cdef int64_t row, n_rows = 0
    cdef Labelset other
    for row in range(leaf.Y.n_rows):
        get_labelset(&other, leaf, row)
        n_rows += other == labelset
    return n_rows


cdef inline bint comes_first(const Group& one, const Group& other) noexcept nogil:
    if one.n_rows != other.n_rows:
        return one.n_rows > other.n_rows
    return one.first < other.first


cdef void group_labelsets(Leaf* leaf, const vector[int32_t]* rows) noexcept nogil:
    """Find the distinct labelsets of a leaf, and the labelset that it predicts."""
    cdef int64_t i, n_rows = <int64_t>rows.size(), in_training, most = -1, predicted = 0
    cdef Group group
    leaf.labelsets.resize(n_rows)
    for i in range(n_rows):
        get_labelset(&leaf.labelsets[i], leaf, rows.data()[i])
    sort(leaf.labelsets.begin(), leaf.labelsets.end())
    leaf.groups.clear()
    group.n_rows = 0
    for i in range(n_rows):
        if i == 0 or leaf.labelsets[i] != leaf.labelsets[i - 1]:
            group.first = <int32_t>i
            leaf.groups.push_back(group)
        leaf.groups[leaf.groups.size() - 1].n_rows += 1
    sort(leaf.groups.begin(), leaf.groups.end(), &comes_first)
    if leaf.groups.size() < 2 or leaf.groups[1].n_rows < leaf.groups[0].n_rows:
        return
    for i in range(<int64_t>leaf.groups.size()):
        if leaf.groups[i].n_rows < leaf.groups[0].n_rows:
            break
        in_training = count_in_training(leaf, leaf.labelsets[leaf.groups[i].first])
        if in_training > most:
            most = in_training
            predicted = i
    rotate(leaf.groups.begin(), leaf.groups.begin() + predicted,
           leaf.groups.begin() + predicted + 1)


cdef void fill_leaf(Contents* contents, Leaf* leaf, const int32_t* labels, int64_t n_labels,
                    const vector[int32_t]* rows) noexcept nogil:
    cdef int64_t i, j
    cdef int32_t label
    cdef Labelset* labelset
    for j in range(n_labels):
        leaf.has_label[labels[j]] = 1
    group_labelsets(leaf, rows)
    for i in range(<int64_t>leaf.groups.size()):
        labelset = &leaf.labelsets[leaf.groups[i].first]
        for j in range(<int64_t>labelset.size()):
            label = -labelset.data()[j]
            contents.member.push_back(label)
            leaf.n_positive[label] += leaf.groups[i].n_rows
            if i == 0:
                leaf.is_predicted[label] = 1
        contents.member_end.push_back(<int64_t>contents.member.size())
        contents.labelset_count.push_back(leaf.groups[i].n_rows)
    for j in range(n_labels):
        label = labels[j]
        contents.label_count.push_back(leaf.n_positive[label])
        contents.label_predicted.push_back(leaf.is_predicted[label])
        leaf.has_label[label] = 0
        leaf.n_positive[label] = 0
        leaf.is_predicted[label] = 0


cdef void fill_tree(Contents* contents, const Trees* trees, int64_t tree, const Matrix* X,
                    const LabelRows* Y, const int32_t* rows, int64_t n_rows) noexcept nogil:
    cdef Traversal traversal
    cdef vector[float] features
    cdef Leaf leaf
    cdef vector[vector[int32_t]] rows_of_node
    cdef int64_t i, j, first = trees.start[tree], n_nodes = trees.start[tree + 1] - first
    cdef int32_t node
    rows_of_node.resize(n_nodes)
    for i in range(n_rows):
        traverse(&traversal, trees, tree, load_row(X, &features, rows[i]))
        unload_row(X, &features, rows[i])
        for j in range(<int64_t>traversal.leaves.size()):
            rows_of_node[traversal.leaves[j] - first].push_back(rows[i])
    leaf.Y = Y
    leaf.has_label.resize(Y.n_labels, 0)
    leaf.n_positive.resize(Y.n_labels, 0)
    leaf.is_predicted.resize(Y.n_labels, 0)
    for i in range(n_nodes):
        node = <int32_t>(first + i)
        if trees.kind[node] == LEAF:
            fill_leaf(contents, &leaf, trees.list_label + labels_begin(trees, node),
                      labels_end(trees, node) - labels_begin(trees, node), &rows_of_node[i])
        contents.count_end.push_back(<int64_t>contents.label_count.size())
        contents.labelset_end.push_back(<int64_t>contents.labelset_count.size())


cdef dict arrays_of_contents(Contents* contents):
    return {
        "count_end": as_array[int64_t](contents.count_end),
        "label_count": as_array[int32_t](contents.label_count),
        "label_predicted": as_array[int8_t](contents.label_predicted),
        "labelset_end": as_array[int64_t](contents.labelset_end),
        "labelset_count": as_array[int32_t](contents.labelset_count),
        "member_end": as_array[int64_t](contents.member_end),
        "member": as_array[int32_t](contents.member),
    }


cdef struct Filling:
    # The trees whose leaves to fill, shared by the threads.
    const Trees* trees
    const Matrix* X
    const LabelRows* Y
    const int32_t* rows            # [n_trees, n_rows]
    int64_t n_rows
    Contents* contents             # [n_trees]


cdef void fill_numbered(void* data, int64_t tree, int thread) noexcept nogil:
    cdef const Filling* filling = <const Filling*>data
    fill_tree(filling.contents + tree, filling.trees, tree, filling.X, filling.Y,
              filling.rows + tree * filling.n_rows, filling.n_rows)


def fill(trees, X, Y, rows, n_threads):
    """Count the labels and labelsets in the leaves of each tree; see ``_leaves.pyi``."""
    cdef const int32_t[:, ::1] rows_of_tree = rows
    cdef int64_t tree, n_trees = rows_of_tree.shape[0]
    cdef int threads = n_threads
    cdef HeldMatrix held_X = HeldMatrix(X, "C", "csr")
    # These variables keep the arrays alive.
    row_start, label = np.asarray(Y.indptr, np.int64), np.asarray(Y.indices, np.int32)
    cdef LabelRows label_rows = label_rows_of(row_start, label, Y.shape[1])
    cdef Trees view = trees_of(trees)
    cdef vector[Contents] contents
    contents.resize(n_trees)
    cdef Filling filling
    filling.trees = &view
    filling.X = &held_X.matrix
    filling.Y = &label_rows
    filling.rows = &rows_of_tree[0, 0]
    filling.n_rows = rows_of_tree.shape[1]
    filling.contents = contents.data()
    with nogil:
        run_loop(n_trees, 1, threads, fill_numbered, &filling)
    return [arrays_of_contents(&contents[tree]) for tree in range(n_trees)]


# ------------------------------------------------------------------------------------- prediction


cdef struct Prediction:
    # Data of the loop over the rows.
    Trees trees
    Traversal* traversals          # [n_threads]
    const int32_t* n_samples       # [n_nodes]
    const int64_t* count_start     # [n_nodes + 1] where the entries of a leaf begin in ...
    const int32_t* label_count     # ... these arrays, one for each of its labels
    const int8_t* label_predicted
    int64_t tree                   # whose leaves are wanted
    double smoothing
    void* output                   # [n_rows, n_labels] leaves or probabilities, or
                                   # [n_rows, n_trees, n_labels] labelsets


cdef enum:
    ROWS_AT_A_TIME = 32


cdef predict_rows(
    trees, X, int n_threads, dtype, RowFunction write_row, int64_t tree, double smoothing
):
    """Create the output and fill it in a loop over the rows."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef vector[Traversal] traversals
    cdef Prediction prediction
    each_tree = (len(trees.start) - 1,) if write_row == write_votes else ()
    output = np.zeros((held.matrix.n_rows, *each_tree, trees.n_labels), dtype)
    cdef uint8_t[::1] bytes_of_output = output.ravel().view(np.uint8)
    traversals.resize(n_threads)
    prediction.trees = trees_of(trees)
    prediction.traversals = traversals.data()
    prediction.n_samples = elements[int32_t](trees.n_samples)
    prediction.count_start = elements[int64_t](trees.count_start)
    prediction.label_count = elements[int32_t](trees.label_count)
    prediction.label_predicted = elements[int8_t](trees.label_predicted)
    prediction.tree = tree
    prediction.smoothing = smoothing
    prediction.output = &bytes_of_output[0]
    run_rows(&held.matrix, ROWS_AT_A_TIME, n_threads, write_row, &prediction)
    return output


cdef void write_leaves(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Prediction* prediction = <const Prediction*>data
    cdef Traversal* traversal = prediction.traversals + thread
    cdef const Trees* trees = &prediction.trees
    cdef int32_t* leaf_of = <int32_t*>prediction.output + row * trees.n_labels
    cdef int64_t i, j
    cdef int32_t leaf
    traverse(traversal, trees, prediction.tree, x)
    for i in range(<int64_t>traversal.leaves.size()):
        leaf = traversal.leaves[i]
        for j in range(labels_begin(trees, leaf), labels_end(trees, leaf)):
            leaf_of[trees.list_label[j]] = leaf


cdef void write_votes(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Prediction* prediction = <const Prediction*>data
    cdef const Trees* trees = &prediction.trees
    cdef int8_t* votes = <int8_t*>prediction.output + row * trees.n_trees * trees.n_labels
    cdef int64_t tree
    for tree in range(trees.n_trees):
        write_labelset(prediction, tree, x, thread, votes + tree * trees.n_labels)


cdef inline void write_labelset(
    const Prediction* prediction, int64_t tree, const float* x, int thread, int8_t* labelset
) noexcept nogil:
    cdef Traversal* traversal = prediction.traversals + thread
    cdef const Trees* trees = &prediction.trees
    cdef const int8_t* predicted
    cdef int64_t i, j, begin
    cdef int32_t leaf
    traverse(traversal, trees, tree, x)
    for i in range(<int64_t>traversal.leaves.size()):
        leaf = traversal.leaves[i]
        predicted = prediction.label_predicted + prediction.count_start[leaf]
        begin = labels_begin(trees, leaf)
        for j in range(labels_end(trees, leaf) - begin):
            labelset[trees.list_label[begin + j]] = predicted[j]


cdef void write_mean_proba(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Prediction* prediction = <const Prediction*>data
    cdef Traversal* traversal = prediction.traversals + thread
    cdef const Trees* trees = &prediction.trees
    cdef double* proba = <double*>prediction.output + row * trees.n_labels
    cdef int64_t tree, i, label
    for tree in range(trees.n_trees):
        traverse(traversal, trees, tree, x)
        for i in range(<int64_t>traversal.leaves.size()):
            add_proba(prediction, traversal.leaves[i], proba)
    for label in range(trees.n_labels):
        proba[label] /= trees.n_trees


cdef inline void add_proba(const Prediction* prediction, int32_t leaf, double* proba
                           ) noexcept nogil:
    cdef const Trees* trees = &prediction.trees
    cdef const int32_t* n_positive = prediction.label_count + prediction.count_start[leaf]
    cdef double n_samples = prediction.n_samples[leaf]
    cdef int64_t j, begin = labels_begin(trees, leaf)
    for j in range(labels_end(trees, leaf) - begin):
        proba[trees.list_label[begin + j]] += (
            (n_positive[j] + prediction.smoothing) / (n_samples + 2 * prediction.smoothing)
        )


def apply(trees, tree, X, n_threads):
    """Return the leaf that predicts each label; see ``_leaves.pyi``."""
    return predict_rows(trees, X, n_threads, np.int32, write_leaves, tree, 0)


def predict(trees, X, n_threads):
    """Predict a labelset for each row with each tree; see ``_leaves.pyi``."""
    return predict_rows(trees, X, n_threads, np.int8, write_votes, 0, 0)


def mean_proba(trees, smoothing, X, n_threads):
    """Average the marginal probabilities over the trees; see ``_leaves.pyi``."""
    return predict_rows(trees, X, n_threads, np.float64, write_mean_proba, 0, smoothing)
