"""The tests of extra trees, and the way of a row through them, for the kernels that read forests."""

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

from xdcc.forest._node cimport CATEGORIES, LEAF, MISSING, SET_WORDS
from xdcc.kernels.arrays cimport elements
from xdcc.kernels.categories cimport Categories, categories_of, category_number, n_categories


cdef struct Nodes:
    # Pointers into the arrays of an `ExtraTrees`, which has to stay alive.
    const int64_t* start           # [n_trees + 1]: roots
    const int8_t* kind
    const int8_t* missing
    const int32_t* feature
    const float* threshold
    const int32_t* child
    const int32_t* set_number      # of a node that tests categories; NULL: there is none
    const uint64_t* category_set
    Categories categories
    const uint8_t* category_bin


cdef inline Nodes nodes_of(forest, set_number):
    """Point to the nodes; `set_number` is that of the forest, and has to stay alive, too."""
    cdef Nodes nodes
    nodes.start = elements[int64_t](forest.start)
    nodes.kind = elements[int8_t](forest.kind)
    nodes.missing = elements[int8_t](forest.missing)
    nodes.feature = elements[int32_t](forest.feature)
    nodes.threshold = elements[float](forest.threshold)
    nodes.child = elements[int32_t](forest.child)
    nodes.set_number = elements[int32_t](set_number)
    nodes.category_set = elements[uint64_t](forest.category_set)
    nodes.categories = categories_of(forest.category_value, forest.category_start)
    nodes.category_bin = elements[uint8_t](forest.category_bin)
    return nodes


cdef inline int64_t child_of(const Nodes* nodes, int64_t node, const float* x) noexcept nogil:
    """The child that a row reaches from a node that tests."""
    cdef int64_t feature = nodes.feature[node], category
    cdef const uint64_t* words
    cdef float value = x[feature]
    cdef int32_t number
    if nodes.kind[node] == CATEGORIES:
        category = MISSING
        if not isnan(value):
            number = category_number(&nodes.categories, feature, value)
            if number < n_categories(&nodes.categories, feature):
                number += nodes.categories.start[feature]
                if nodes.categories.value[number] == value:
                    category = nodes.category_bin[number]
        words = nodes.category_set + nodes.set_number[node] * SET_WORDS
        return nodes.child[node] + <int64_t>(words[category >> 6] >> (category & 63) & 1)
    if isnan(value):
        return nodes.child[node] + nodes.missing[node]
    return nodes.child[node] + (value > nodes.threshold[node])


cdef inline int64_t leaf_of(const Nodes* nodes, int64_t tree, const float* x) noexcept nogil:
    """Number of the leaf that a row reaches."""
    cdef int64_t node = nodes.start[tree]
    while nodes.kind[node] != LEAF:
        node = child_of(nodes, node, x)
    return nodes.child[node]
