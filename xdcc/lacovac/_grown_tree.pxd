"""A tree while it grows: nodes as columns, and the lists of labels that nodes share.

``LabelTrees`` in ``tree.py`` describes the columns. The children of a node are added one after
the other, so they lie side by side.
"""

from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.lacovac._node_kinds cimport LEAF


cdef cppclass GrownTree:
    vector[int8_t] kind
    vector[int32_t] feature
    vector[float] threshold
    vector[float] value
    vector[int32_t] child
    vector[int32_t] n_children
    vector[int32_t] default_child
    vector[int32_t] n_samples
    vector[int32_t] depth
    vector[double] impurity
    vector[int32_t] label_list
    vector[int64_t] list_start     # [n_lists + 1]
    vector[int32_t] list_label


cdef inline void add_root(GrownTree* tree, int64_t n_labels, int64_t n_samples) noexcept nogil:
    """Begin a tree with a node that has all labels."""
    cdef int64_t label
    tree.list_start.push_back(0)
    for label in range(n_labels):
        tree.list_label.push_back(<int32_t>label)
    tree.list_start.push_back(n_labels)
    add_node(tree, n_samples, 0, 0)


cdef inline int32_t add_child(
    GrownTree* tree, int32_t parent, int64_t n_samples, int32_t depth, int32_t label_list
) noexcept nogil:
    """Add a leaf below a node, and return its number."""
    cdef int32_t child = add_node(tree, n_samples, depth, label_list)
    if tree.n_children[parent] == 0:
        tree.child[parent] = child
    tree.n_children[parent] += 1
    return child


cdef inline int32_t add_node(
    GrownTree* tree, int64_t n_samples, int32_t depth, int32_t label_list
) noexcept nogil:
    tree.kind.push_back(LEAF)
    tree.feature.push_back(-1)
    tree.threshold.push_back(0)
    tree.value.push_back(0)
    tree.child.push_back(-1)
    tree.n_children.push_back(0)
    tree.default_child.push_back(-1)
    tree.n_samples.push_back(<int32_t>n_samples)
    tree.depth.push_back(depth)
    tree.impurity.push_back(0)
    tree.label_list.push_back(label_list)
    return <int32_t>tree.kind.size() - 1


cdef inline dict arrays_of_tree(GrownTree* tree):
    """Copy the tree's columns into arrays, by the names that `LabelTrees` has for them."""
    return {
        "kind": as_array(tree.kind.data(), tree.kind.size()),
        "feature": as_array(tree.feature.data(), tree.feature.size()),
        "threshold": as_array(tree.threshold.data(), tree.threshold.size()),
        "value": as_array(tree.value.data(), tree.value.size()),
        "child": as_array(tree.child.data(), tree.child.size()),
        "n_children": as_array(tree.n_children.data(), tree.n_children.size()),
        "default_child": as_array(tree.default_child.data(), tree.default_child.size()),
        "n_samples": as_array(tree.n_samples.data(), tree.n_samples.size()),
        "depth": as_array(tree.depth.data(), tree.depth.size()),
        "impurity": as_array(tree.impurity.data(), tree.impurity.size()),
        "label_list": as_array(tree.label_list.data(), tree.label_list.size()),
        "list_start": as_array(tree.list_start.data(), tree.list_start.size()),
        "list_label": as_array(tree.list_label.data(), tree.list_label.size()),
    }
