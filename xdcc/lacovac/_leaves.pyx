"""The leaves of grown trees: which of them a row reaches, what they hold, what they predict.

A row goes to one child of a horizontal split and to all children of a vertical one, so its walk
ends in one leaf for every label.

The training rows fall through the finished tree, whatever pruning has left of it, and fill its
leaves: how many rows have each label and each labelset. A leaf predicts its most frequent labelset
(of equal ones that which is more frequent in all training rows, then the lexicographically smaller
one); the others follow by frequency. Threads share the trees.

There are three predictions: the leaf of each label, the labelset that a tree predicts, and the
labels' probabilities averaged over trees. Each is a function that reads one row, and threads share
the rows; what they write does not depend on their number.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.algorithm cimport rotate, sort
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array, elements
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.matrix cimport load_row, unload_row
from xdcc.kernels.threads cimport run_loop
from xdcc.lacovac._training cimport LEAF, NUMERIC, VERTICAL, LabelRows, label_rows_of


# ---------------------------------------------------------------- the way of a row through a tree


cdef struct Trees:
    # Points into the arrays of a `LabelTrees` (``tree.py`` describes them).
    int64_t n_trees
    int64_t n_labels
    const int64_t* start           # [n_trees + 1]: first node of each tree
    const int8_t* kind             # [n_nodes], as the arrays that follow
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
    """Point into a `LabelTrees`."""
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
    """Where the node's labels begin in `list_label`; they end where the next list begins."""
    return trees.list_start[trees.label_list[node]]


cdef inline int64_t labels_end(const Trees* trees, int32_t node) noexcept nogil:
    return trees.list_start[trees.label_list[node] + 1]


cdef cppclass Walker:
    """A thread's memory: a sparse row made dense, nodes still to be visited."""
    vector[float] features
    vector[int32_t] waiting
    vector[int32_t] leaves         # what the last walk reached


cdef inline int32_t follow(const Trees* trees, int32_t node, const float* features
                           ) noexcept nogil:
    """Child of a horizontal split that a row belongs to."""
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


cdef inline void walk(Walker* walker, const Trees* trees, int64_t tree, const float* features
                      ) noexcept nogil:
    """Find the leaves of a tree that a row reaches."""
    cdef int32_t node, i
    walker.leaves.clear()
    walker.waiting.push_back(<int32_t>trees.start[tree])
    while not walker.waiting.empty():
        node = walker.waiting.back()
        walker.waiting.pop_back()
        while trees.kind[node] != LEAF and trees.kind[node] != VERTICAL:
            node = follow(trees, node, features)
        if trees.kind[node] == LEAF:
            walker.leaves.push_back(node)
        else:
            for i in range(trees.n_children[node] - 1, -1, -1):
                walker.waiting.push_back(trees.child[node] + i)


cdef inline void walk_row(Walker* walker, const Trees* trees, int64_t tree, const Matrix* X,
                          int64_t row) noexcept nogil:
    """Find the leaves of a tree that a row of X reaches."""
    walk(walker, trees, tree, load_row(X, &walker.features, row))
    unload_row(X, &walker.features, row)


# --------------------------------------------------------------------------------- filling leaves

# Labels, ascending and negated: so the order of vectors is the lexicographic order of labelsets
# as zeros and ones.
ctypedef vector[int32_t] Labelset


cdef struct Group:
    int32_t n_rows
    int32_t first                  # of equal labelsets, among all sorted ones


cdef cppclass Leaf:
    """One leaf that is being filled, and what all of them need."""
    const LabelRows* Y
    vector[uint8_t] is_here        # [n_labels]: is it one of the leaf's labels? 0 between leaves
    vector[int32_t] n_positive     # [n_labels]: 0 between leaves
    vector[int8_t] is_predicted    # [n_labels]: 0 between leaves
    vector[Labelset] labelsets     # of the leaf's rows, sorted
    vector[Group] groups           # equal ones, the predicted one first


cdef cppclass Contents:
    """What the leaves of a tree hold; node by node, nothing for inner nodes."""
    vector[int64_t] count_end
    vector[int32_t] label_count
    vector[int8_t] label_predicted
    vector[int64_t] labelset_end
    vector[int32_t] labelset_count
    vector[int64_t] member_end
    vector[int32_t] member


cdef void read_labelset(Labelset* labelset, const Leaf* leaf, int64_t row) noexcept nogil:
    """Labels of a row among those of the leaf."""
    cdef int64_t k
    cdef int32_t label
    labelset.clear()
    for k in range(leaf.Y.start[row], leaf.Y.start[row + 1]):
        label = leaf.Y.label[k]
        if leaf.is_here[label]:
            labelset.push_back(-label)


cdef int64_t count_in_training(const Leaf* leaf, Labelset& labelset) noexcept nogil:
    cdef int64_t row, n_rows = 0
    cdef Labelset other
    for row in range(leaf.Y.n_rows):
        read_labelset(&other, leaf, row)
        n_rows += other == labelset
    return n_rows


cdef inline bint comes_first(const Group& one, const Group& other) noexcept nogil:
    if one.n_rows != other.n_rows:
        return one.n_rows > other.n_rows
    return one.first < other.first


