"""The way of a row through a grown tree: one child of a horizontal split, all of a vertical one.

So a walk ends in one leaf for every label. `Trees` points into the arrays of a `LabelTrees`
(``tree.py`` describes them), which has to stay alive.
"""

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport Matrix, load_row, unload_row
from xdcc.lacovac._node_kinds cimport LEAF, NUMERIC, VERTICAL


cdef struct Trees:
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
