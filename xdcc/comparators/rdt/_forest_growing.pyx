"""Training kernel: grow random decision trees, in parallel over trees.

Trees grow depth first, with a random test for each node and counts for each leaf. The rows of a
node are contiguous in an array of row indices; a test sorts them by branch in place. A node becomes
a leaf if it has too few rows, if the path is too long, or if no test is available. A test that does
not split the rows is drawn again; it counts as a level of the tree unless tests are retried.

A tree depends only on its seed. Finally, the trees are joined into one set of arrays in the order
of their seeds.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector as checked_vector

from xdcc.kernels.arrays cimport as_array, element, first_at_least
from xdcc.kernels.categories cimport Categories, categories_of, category_number, n_categories
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.random cimport draw_below, draw_uniform
from xdcc.kernels.threads cimport run_loop
from xdcc.kernels.vectors cimport has_memory_for, vector
from xdcc.comparators.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, LEAF, NO_BRANCH, NUMERIC

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "discrete": DISCRETE, "label": LABEL,
         "disjunction": DISJUNCTION}

MAX_NODES = np.iinfo(np.int32).max


# ---------------------------------------------------------------------------------- training data


cdef struct Training:
    # Training data by columns, and the settings of the trees. Test numbers are the features,
    # followed by the labels.
    Matrix X                       # in Fortran order or CSC
    Categories categories
    const uint8_t* is_sparse       # [n_features] whether a feature can be part of a disjunction
    const int32_t* sparse_feature  # [n_sparse] the features that can
    int64_t n_sparse
    const uint8_t* Y               # [n_labels, n_rows]
    int64_t n_labels
    const int32_t* labelset        # [n_rows]
    int64_t n_labelsets
    int64_t max_depth
    int64_t min_samples_split
    double label_test_fraction
    int64_t disjunction_size
    bint retry                     # whether tests that do not split a node count as no level


cdef inline float feature_value(
    const Training* training, int64_t feature, int64_t row
) noexcept nogil:
    """Look up a value, by bisection if X is sparse; entries that are not stored are 0."""
    cdef const Matrix* X = &training.X
    cdef int64_t end, place
    if X.dense != NULL:
        return X.dense[feature * X.n_rows + row]
    end = X.indptr[feature + 1]
    place = first_at_least(X.indices, X.indptr[feature], end, <int32_t>row)
    if place < end and X.indices[place] == row:
        return X.data[place]
    return 0


# ------------------------------------------------------------------------------ drawing the tests

# A label or a discrete feature occurs only once on a path. Used tests are marked in one array for
# the whole tree; `leave_path` unmarks them when the depth-first search goes back up. If many tests
# are available, drawing uses rejection; if few are, it counts them.


cdef cppclass AvailableTests:
    """The tests that are available on a path."""
    int64_t n_features
    vector[uint8_t] used           # [n_features + n_labels]
    vector[int32_t] path           # the used tests, from the root down
    int64_t n_available_features
    int64_t n_available_labels


cdef cppclass DrawnTest:
    """A candidate for the test of a node."""
    int8_t kind                    # LEAF: no test
    int64_t number
    vector[int32_t] joined         # features of a disjunction
    float threshold                # of a numeric test


cdef inline void make_available(AvailableTests* tests, const Training* training) noexcept nogil:
    """Make all tests available, as at the root."""
    tests.n_features = training.X.n_features
    tests.n_available_features = training.X.n_features
    tests.n_available_labels = training.n_labels
    tests.used.assign(training.X.n_features + training.n_labels, 0)


cdef inline void mark_used(AvailableTests* tests, int64_t test) noexcept nogil:
    """Mark a test as used on the current path."""
    tests.used[test] = 1
    tests.path.push_back(<int32_t>test)
    if test < tests.n_features:
        tests.n_available_features -= 1
    else:
        tests.n_available_labels -= 1


cdef inline void leave_path(AvailableTests* tests, size_t length) noexcept nogil:
    """Go back to the node whose path had used `length` tests."""
    cdef int32_t test
    while tests.path.size() > length:
        test = tests.path.back()
        tests.path.pop_back()
        tests.used[test] = 0
        if test < tests.n_features:
            tests.n_available_features += 1
        else:
            tests.n_available_labels += 1


cdef inline int64_t draw_available(
    const uint8_t* used, int64_t n_tests, int64_t n_available, uint64_t* random
) noexcept nogil:
    """Draw one of the unused tests uniformly."""
    cdef int64_t test, n_before
    if 2 * n_available >= n_tests:
        while True:
            test = draw_below(random, n_tests)
            if not used[test]:
                return test
    n_before = draw_below(random, n_available)
    for test in range(n_tests):
        if not used[test]:
            if n_before == 0:
                return test
            n_before -= 1
    return -1


cdef inline void draw_test(
    DrawnTest* test, const AvailableTests* tests, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw a test and the other features of a disjunction; LEAF if no test is available."""
    cdef bint any_label = tests.n_available_labels > 0 and training.label_test_fraction > 0
    cdef bint any_feature = tests.n_available_features > 0 and training.label_test_fraction < 1
    cdef int64_t n_features = tests.n_features
    cdef int64_t further
    if not any_label and not any_feature:
        test.kind = LEAF
        return
    if any_label and (draw_uniform(random) < training.label_test_fraction or not any_feature):
        test.kind = LABEL
        test.number = n_features + draw_available(
            tests.used.data() + n_features, training.n_labels, tests.n_available_labels, random
        )
        return
    test.number = draw_available(tests.used.data(), n_features, tests.n_available_features, random)
    if training.disjunction_size > 1 and training.is_sparse[test.number]:
        test.kind = DISJUNCTION
        test.joined.clear()
        test.joined.push_back(<int32_t>test.number)
        for further in range(training.disjunction_size - 1):
            # Drawing a feature twice has no effect.
            test.joined.push_back(
                training.sparse_feature[draw_below(random, training.n_sparse)]
            )
    elif n_categories(&training.categories, test.number) > 0:
        test.kind = DISCRETE
    else:
        test.kind = NUMERIC


