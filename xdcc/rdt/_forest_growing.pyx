"""Kernel that grows random decision trees: one per seed, threads over trees.

A tree grows depth first, with a drawn test for every node and counts for every leaf. A node's rows
lie next to each other in an array of row indices; a test orders them by branch in place, so its
children are parts of the same array. A node becomes a leaf where it has too few rows, where the
path is too long, or where no test is left. A test that does not divide a node's rows is drawn
again, and takes up a level of the tree unless tests are to be retried.

A tree depends on its seed alone, not on the thread that grows it. At last the trees, in the order
of their seeds, are made to refer to their places in one set of arrays.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.categories cimport Categories, categories_of, category_number, n_categories
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.random cimport draw_below, draw_uniform
from xdcc.kernels.arrays cimport first_at_least
from xdcc.kernels.threads cimport run_loop
from xdcc.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, LEAF, NO_BRANCH, NUMERIC

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "discrete": DISCRETE, "label": LABEL,
         "disjunction": DISJUNCTION}

MAX_NODES = np.iinfo(np.int32).max


# ---------------------------------------------------------------------------------- training data


cdef struct Training:
    # Training data by columns, and the shape that trees have. Tests are numbered: first the
    # features, then the labels.
    Matrix X                       # in Fortran order or CSC
    Categories categories
    const uint8_t* is_sparse       # [n_features]: may the feature be part of a disjunction?
    const int32_t* sparse_feature  # [n_sparse]: those that may
    int64_t n_sparse
    const uint8_t* Y               # [n_labels, n_rows]
    int64_t n_labels
    const int32_t* labelset        # [n_rows]
    int64_t n_labelsets
    int64_t max_depth
    int64_t min_samples_split
    double label_test_fraction
    int64_t disjunction_size
    bint retry                     # is a test that does not divide a node drawn again?


cdef inline float feature_value(
    const Training* training, int64_t feature, int64_t row
) noexcept nogil:
    """Look a value up, in a sparse column by bisection; what is not stored is 0."""
    cdef const Matrix* X = &training.X
    cdef int64_t end, place
    if X.dense != NULL:
        return X.dense[feature * X.n_rows + row]
    end = X.indptr[feature + 1]
    place = first_at_least(X.indices, X.indptr[feature], end, <int32_t>row)
    if place < end and X.indices[place] == row:
        return X.data[place]
    return 0


# ------------------------------------------------------------------------- which test a node gets

# It is drawn from the tests that the path from the root has not used up: a label or a discrete
# feature is of no use twice on a path. Such tests are marked, in one array for the whole tree;
# `leave_path` unmarks them when the depth-first walk goes back up. Drawing from many open tests is
# trial and error, from few it counts them.


cdef cppclass OpenTests:
    """The tests of a path that are used up."""
    int64_t n_features
    vector[uint8_t] used           # [n_features + n_labels]
    vector[int32_t] path           # the used ones, in their order
    int64_t n_open_features
    int64_t n_open_labels


cdef cppclass DrawnTest:
    """A test that a node may get."""
    int8_t kind                    # LEAF: no test
    int64_t number
    vector[int32_t] joined         # features of a disjunction
    float threshold                # of a numeric test


cdef inline void open_all(OpenTests* tests, const Training* training) noexcept nogil:
    """Stand at the root."""
    tests.n_features = training.X.n_features
    tests.n_open_features = training.X.n_features
    tests.n_open_labels = training.n_labels
    tests.used.assign(training.X.n_features + training.n_labels, 0)


cdef inline void use_up(OpenTests* tests, int64_t test) noexcept nogil:
    """Mark a test for the rest of the path."""
    tests.used[test] = 1
    tests.path.push_back(<int32_t>test)
    if test < tests.n_features:
        tests.n_open_features -= 1
    else:
        tests.n_open_labels -= 1


cdef inline void leave_path(OpenTests* tests, size_t length) noexcept nogil:
    """Go back to where the path had used up `length` tests."""
    cdef int32_t test
    while tests.path.size() > length:
        test = tests.path.back()
        tests.path.pop_back()
        tests.used[test] = 0
        if test < tests.n_features:
            tests.n_open_features += 1
        else:
            tests.n_open_labels += 1


cdef inline int64_t draw_open(
    const uint8_t* used, int64_t n_tests, int64_t n_open, uint64_t* random
) noexcept nogil:
    """Draw one of the tests that are not used; each is equally likely."""
    cdef int64_t test, n_before
    if 2 * n_open >= n_tests:
        while True:
            test = draw_below(random, n_tests)
            if not used[test]:
                return test
    n_before = draw_below(random, n_open)
    for test in range(n_tests):
        if not used[test]:
            if n_before == 0:
                return test
            n_before -= 1
    return -1


cdef inline void draw_test(
    DrawnTest* test, const OpenTests* tests, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw a test, and the further features of a disjunction; LEAF if there is none left."""
    cdef bint any_label = tests.n_open_labels > 0 and training.label_test_fraction > 0
    cdef bint any_feature = tests.n_open_features > 0 and training.label_test_fraction < 1
    cdef int64_t n_features = tests.n_features
    cdef int64_t further
    if not any_label and not any_feature:
        test.kind = LEAF
        return
    if any_label and (draw_uniform(random) < training.label_test_fraction or not any_feature):
        test.kind = LABEL
        test.number = n_features + draw_open(
            tests.used.data() + n_features, training.n_labels, tests.n_open_labels, random
        )
        return
    test.number = draw_open(tests.used.data(), n_features, tests.n_open_features, random)
    if training.disjunction_size > 1 and training.is_sparse[test.number]:
        test.kind = DISJUNCTION
        test.joined.clear()
        test.joined.push_back(<int32_t>test.number)
        for further in range(training.disjunction_size - 1):
            # A feature that is drawn twice changes nothing.
            test.joined.push_back(
                training.sparse_feature[draw_below(random, training.n_sparse)]
            )
    elif n_categories(&training.categories, test.number) > 0:
        test.kind = DISCRETE
    else:
        test.kind = NUMERIC


