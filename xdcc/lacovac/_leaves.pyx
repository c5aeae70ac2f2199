"""Filling the leaves of grown trees: how many training rows have each label and each labelset.

The training rows fall through the finished tree, whatever pruning has left of it. A leaf predicts
its most frequent labelset (of equal ones that which is more frequent in all training rows, then
the lexicographically smaller one); the others follow by frequency. Threads share the trees.
"""

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.algorithm cimport rotate, sort
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.lacovac._label_rows cimport HeldLabels, LabelRows
from xdcc.lacovac._node_kinds cimport LEAF
from xdcc.lacovac._walk cimport Trees, Walker, labels_begin, labels_end, trees_of, walk_row

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
                    const LabelRows* Y, const int32_t[::1] rows) noexcept nogil:
    cdef Walker walker
    cdef Leaf leaf
    cdef vector[vector[int32_t]] rows_of_node
    cdef int64_t i, j, first = trees.start[tree], n_nodes = trees.start[tree + 1] - first
    cdef int32_t node
    rows_of_node.resize(n_nodes)
    for i in range(rows.shape[0]):
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


def fill(trees, X, Y, rows, n_threads):
    """Count labels and labelsets in the leaves of every tree; see ``_leaves.pyi``."""
    cdef const int32_t[:, ::1] rows_of_tree = rows
    cdef int64_t tree, n_trees = rows_of_tree.shape[0]
    cdef int n_filling = min(n_threads, n_trees)
    cdef HeldMatrix held_X = HeldMatrix(X, "C", "csr")
    cdef HeldLabels held_Y = HeldLabels(Y)
    cdef const Matrix* features = &held_X.matrix
    cdef const LabelRows* labels = &held_Y.rows
    cdef Trees view = trees_of(trees)
    cdef vector[Contents] contents
    contents.resize(n_trees)
    cdef Contents* of_tree = contents.data()
    with nogil:
        for tree in prange(n_trees, schedule="dynamic", chunksize=1, num_threads=n_filling):
            fill_tree(of_tree + tree, &view, tree, features, labels, rows_of_tree[tree])
    return [arrays_of_contents(of_tree + tree) for tree in range(n_trees)]
