"""A tree while it is grown: its nodes and leaves."""

from libc.float cimport FLT_MAX
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.forest._node cimport CATEGORIES, LEAF, MISSING, NUMERIC, SET_WORDS
from xdcc.forest.growth cimport Growth, OpenNode, Split
from xdcc.forest.training cimport Training
from xdcc.kernels.arrays cimport factor_at


cdef cppclass GrownTree:
    """A vector for every array of `ExtraTrees`; nodes and leaves refer to each other by position."""
    vector[int8_t] kind            # of each node
    vector[int8_t] missing
    vector[int32_t] feature
    vector[float] threshold
    vector[int32_t] child
    vector[uint64_t] category_set
    vector[double] leaf_weight     # of each leaf
    vector[int64_t] row_end
    vector[int32_t] row
    vector[int64_t] label_end
    vector[int32_t] label
    vector[float] share


cdef inline void add_node(GrownTree* tree) noexcept nogil:
    """Add a node that is a leaf until it gets a test."""
    tree.kind.push_back(LEAF)
    tree.missing.push_back(0)
    tree.feature.push_back(0)
    tree.threshold.push_back(0)
    tree.child.push_back(0)


cdef inline float threshold_of(
    const Training* training, int64_t feature, uint8_t cut
) noexcept nogil:
    """The edge above a bin; above the last one there are missing values only."""
    cdef int64_t at = training.edge_start[feature] + cut
    return training.edge[at] if at < training.edge_start[feature + 1] else FLT_MAX


cdef inline void set_test(
    GrownTree* tree, const Split* split, const Training* training, const OpenNode* open_node
) noexcept nogil:
    """Make a node a test; a missing value that training rows did not have goes with most rows."""
    cdef int64_t k
    cdef int32_t node = open_node.node
    cdef bint missing_right = split.missing_right
    cdef uint64_t words[SET_WORDS]
    if not split.has_missing:
        missing_right = 2 * split.n_right > open_node.end - open_node.begin
    tree.feature[node] = training.feature[split.feature]
    tree.child[node] = <int32_t>tree.kind.size()
    if split.feature < training.n_dense and training.is_category[split.feature]:
        tree.kind[node] = CATEGORIES
        for k in range(SET_WORDS):
            words[k] = split.category_set[k]
        if not split.has_missing:
            words[MISSING >> 6] &= ~(<uint64_t>1 << (MISSING & 63))
            words[MISSING >> 6] |= <uint64_t>missing_right << (MISSING & 63)
        for k in range(SET_WORDS):
            tree.category_set.push_back(words[k])
    else:
        tree.kind[node] = NUMERIC
        tree.missing[node] = missing_right
        tree.threshold[node] = split.threshold
        if split.feature < training.n_dense:
            tree.threshold[node] = threshold_of(training, split.feature, split.cut)


cdef inline bint add_shares(
    GrownTree* tree, Growth* growth, const Training* training, const OpenNode* leaf
) noexcept nogil:
    """Write the shares of a leaf's labels if that takes less memory than a list of its rows."""
    cdef int64_t i, at, row, n = leaf.end - leaf.begin
    cdef size_t k
    cdef double weight = 1, total = 0
    cdef bint is_less = True
    cdef int32_t label
    row = growth.rows[leaf.begin]
    if n == 1 and training.positive_start[row] < training.positive_start[row + 1]:
        return False
    growth.seen.clear()
    for i in range(leaf.begin, leaf.end):
        row = growth.rows[i]
        if training.unknown_start[row] < training.unknown_start[row + 1]:
            is_less = False
            break
        if training.weight != NULL:
            weight = training.weight[row]
        total += weight
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            label = training.positive[at]
            if growth.count[label] == 0:
                growth.seen.push_back(label)
            growth.count[label] += weight * factor_at(training.positive_share, at)
        if 2 * <int64_t>growth.seen.size() >= n:
            is_less = False
            break
    for k in range(growth.seen.size()):
        label = growth.seen[k]
        if is_less:
            tree.label.push_back(label)
            tree.share.push_back(<float>(growth.count[label] / total))
        growth.count[label] = 0
    return is_less


cdef inline void write_leaf(
    GrownTree* tree, Growth* growth, const Training* training, const OpenNode* leaf
) noexcept nogil:
    """Make a node a leaf."""
    cdef int64_t i
    cdef double weight = <double>(leaf.end - leaf.begin)
    if training.weight != NULL:
        weight = 0
        for i in range(leaf.begin, leaf.end):
            weight += training.weight[growth.rows[i]]
    tree.leaf_weight.push_back(weight)
    tree.child[leaf.node] = <int32_t>tree.row_end.size()
    if not add_shares(tree, growth, training, leaf):
        for i in range(leaf.begin, leaf.end):
            tree.row.push_back(growth.rows[i])
    tree.row_end.push_back(<int64_t>tree.row.size())
    tree.label_end.push_back(<int64_t>tree.label.size())