cdef void group_labelsets(Leaf* leaf, const vector[int32_t]* rows) noexcept nogil:
    """Find the leaf's distinct labelsets, and the one that it predicts."""
    cdef int64_t i, n_rows = <int64_t>rows.size(), in_training, most = -1, predicted = 0
    cdef Group group
    leaf.labelsets.resize(n_rows)
    for i in range(n_rows):
        read_labelset(&leaf.labelsets[i], leaf, rows.data()[i])
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
        leaf.is_here[labels[j]] = 1
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
        leaf.is_here[label] = 0
        leaf.n_positive[label] = 0
        leaf.is_predicted[label] = 0


cdef void fill_tree(Contents* contents, const Trees* trees, int64_t tree, const Matrix* X,
                    const LabelRows* Y, const int32_t* rows, int64_t n_rows) noexcept nogil:
    cdef Walker walker
    cdef Leaf leaf
    cdef vector[vector[int32_t]] rows_of_node
    cdef int64_t i, j, first = trees.start[tree], n_nodes = trees.start[tree + 1] - first
    cdef int32_t node
    rows_of_node.resize(n_nodes)
    for i in range(n_rows):
        walk_row(&walker, trees, tree, X, rows[i])
        for j in range(<int64_t>walker.leaves.size()):
            rows_of_node[walker.leaves[j] - first].push_back(rows[i])
    leaf.Y = Y
    leaf.is_here.resize(Y.n_labels, 0)
    leaf.n_positive.resize(Y.n_labels, 0)
    leaf.is_predicted.resize(Y.n_labels, 0)
    for i in range(n_nodes):
        node = <int32_t>(first + i)
        if trees.kind[node] == LEAF:
            fill_leaf(contents, &leaf, trees.list_label + labels_begin(trees, node),
                      labels_end(trees, node) - labels_begin(trees, node), &rows_of_node[i])
        contents.count_end.push_back(<int64_t>contents.label_count.size())
        contents.labelset_end.push_back(<int64_t>contents.labelset_count.size())


cdef dict arrays_of_contents(const Contents* contents):
    return {
        "count_end": as_array(contents.count_end.data(), contents.count_end.size()),
        "label_count": as_array(contents.label_count.data(), contents.label_count.size()),
        "label_predicted": as_array(
            contents.label_predicted.data(), contents.label_predicted.size()
        ),
        "labelset_end": as_array(contents.labelset_end.data(), contents.labelset_end.size()),
        "labelset_count": as_array(
            contents.labelset_count.data(), contents.labelset_count.size()
        ),
        "member_end": as_array(contents.member_end.data(), contents.member_end.size()),
        "member": as_array(contents.member.data(), contents.member.size()),
    }


cdef struct Filling:
    # Trees whose leaves are filled, which threads share.
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
    """Count labels and labelsets in the leaves of every tree; see ``_leaves.pyi``."""
    cdef const int32_t[:, ::1] rows_of_tree = rows
    cdef int64_t tree, n_trees = rows_of_tree.shape[0]
    cdef int threads = n_threads
    cdef HeldMatrix held_X = HeldMatrix(X, "C", "csr")
    # These arrays stay alive while the kernel reads them.
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


# ------------------------------------------------------------------------------------- predicting


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


cdef struct Rows:
    # Rows that are read, which threads share.
    const Reading* reading
    RowReader read_row
    Walker* walkers                # [n_threads]


cdef enum:
    ROWS_AT_A_TIME = 32


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


cdef void read_by_thread(void* data, int64_t row, int thread) noexcept nogil:
    cdef const Rows* rows = <const Rows*>data
    rows.read_row(rows.reading, rows.walkers + thread, row)


cdef void read_rows(const Reading* reading, RowReader read_row, int n_threads) noexcept nogil:
    cdef vector[Walker] walkers
    cdef Rows rows
    walkers.resize(n_threads)
    rows.reading = reading
    rows.read_row = read_row
    rows.walkers = walkers.data()
    run_loop(reading.X.n_rows, ROWS_AT_A_TIME, n_threads, read_by_thread, &rows)


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


cdef void read_predicted(const Reading* reading, Walker* walker, int64_t row) noexcept nogil:
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
    """Leaf of each label for every row; see ``_leaves.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    leaves = np.empty((reading.X.n_rows, reading.trees.n_labels), np.int32)
    cdef int32_t[:, ::1] out = leaves
    reading.tree = tree
    reading.leaves = &out[0, 0]
    read_rows(&reading, read_leaves, n_threads)
    return leaves


def predict(trees, tree, X, n_threads):
    """Most frequent labelsets of the leaves that rows reach; see ``_leaves.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    labelsets = np.empty((reading.X.n_rows, reading.trees.n_labels), np.int8)
    cdef int8_t[:, ::1] out = labelsets
    reading.tree = tree
    reading.labelsets = &out[0, 0]
    read_rows(&reading, read_predicted, n_threads)
    return labelsets


def mean_proba(trees, smoothing, X, n_threads):
    """Labels' marginal probabilities, averaged over trees; see ``_leaves.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Reading reading = reading_of(trees, held)
    proba = np.zeros((reading.X.n_rows, reading.trees.n_labels))
    cdef double[:, ::1] out = proba
    reading.smoothing = smoothing
    reading.proba = &out[0, 0]
    read_rows(&reading, read_mean_proba, n_threads)
    return proba
