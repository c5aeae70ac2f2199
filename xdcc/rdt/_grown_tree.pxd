"""A grown tree: a vector for every array of a `Forest`.

Nodes, leaves and features of disjunctions refer to each other by position. ``move_references``
moves the references of a tree along when it is to stand behind others.
"""

from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.rdt._node cimport DISJUNCTION, LEAF


cdef cppclass GrownTree:
    """One tree."""
    vector[int8_t] kind            # of each node
    vector[int32_t] index
    vector[float] threshold
    vector[float] value
    vector[int32_t] child
    vector[int32_t] branches
    vector[int32_t] disjunction
    vector[int32_t] leaf_size      # of each leaf
    vector[int64_t] label_end
    vector[int32_t] label          # of each label of a leaf
    vector[int32_t] label_count
    vector[int64_t] labelset_end
    vector[int32_t] labelset       # of each labelset of a leaf
    vector[int32_t] labelset_count


cdef struct TreePlace:
    int32_t first_node             # where a tree begins in the arrays of a forest
    int32_t first_leaf
    int32_t first_joined
    int64_t first_label
    int64_t first_labelset


cdef inline void add_leaf_node(GrownTree* tree, float value) noexcept nogil:
    """Add a node that is a leaf until it gets a test; `value` leads to it from its parent."""
    tree.kind.push_back(LEAF)
    tree.index.push_back(0)
    tree.threshold.push_back(0)
    tree.value.push_back(value)
    tree.child.push_back(0)
    tree.branches.push_back(0)


cdef inline void move_references(GrownTree* tree, const TreePlace* place) noexcept nogil:
    """Let a tree refer to where it will be, behind others."""
    cdef size_t i
    for i in range(tree.kind.size()):
        tree.child[i] += place.first_node
        if tree.kind[i] == LEAF:
            tree.index[i] += place.first_leaf
        elif tree.kind[i] == DISJUNCTION:
            tree.index[i] += place.first_joined
    for i in range(tree.leaf_size.size()):
        tree.label_end[i] += place.first_label
        tree.labelset_end[i] += place.first_labelset


cdef inline void go_behind(TreePlace* place, const GrownTree* tree) noexcept nogil:
    """Move on by a tree."""
    place.first_node += <int32_t>tree.kind.size()
    place.first_leaf += <int32_t>tree.leaf_size.size()
    place.first_joined += <int32_t>tree.disjunction.size()
    place.first_label += <int64_t>tree.label.size()
    place.first_labelset += <int64_t>tree.labelset.size()
