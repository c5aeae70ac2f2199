"""How one tree grows: depth first, a drawn test for every node, counts for every leaf.

A node's rows lie next to each other in an array of row indices; a test orders them by branch in
place, so its children are parts of the same array. A node becomes a leaf where it has too few
rows, where the path is too long, or where no test is left. A test that does not divide a node's
rows is drawn again, and takes up a level of the tree unless tests are to be retried.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.random cimport draw_uniform
from xdcc.rdt._branching cimport Branching, divide
from xdcc.rdt._drawn_test cimport DrawnTest, OpenTests, draw_test, leave_path, open_all, use_up
from xdcc.rdt._grown_tree cimport GrownTree, add_leaf_node
from xdcc.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, LEAF, NUMERIC
from xdcc.rdt._training cimport Training


cdef struct OpenNode:
    int32_t node
    int64_t begin                  # its rows are rows[begin:end]
    int64_t end
    int64_t depth
    size_t path                    # tests that the path above it has used up


cdef cppclass Growth:
    """Working memory while a tree grows."""
    vector[int32_t] rows
    vector[int32_t] ordered        # a node's rows, by branch
    vector[int64_t] place          # where the next row of each branch goes
    vector[OpenNode] stack
    OpenTests tests
    DrawnTest test
    Branching branching
    vector[int32_t] count          # of labels or labelsets; zero between leaves
    vector[int32_t] seen           # those that are not zero


cdef inline void keep_counts(
    Growth* growth, vector[int32_t]* number, vector[int32_t]* count, vector[int64_t]* end
) noexcept nogil:
    """Move what was counted in a leaf to the ends of a tree's vectors."""
    cdef size_t i
    cdef int32_t seen
    for i in range(growth.seen.size()):
        seen = growth.seen[i]
        number.push_back(seen)
        count.push_back(growth.count[seen])
        growth.count[seen] = 0
    end.push_back(<int64_t>number.size())


cdef inline void count_labels(
    GrownTree* tree, Growth* growth, const Training* training, OpenNode leaf
) noexcept nogil:
    """Count a leaf's positive labels, ascending."""
    cdef int64_t i, label
    cdef const uint8_t* is_positive
    growth.seen.clear()
    for label in range(training.n_labels):
        is_positive = training.Y + label * training.X.n_rows
        for i in range(leaf.begin, leaf.end):
            if is_positive[growth.rows[i]]:
                if growth.count[label] == 0:
                    growth.seen.push_back(<int32_t>label)
                growth.count[label] += 1
    keep_counts(growth, &tree.label, &tree.label_count, &tree.label_end)


cdef inline void count_labelsets(
    GrownTree* tree, Growth* growth, const Training* training, OpenNode leaf
) noexcept nogil:
    """Count a leaf's labelsets, in the order of its rows."""
    cdef int64_t i
    cdef int32_t labelset
    growth.seen.clear()
    for i in range(leaf.begin, leaf.end):
        labelset = training.labelset[growth.rows[i]]
        if growth.count[labelset] == 0:
            growth.seen.push_back(labelset)
        growth.count[labelset] += 1
    keep_counts(growth, &tree.labelset, &tree.labelset_count, &tree.labelset_end)


cdef inline bint find_test(
    Growth* growth, const Training* training, OpenNode* open_node, uint64_t* random
) noexcept nogil:
    """Draw tests until one divides the node; false if it has to be a leaf.

    Tests that did not divide it may have taken up levels: `open_node.depth` grows.
    """
    cdef int64_t n_rows = open_node.end - open_node.begin
    cdef DrawnTest* test = &growth.test
    cdef bint is_used_up
    while n_rows >= training.min_samples_split and open_node.depth < training.max_depth:
        draw_test(test, &growth.tests, training, random)
        if test.kind == LEAF:
            return False
        is_used_up = test.kind == DISCRETE or test.kind == LABEL
        if divide(&growth.branching, test, training, growth.rows.data() + open_node.begin, n_rows,
                  random):
            if is_used_up:
                use_up(&growth.tests, test.number)
            return True
        # No threshold divides rows that all have one value.
        if is_used_up or (training.retry and growth.branching.is_constant):
            use_up(&growth.tests, test.number)
        if not training.retry or test.kind == DISJUNCTION:
            open_node.depth += 1
    return False