# ------------------------------------------------------------------------ where a test sends rows

# Every row gets a branch, or none if its value is missing. A numeric test's threshold is the
# value of a row drawn at random, so thresholds follow the data. Rows without a branch then go
# where a row drawn at random goes.


cdef cppclass Branching:
    """Branches of a node's rows."""
    vector[int32_t] branch         # [n_rows of the data], the first n_rows of the node are used
    vector[float] value            # of the rows, for a numeric test
    vector[int64_t] n_in_branch    # [n_branches]
    int64_t n_known                # rows whose value is not missing
    bint is_constant               # a numeric test: no two rows have different values


cdef inline void branch_by_label(
    Branching* branching, const uint8_t* label, const int32_t* rows, int64_t n_rows
) noexcept nogil:
    """Send rows by a label's value."""
    cdef int64_t i
    for i in range(n_rows):
        branching.branch[i] = label[rows[i]]
    branching.n_known = n_rows


cdef inline void branch_by_disjunction(
    Branching* branching, const DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Send rows where any of several features is not 0 to the second branch."""
    cdef int64_t i
    cdef int32_t branch
    cdef size_t k
    cdef float value
    for i in range(n_rows):
        branch = 0
        for k in range(test.joined.size()):
            value = feature_value(training, test.joined[k], rows[i])
            if isnan(value):
                branch = NO_BRANCH
            elif value != 0:
                branch = 1
                break
        branching.branch[i] = branch
        branching.n_known += branch != NO_BRANCH


cdef inline void branch_by_category(
    Branching* branching, const Training* training, int64_t feature, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Send rows by a discrete value."""
    cdef int64_t i
    cdef float value
    for i in range(n_rows):
        value = feature_value(training, feature, rows[i])
        if isnan(value):
            branching.branch[i] = NO_BRANCH
        else:
            branching.branch[i] = category_number(&training.categories, feature, value)
            branching.n_known += 1


cdef inline void branch_by_threshold(
    Branching* branching, DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows, uint64_t* random,
) noexcept nogil:
    """Draw a threshold, and send larger values to the second branch."""
    cdef int64_t i, n_known = 0, n_before
    cdef float value, least = 0, most = 0
    for i in range(n_rows):
        value = feature_value(training, test.number, rows[i])
        branching.value[i] = value
        if isnan(value):
            branching.branch[i] = NO_BRANCH
            continue
        branching.branch[i] = 0
        if n_known == 0 or value < least:
            least = value
        if n_known == 0 or value > most:
            most = value
        n_known += 1
    branching.n_known = n_known
    branching.is_constant = n_known == 0 or least == most
    if branching.is_constant:
        return
    n_before = draw_below(random, n_known)
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            if n_before == 0:
                test.threshold = branching.value[i]
                break
            n_before -= 1
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            branching.branch[i] = branching.value[i] > test.threshold


cdef inline void send_missing(
    Branching* branching, int64_t n_rows, uint64_t* random
) noexcept nogil:
    """Send rows without a branch where a randomly drawn row with a branch goes."""
    cdef int64_t i, n_before
    cdef int32_t branch
    cdef vector[int64_t] n_known_in = branching.n_in_branch
    for i in range(n_rows):
        if branching.branch[i] == NO_BRANCH:
            n_before = draw_below(random, branching.n_known)
            branch = 0
            while n_before >= n_known_in[branch]:
                n_before -= n_known_in[branch]
                branch += 1
            branching.branch[i] = branch
            branching.n_in_branch[branch] += 1


cdef inline bint divide(
    Branching* branching, DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows, uint64_t* random,
) noexcept nogil:
    """Send a node's rows to branches; true if at least two of them get rows."""
    cdef int64_t i, n_branches = 2, n_filled = 0
    branching.n_known = 0
    branching.is_constant = False
    if test.kind == LABEL:
        branch_by_label(
            branching, training.Y + (test.number - training.X.n_features) * training.X.n_rows,
            rows, n_rows,
        )
    elif test.kind == DISJUNCTION:
        branch_by_disjunction(branching, test, training, rows, n_rows)
    elif test.kind == DISCRETE:
        branch_by_category(branching, training, test.number, rows, n_rows)
        n_branches = n_categories(&training.categories, test.number)
    else:
        branch_by_threshold(branching, test, training, rows, n_rows, random)
        if branching.is_constant:
            return False
    branching.n_in_branch.assign(n_branches, 0)
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            branching.n_in_branch[branching.branch[i]] += 1
    for i in range(n_branches):
        n_filled += branching.n_in_branch[i] > 0
    if n_filled < 2:
        return False
    if branching.n_known < n_rows:
        send_missing(branching, n_rows, random)
    return True


# ----------------------------------------------------------------------------------- a grown tree


cdef cppclass GrownTree:
    """A vector for every array of a `Forest`.

    Nodes, leaves and features of disjunctions refer to each other by position.
    """
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


# ------------------------------------------------------------------------------- how a tree grows


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


# ---------------------------------------------------------------------------------------- forests


cdef struct Forest:
    # Trees that grow, which threads share.
    const Training* training
    GrownTree* tree                # [n_trees]
    const uint64_t* seed           # [n_trees]


cdef void grow_numbered(void* data, int64_t i, int thread) noexcept nogil:
    cdef const Forest* forest = <const Forest*>data
    grow_tree(forest.tree + i, forest.training, forest.seed[i])


def grow(X, categories, is_sparse, Y, labelset, shape, seeds, n_threads):
    """Grow one tree per seed; see ``_forest_growing.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "F", "csc")
    cdef const uint8_t[::1] is_sparse_view = is_sparse
    cdef const int32_t[::1] sparse_view = np.flatnonzero(is_sparse).astype(np.int32)
    cdef const uint8_t[::1, :] Y_view = Y
    cdef const int32_t[::1] labelset_view = labelset
    cdef Training training
    training.X = held.matrix
    training.categories = categories_of(categories[0], categories[1])
    training.is_sparse = &is_sparse_view[0]
    training.sparse_feature = &sparse_view[0] if sparse_view.shape[0] else NULL
    training.n_sparse = sparse_view.shape[0]
    training.Y = &Y_view[0, 0]
    training.n_labels = Y_view.shape[1]
    training.labelset = &labelset_view[0]
    training.n_labelsets = np.max(labelset) + 1
    training.max_depth = shape.max_depth
    training.min_samples_split = shape.min_samples_split
    training.label_test_fraction = shape.label_test_fraction
    training.disjunction_size = shape.disjunction_size
    training.retry = shape.retry
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t n_trees = seed.shape[0]
    cdef int threads = n_threads
    cdef vector[GrownTree] trees
    trees.resize(n_trees)
    cdef Forest forest
    forest.training = &training
    forest.tree = trees.data()
    forest.seed = &seed[0]
    with nogil:
        run_loop(n_trees, 1, threads, grow_numbered, &forest)
    _move_references(trees)
    return _joined(trees)


cdef _move_references(vector[GrownTree]& trees):
    """Let every tree refer to where it will be behind those before it."""
    cdef size_t i, n_nodes = 0
    cdef TreePlace place = TreePlace(0, 0, 0, 0, 0)
    for i in range(trees.size()):
        n_nodes += trees[i].kind.size()
    if n_nodes > <size_t>MAX_NODES:
        raise ValueError(
            f"The trees have {n_nodes} nodes together; no more than {MAX_NODES} can be numbered. "
            "Take fewer trees, a smaller max_depth or a larger min_samples_split."
        )
    for i in range(trees.size()):
        move_references(&trees[i], &place)
        go_behind(&place, &trees[i])


cdef dict _joined(vector[GrownTree]& trees):
    """Join array by array: little more memory than that of the trees and the forest is needed.

    Taking tree by tree apart is shorter, and made the fit of small data 10 % slower.
    """
    cdef GrownTree* tree = trees.data()
    cdef size_t i, n = trees.size()
    zero = np.zeros(1, np.int64)
    return {
        "start": np.cumsum([0] + [tree[i].kind.size() for i in range(n)], dtype=np.int64),
        "kind": np.concatenate([
            as_array(tree[i].kind.data(), tree[i].kind.size())
            for i in range(n)
        ]),
        "index": np.concatenate([
            as_array(tree[i].index.data(), tree[i].index.size())
            for i in range(n)
        ]),
        "threshold": np.concatenate([
            as_array(tree[i].threshold.data(), tree[i].threshold.size())
            for i in range(n)
        ]),
        "value": np.concatenate([
            as_array(tree[i].value.data(), tree[i].value.size())
            for i in range(n)
        ]),
        "child": np.concatenate([
            as_array(tree[i].child.data(), tree[i].child.size())
            for i in range(n)
        ]),
        "branches": np.concatenate([
            as_array(tree[i].branches.data(), tree[i].branches.size())
            for i in range(n)
        ]),
        "disjunction": np.concatenate([
            as_array(tree[i].disjunction.data(), tree[i].disjunction.size())
            for i in range(n)
        ]),
        "leaf_size": np.concatenate([
            as_array(tree[i].leaf_size.data(), tree[i].leaf_size.size())
            for i in range(n)
        ]),
        "label_start": np.concatenate([zero] + [
            as_array(tree[i].label_end.data(), tree[i].label_end.size())
            for i in range(n)
        ]),
        "label": np.concatenate([
            as_array(tree[i].label.data(), tree[i].label.size())
            for i in range(n)
        ]),
        "label_count": np.concatenate([
            as_array(tree[i].label_count.data(), tree[i].label_count.size())
            for i in range(n)
        ]),
        "labelset_start": np.concatenate([zero] + [
            as_array(tree[i].labelset_end.data(), tree[i].labelset_end.size())
            for i in range(n)
        ]),
        "labelset": np.concatenate([
            as_array(tree[i].labelset.data(), tree[i].labelset.size())
            for i in range(n)
        ]),
        "labelset_count": np.concatenate([
            as_array(tree[i].labelset_count.data(), tree[i].labelset_count.size())
            for i in range(n)
        ]),
    }