# ----------------------------------------------------------------------- assigning rows to branches

# The threshold of a numeric test is the value of a random row, so thresholds follow the
# distribution of the data. A row with a missing value goes to the branch of a random other row.


cdef cppclass Branching:
    """Branches of the rows of a node."""
    vector[int32_t] branch         # [n_rows of X]; the entries of the node's rows come first
    vector[float] value            # values of these rows, for a numeric test
    vector[int64_t] n_in_branch    # [n_branches]
    int64_t n_known                # number of rows whose value is not missing
    bint is_constant               # a numeric test on a feature that is constant in the node


cdef inline void branch_by_label(
    Branching* branching, const uint8_t* label, const int32_t* rows, int64_t n_rows
) noexcept nogil:
    """Assign rows to branches by the value of a label."""
    cdef int64_t i
    for i in range(n_rows):
        branching.branch[i] = label[rows[i]]
    branching.n_known = n_rows


cdef inline void branch_by_disjunction(
    Branching* branching, const DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Assign rows in which any of several features is not 0 to the second branch."""
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
    """Assign rows to branches by the value of a discrete feature."""
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
    """Draw a threshold and assign larger values to the second branch."""
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


cdef inline void branch_missing(
    Branching* branching, int64_t n_rows, uint64_t* random
) noexcept nogil:
    """Assign each row with a missing value to the branch of a random row with a known value."""
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


cdef inline bint split_rows(
    Branching* branching, DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows, uint64_t* random,
) noexcept nogil:
    """Assign the rows of a node to branches; return whether at least two branches get rows."""
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
        branch_missing(branching, n_rows, random)
    return True


# ----------------------------------------------------------------------------------- a grown tree


cdef cppclass GrownTree:
    """A vector for each array of a `Forest`, with positions that start at 0 for each tree."""
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


cdef struct TreeOffsets:
    # Where a tree begins in the arrays of the forest.
    int32_t first_node
    int32_t first_leaf
    int32_t first_joined
    int64_t first_label
    int64_t first_labelset


cdef inline void add_leaf_node(GrownTree* tree, float value) noexcept nogil:
    """Add a node without a test; `value` is the outcome of its parent's test."""
    tree.kind.push_back(LEAF)
    tree.index.push_back(0)
    tree.threshold.push_back(0)
    tree.value.push_back(value)
    tree.child.push_back(0)
    tree.branches.push_back(0)


cdef inline void add_offsets(GrownTree* tree, TreeOffsets* offsets) noexcept nogil:
    """Shift the positions of a tree by its offsets, then advance these to the next tree."""
    cdef size_t i
    for i in range(tree.kind.size()):
        tree.child[i] += offsets.first_node
        if tree.kind[i] == LEAF:
            tree.index[i] += offsets.first_leaf
        elif tree.kind[i] == DISJUNCTION:
            tree.index[i] += offsets.first_joined
    for i in range(tree.leaf_size.size()):
        tree.label_end[i] += offsets.first_label
        tree.labelset_end[i] += offsets.first_labelset
    offsets.first_node += <int32_t>tree.kind.size()
    offsets.first_leaf += <int32_t>tree.leaf_size.size()
    offsets.first_joined += <int32_t>tree.disjunction.size()
    offsets.first_label += <int64_t>tree.label.size()
    offsets.first_labelset += <int64_t>tree.labelset.size()


# --------------------------------------------------------------------------------- growing a tree


cdef struct OpenNode:
    int32_t node
    int64_t begin                  # its rows are rows[begin:end]
    int64_t end
    int64_t depth
    size_t path                    # number of tests used on the path to it


cdef cppclass Growth:
    """Working memory for growing a tree."""
    vector[int32_t] rows
    vector[int32_t] sorted         # the rows of a node, sorted by branch
    vector[int64_t] place          # position of the next row of each branch
    vector[OpenNode] stack
    AvailableTests tests
    DrawnTest test
    Branching branching
    vector[int32_t] count          # counts of labels or labelsets; zero between leaves
    vector[int32_t] seen           # labels or labelsets whose count is not zero


cdef inline void store_counts(
    Growth* growth, vector[int32_t]* number, vector[int32_t]* count, vector[int64_t]* end
) noexcept nogil:
    """Append the counts of a leaf to the vectors of a tree, and reset them."""
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
    """Count the positive labels of a leaf, in ascending order."""
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
    store_counts(growth, &tree.label, &tree.label_count, &tree.label_end)


cdef inline void count_labelsets(
    GrownTree* tree, Growth* growth, const Training* training, OpenNode leaf
) noexcept nogil:
    """Count the labelsets of a leaf, in the order of its rows."""
    cdef int64_t i
    cdef int32_t labelset
    growth.seen.clear()
    for i in range(leaf.begin, leaf.end):
        labelset = training.labelset[growth.rows[i]]
        if growth.count[labelset] == 0:
            growth.seen.push_back(labelset)
        growth.count[labelset] += 1
    store_counts(growth, &tree.labelset, &tree.labelset_count, &tree.labelset_end)


cdef inline bint find_test(
    Growth* growth, const Training* training, OpenNode* open_node, uint64_t* random
) noexcept nogil:
    """Draw tests until one splits the node; return false if the node must be a leaf.

    Tests that do not split the node may count as levels, which increases `open_node.depth`.
    """
    cdef int64_t n_rows = open_node.end - open_node.begin
    cdef DrawnTest* test = &growth.test
    cdef bint only_once
    while n_rows >= training.min_samples_split and open_node.depth < training.max_depth:
        draw_test(test, &growth.tests, training, random)
        if test.kind == LEAF:
            return False
        only_once = test.kind == DISCRETE or test.kind == LABEL
        if split_rows(
            &growth.branching, test, training, growth.rows.data() + open_node.begin, n_rows, random
        ):
            if only_once:
                mark_used(&growth.tests, test.number)
            return True
        # No threshold splits rows with equal values.
        if only_once or (training.retry and growth.branching.is_constant):
            mark_used(&growth.tests, test.number)
        if not training.retry or test.kind == DISJUNCTION:
            open_node.depth += 1
    return False


cdef inline void set_test(
    GrownTree* tree, const DrawnTest* test, const Training* training, int32_t node,
    uint64_t* random,
) noexcept nogil:
    """Set the test of a node."""
    cdef size_t k
    tree.kind[node] = test.kind
    tree.index[node] = <int32_t>test.number
    tree.child[node] = <int32_t>tree.kind.size()
    if test.kind == NUMERIC:
        tree.threshold[node] = test.threshold
    elif test.kind == LABEL:
        tree.index[node] = <int32_t>(test.number - training.X.n_features)
        # The test is active if sigma is larger.
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
    """Sort the rows of a node by branch, and push its children on the stack."""
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
        growth.sorted[growth.place[branch]] = growth.rows[parent.begin + i]
        growth.place[branch] += 1
    for i in range(parent.begin, parent.end):
        growth.rows[i] = growth.sorted[i]


cdef inline void grow_tree(
    GrownTree* tree, const Training* training, uint64_t seed
) noexcept nogil:
    """Grow the tree of a seed."""
    cdef uint64_t random = seed
    cdef Growth growth
    cdef OpenNode open_node
    cdef int64_t i, n_rows = training.X.n_rows
    growth.rows.resize(n_rows)
    growth.sorted.resize(n_rows)
    growth.branching.branch.resize(n_rows)
    growth.branching.value.resize(n_rows)
    growth.count.assign(max(training.n_labels, training.n_labelsets), 0)
    make_available(&growth.tests, training)
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
    # The trees to grow, shared by the threads.
    const Training* training
    GrownTree* tree                # [n_trees]
    const uint64_t* seed           # [n_trees]
    atomic[int64_t]* n_failed      # trees for which memory did not suffice


cdef struct TreeOfForest:
    Forest* forest
    int64_t number


cdef void grow_in_forest(void* data) noexcept nogil:
    cdef const TreeOfForest* tree = <const TreeOfForest*>data
    cdef Forest* forest = tree.forest
    grow_tree(forest.tree + tree.number, forest.training, forest.seed[tree.number])


cdef void grow_numbered(void* data, int64_t i, int thread) noexcept nogil:
    cdef TreeOfForest tree
    tree.forest = <Forest*>data
    tree.number = i
    if not has_memory_for(grow_in_forest, &tree):
        tree.forest.n_failed.fetch_add(1)


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
    cdef checked_vector[GrownTree] trees
    trees.resize(n_trees)
    cdef atomic[int64_t] n_failed
    n_failed.store(0)
    cdef Forest forest
    forest.n_failed = &n_failed
    forest.training = &training
    forest.tree = trees.data()
    forest.seed = &seed[0]
    with nogil:
        run_loop(n_trees, 1, threads, grow_numbered, &forest)
    if n_failed.load():
        raise MemoryError(
            f"Memory did not suffice for {n_failed.load()} of {n_trees} trees. Use fewer trees, a "
            "smaller max_depth or a larger min_samples_split."
        )
    _add_offsets(trees)
    return _joined(trees)


cdef _add_offsets(checked_vector[GrownTree]& trees):
    """Make all positions refer to the arrays of the whole forest."""
    cdef size_t i, n_nodes = 0
    cdef TreeOffsets offsets = TreeOffsets(0, 0, 0, 0, 0)
    for i in range(trees.size()):
        n_nodes += trees[i].kind.size()
    if n_nodes > <size_t>MAX_NODES:
        raise ValueError(
            f"The trees have {n_nodes} nodes in total; a forest can have at most {MAX_NODES}. "
            "Use fewer trees, a smaller max_depth or a larger min_samples_split."
        )
    for i in range(trees.size()):
        add_offsets(&trees[i], &offsets)


cdef inline object copied(vector[element]* values):
    return as_array[element]((<checked_vector[element]*>values)[0])


cdef dict _joined(checked_vector[GrownTree]& trees):
    """Join the trees one array at a time, which limits the peak of memory.

    Joining whole trees made fits of small data 10 % slower.
    """
    cdef GrownTree* tree = trees.data()
    cdef size_t i, n = trees.size()
    zero = np.zeros(1, np.int64)
    return {
        "start": np.cumsum([0] + [tree[i].kind.size() for i in range(n)], dtype=np.int64),
        "kind": np.concatenate([copied[int8_t](&tree[i].kind) for i in range(n)]),
        "index": np.concatenate([copied[int32_t](&tree[i].index) for i in range(n)]),
        "threshold": np.concatenate([copied[float](&tree[i].threshold) for i in range(n)]),
        "value": np.concatenate([copied[float](&tree[i].value) for i in range(n)]),
        "child": np.concatenate([copied[int32_t](&tree[i].child) for i in range(n)]),
        "branches": np.concatenate([copied[int32_t](&tree[i].branches) for i in range(n)]),
        "disjunction": np.concatenate([copied[int32_t](&tree[i].disjunction) for i in range(n)]),
        "leaf_size": np.concatenate([copied[int32_t](&tree[i].leaf_size) for i in range(n)]),
        "label_start": np.concatenate([zero] + [copied[int64_t](&tree[i].label_end) for i in range(n)]),
        "label": np.concatenate([copied[int32_t](&tree[i].label) for i in range(n)]),
        "label_count": np.concatenate([copied[int32_t](&tree[i].label_count) for i in range(n)]),
        "labelset_start": np.concatenate(
            [zero] + [copied[int64_t](&tree[i].labelset_end) for i in range(n)]
        ),
        "labelset": np.concatenate([copied[int32_t](&tree[i].labelset) for i in range(n)]),
        "labelset_count": np.concatenate([copied[int32_t](&tree[i].labelset_count) for i in range(n)]),
    }