cdef inline void set_test(
    GrownTree* tree, const DrawnTest* test, const Training* training, int32_t node,
    uint64_t* random,
) noexcept nogil:
    """Make a node a test."""
    cdef size_t k
    tree.kind[node] = test.kind
    tree.index[node] = <int32_t>test.number
    tree.child[node] = <int32_t>tree.kind.size()
    if test.kind == NUMERIC:
        tree.threshold[node] = test.threshold
    elif test.kind == LABEL:
        tree.index[node] = <int32_t>(test.number - training.X.n_features)
        # The test is active where sigma is larger.
        tree.threshold[node] = <float>draw_uniform(random)
        if tree.threshold[node] >= 1:  # rounded up
            tree.threshold[node] = 0
    elif test.kind == DISJUNCTION:
        tree.index[node] = <int32_t>tree.disjunction.size()
        for k in range(test.joined.size()):
            tree.disjunction.push_back(test.joined[k])
        tree.disjunction.push_back(-1)


cdef inline void add_children(
    GrownTree* tree, Growth* growth, const Training* training, OpenNode parent
) noexcept nogil:
    """Order the rows of a divided node by branch, and put its children on the stack."""
    cdef Branching* branching = &growth.branching
    cdef DrawnTest* test = &growth.test
    cdef int64_t i, at = parent.begin
    cdef int32_t branch
    cdef OpenNode child
    cdef float value
    child.depth = parent.depth + 1
    child.path = growth.tests.path.size()
    growth.place.clear()
    for branch in range(<int32_t>branching.n_in_branch.size()):
        growth.place.push_back(at)
        if branching.n_in_branch[branch] == 0:
            continue
        value = <float>branch
        if test.kind == DISCRETE:
            value = training.categories.value[training.categories.start[test.number] + branch]
        child.node = <int32_t>tree.kind.size()
        child.begin = at
        child.end = at + branching.n_in_branch[branch]
        add_leaf_node(tree, value)
        tree.branches[parent.node] += 1
        growth.stack.push_back(child)
        at = child.end
    for i in range(parent.end - parent.begin):
        branch = branching.branch[i]
        growth.ordered[growth.place[branch]] = growth.rows[parent.begin + i]
        growth.place[branch] += 1
    for i in range(parent.begin, parent.end):
        growth.rows[i] = growth.ordered[i]


cdef inline void grow_tree(
    GrownTree* tree, const Training* training, uint64_t seed
) noexcept nogil:
    """Grow a tree; all that is random comes from its seed."""
    cdef uint64_t random = seed
    cdef Growth growth
    cdef OpenNode open_node
    cdef int64_t i, n_rows = training.X.n_rows
    growth.rows.resize(n_rows)
    growth.ordered.resize(n_rows)
    growth.branching.branch.resize(n_rows)
    growth.branching.value.resize(n_rows)
    growth.count.assign(max(training.n_labels, training.n_labelsets), 0)
    open_all(&growth.tests, training)
    for i in range(n_rows):
        growth.rows[i] = <int32_t>i
    open_node.node = 0
    open_node.begin = 0
    open_node.end = n_rows
    open_node.depth = 0
    open_node.path = 0
    add_leaf_node(tree, 0)
    growth.stack.push_back(open_node)
    while not growth.stack.empty():
        open_node = growth.stack.back()
        growth.stack.pop_back()
        leave_path(&growth.tests, open_node.path)
        if find_test(&growth, training, &open_node, &random):
            set_test(tree, &growth.test, training, open_node.node, &random)
            add_children(tree, &growth, training, open_node)
        else:
            tree.index[open_node.node] = <int32_t>tree.leaf_size.size()
            tree.leaf_size.push_back(<int32_t>(open_node.end - open_node.begin))
            count_labels(tree, &growth, training, open_node)
            count_labelsets(tree, &growth, training, open_node)
