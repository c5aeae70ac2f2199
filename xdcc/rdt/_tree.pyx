"""Kernels of random decision trees: building, posteriors, and chains over shrinking leaf sets.

``build`` grows one tree per seed, threads over trees. A node's rows lie next to each other in an
array of row indices that every test partitions in place; the tests that a path has used up are
marked in one array and unmarked when the depth-first walk leaves the path.

``posteriors`` follows every branch of a test whose value is missing and sums the leaves it
reaches. ``chain`` does this once per instance. It notes for every reached leaf which known label
would contradict its path, as a list per label of (leaf, value) pairs. When a label becomes known
its list is read once, the leaves that contradict it are taken out of their trees' sums, and only
those trees are evaluated again. Every pair is read at most once in the whole chain, so a label
decided late costs no more than one decided early. Both use threads over instances.

Counts are whole numbers in float64 and so exact; means over trees are summed in the order of
the trees. The results do not depend on the number of threads. (More than 300 lines: what the
kernels share, the kinds of nodes and the arrays, is used in every function.)
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport fabs, floor, isnan, pow
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.categories cimport Categories, categories_of, category_number, n_categories
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.random cimport draw_below, draw_uniform
from xdcc.kernels.rows cimport load_row, unload_row

cdef enum:
    LEAF = 0
    NUMERIC = 1
    DISCRETE = 2
    LABEL = 3
    DISJUNCTION = 4

cdef enum:
    MISSING = -1

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "discrete": DISCRETE, "label": LABEL,
         "disjunction": DISJUNCTION}


# ------------------------------------------------------------------------------------ building


cdef cppclass Training:
    """What all trees are built from; the arrays belong to the caller."""
    int64_t n_rows
    int64_t n_features
    int64_t n_labels
    const Matrix* X                # by columns: in Fortran order or CSC
    Categories categories
    const int32_t* sparse_feature  # features that take part in disjunctions
    const uint8_t* is_sparse       # [n_features]
    int64_t n_sparse
    const uint8_t* Y               # [n_labels, n_rows]
    const int32_t* labelset        # [n_rows]
    int64_t n_labelsets
    int64_t max_depth
    int64_t min_samples_split
    double label_test_fraction
    int64_t disjunction_size
    bint retry


cdef cppclass Tree:
    """A grown tree: nodes with their children side by side, and the leaves' counts."""
    vector[int8_t] kind
    vector[int32_t] index
    vector[float] threshold
    vector[float] value
    vector[int32_t] child
    vector[int32_t] branches
    vector[int32_t] disjunction
    vector[int32_t] leaf_size
    vector[int64_t] label_end
    vector[int32_t] label
    vector[int32_t] label_count
    vector[int64_t] labelset_end
    vector[int32_t] labelset
    vector[int32_t] labelset_count


cdef cppclass Part:
    """A node to be grown: its rows, its depth, and how many tests its path has used up."""
    int32_t node
    int64_t start
    int64_t end
    int64_t depth
    size_t path


cdef cppclass Scratch:
    """Working memory while a tree grows. Tests are numbered: features, then labels."""
    vector[int32_t] rows
    vector[int32_t] moved
    vector[float] values
    vector[int32_t] branch         # of each row of the node
    vector[int64_t] sizes          # of each branch
    vector[uint8_t] used           # tests that the path has used up
    vector[int32_t] path
    vector[int32_t] joined         # features of a disjunction
    vector[Part] stack
    vector[int32_t] count
    vector[int32_t] seen
    int64_t open_features
    int64_t open_labels
    float threshold


cdef inline float _value(const Training* data, int64_t feature, int64_t row) noexcept nogil:
    cdef const Matrix* X = data.X
    cdef int64_t low, high, middle
    if X.dense != NULL:
        return X.dense[feature * X.n_rows + row]
    low = X.indptr[feature]
    high = X.indptr[feature + 1]
    while low < high:
        middle = (low + high) // 2
        if X.indices[middle] < row:
            low = middle + 1
        else:
            high = middle
    if low < X.indptr[feature + 1] and X.indices[low] == row:
        return X.data[low]
    return 0


cdef int64_t _pick_open(
    uint64_t* state, const uint8_t* used, int64_t n, int64_t n_open
) noexcept nogil:
    """Draw one of the tests that are not used; each is equally likely."""
    cdef int64_t i, k
    if 2 * n_open >= n:
        while True:
            i = draw_below(state, n)
            if not used[i]:
                return i
    k = draw_below(state, n_open)
    for i in range(n):
        if not used[i]:
            if k == 0:
                return i
            k -= 1
    return -1


cdef void _use(Scratch* s, const Training* data, int64_t test) noexcept nogil:
    s.used[test] = 1
    s.path.push_back(<int32_t>test)
    if test < data.n_features:
        s.open_features -= 1
    else:
        s.open_labels -= 1


cdef void _leave_path(Scratch* s, const Training* data, size_t length) noexcept nogil:
    cdef int32_t test
    while s.path.size() > length:
        test = s.path.back()
        s.path.pop_back()
        s.used[test] = 0
        if test < data.n_features:
            s.open_features += 1
        else:
            s.open_labels += 1


cdef void _send_missing(Scratch* s, uint64_t* state, int64_t n, int64_t n_known) noexcept nogil:
    """Rows without a value go where a randomly drawn row with a value goes."""
    cdef int64_t i, k
    cdef int32_t b
    cdef vector[int64_t] known = s.sizes
    for i in range(n):
        if s.branch[i] == MISSING:
            k = draw_below(state, n_known)
            b = 0
            while k >= known[b]:
                k -= known[b]
                b += 1
            s.branch[i] = b
            s.sizes[b] += 1


cdef bint _split(
    Scratch* s, const Training* data, uint64_t* state, int8_t kind, int64_t test,
    int64_t start, int64_t n, bint* constant,
) noexcept nogil:
    """Send a node's rows to branches; true if at least two of them get rows.

    `constant` tells that no row below the node could be told from another by this test.
    """
    cdef int64_t i, k, n_known = 0, n_branches = 2
    cdef int32_t row
    cdef float x, least = 0, most = 0
    cdef size_t f
    cdef bint missing
    cdef const uint8_t* y
    for i in range(n):
        row = s.rows[start + i]
        if kind == LABEL:
            y = data.Y + (test - data.n_features) * data.n_rows
            s.branch[i] = y[row]
        elif kind == DISJUNCTION:
            s.branch[i] = 0
            missing = False
            for f in range(s.joined.size()):
                x = _value(data, s.joined[f], row)
                if isnan(x):
                    missing = True
                elif x != 0:
                    s.branch[i] = 1
                    break
            if missing and s.branch[i] == 0:
                s.branch[i] = MISSING
        else:
            x = _value(data, test, row)
            if isnan(x):
                s.branch[i] = MISSING
            elif kind == DISCRETE:
                s.branch[i] = category_number(&data.categories, test, x)
            else:
                s.values[i] = x
                s.branch[i] = 0
                if n_known == 0 or x < least:
                    least = x
                if n_known == 0 or x > most:
                    most = x
        if s.branch[i] != MISSING:
            n_known += 1
    if kind == DISCRETE:
        n_branches = n_categories(&data.categories, test)
    elif kind == NUMERIC:
        if n_known == 0 or least == most:
            constant[0] = True
            return False
        k = draw_below(state, n_known)
        for i in range(n):
            if s.branch[i] != MISSING:
                if k == 0:
                    s.threshold = s.values[i]
                    break
                k -= 1
        for i in range(n):
            if s.branch[i] != MISSING:
                s.branch[i] = s.values[i] > s.threshold
    s.sizes.assign(n_branches, 0)
    for i in range(n):
        if s.branch[i] != MISSING:
            s.sizes[s.branch[i]] += 1
    k = 0
    for i in range(n_branches):
        k += s.sizes[i] > 0
    constant[0] = kind != NUMERIC and k < 2
    if k < 2:
        return False
    if n_known < n:
        _send_missing(s, state, n, n_known)
    return True


cdef void _new_node(Tree* tree, float value) noexcept nogil:
    tree.kind.push_back(LEAF)
    tree.index.push_back(0)
    tree.threshold.push_back(0)
    tree.value.push_back(value)
    tree.child.push_back(0)
    tree.branches.push_back(0)


cdef void _make_leaf(Tree* tree, Scratch* s, const Training* data, Part part) noexcept nogil:
    cdef int64_t i, row, j
    tree.index[part.node] = <int32_t>tree.leaf_size.size()
    tree.leaf_size.push_back(<int32_t>(part.end - part.start))
    s.seen.clear()
    for j in range(data.n_labels):
        for i in range(part.start, part.end):
            if data.Y[j * data.n_rows + s.rows[i]]:
                if s.count[j] == 0:
                    s.seen.push_back(<int32_t>j)
                s.count[j] += 1
    for i in range(<int64_t>s.seen.size()):
        tree.label.push_back(s.seen[i])
        tree.label_count.push_back(s.count[s.seen[i]])
        s.count[s.seen[i]] = 0
    tree.label_end.push_back(<int64_t>tree.label.size())
    s.seen.clear()
    for i in range(part.start, part.end):
        row = data.labelset[s.rows[i]]
        if s.count[row] == 0:
            s.seen.push_back(<int32_t>row)
        s.count[row] += 1
    for i in range(<int64_t>s.seen.size()):
        tree.labelset.push_back(s.seen[i])
        tree.labelset_count.push_back(s.count[s.seen[i]])
        s.count[s.seen[i]] = 0
    tree.labelset_end.push_back(<int64_t>tree.labelset.size())


cdef int8_t _draw_test(
    Scratch* s, const Training* data, uint64_t* state, int64_t* test
) noexcept nogil:
    """Draw a test, and the further features of a disjunction; LEAF if there is none left."""
    cdef bint labels = s.open_labels > 0 and data.label_test_fraction > 0
    cdef bint features = s.open_features > 0 and data.label_test_fraction < 1
    cdef int64_t feature
    cdef int64_t tries
    if not labels and not features:
        return LEAF
    if labels and (draw_uniform(state) < data.label_test_fraction or not features):
        test[0] = data.n_features + _pick_open(
            state, s.used.data() + data.n_features, data.n_labels, s.open_labels
        )
        return LABEL
    test[0] = _pick_open(state, s.used.data(), data.n_features, s.open_features)
    if data.disjunction_size > 1 and data.is_sparse[test[0]]:
        s.joined.clear()
        s.joined.push_back(<int32_t>test[0])
        for tries in range(data.disjunction_size - 1):
            # A feature that is drawn twice changes nothing.
            feature = data.sparse_feature[draw_below(state, data.n_sparse)]
            s.joined.push_back(<int32_t>feature)
        return DISJUNCTION
    if n_categories(&data.categories, test[0]) > 0:
        return DISCRETE
    return NUMERIC


cdef void _add_children(
    Tree* tree, Scratch* s, const Training* data, Part part, int8_t kind, int64_t test,
    uint64_t* state,
) noexcept nogil:
    """Make the node a test: order its rows by branch and put the children on the stack."""
    cdef int64_t i, n = part.end - part.start, at
    cdef Part below
    cdef vector[int64_t] place
    cdef float value
    cdef size_t b
    tree.kind[part.node] = kind
    tree.index[part.node] = <int32_t>test
    tree.child[part.node] = <int32_t>tree.kind.size()
    if kind == NUMERIC:
        tree.threshold[part.node] = s.threshold
    elif kind == LABEL:
        tree.index[part.node] = <int32_t>(test - data.n_features)
        # The test is active where sigma is larger.
        tree.threshold[part.node] = <float>draw_uniform(state)
        if tree.threshold[part.node] >= 1:  # rounded up
            tree.threshold[part.node] = 0
    elif kind == DISJUNCTION:
        tree.index[part.node] = <int32_t>tree.disjunction.size()
        for b in range(s.joined.size()):
            tree.disjunction.push_back(s.joined[b])
        tree.disjunction.push_back(-1)
    at = part.start
    for b in range(s.sizes.size()):
        place.push_back(at)
        if s.sizes[b] == 0:
            continue
        if kind == DISCRETE:
            value = data.categories.value[data.categories.start[test] + <int64_t>b]
        else:
            value = <float>b
        below.node = <int32_t>tree.kind.size()
        below.start = at
        below.end = at + s.sizes[b]
        below.depth = part.depth + 1
        below.path = s.path.size()
        _new_node(tree, value)
        tree.branches[part.node] += 1
        s.stack.push_back(below)
        at += s.sizes[b]
    for i in range(n):
        s.moved[place[s.branch[i]]] = s.rows[part.start + i]
        place[s.branch[i]] += 1
    for i in range(part.start, part.end):
        s.rows[i] = s.moved[i]


cdef void _grow(Tree* tree, const Training* data, uint64_t seed) noexcept nogil:
    cdef uint64_t state = seed
    cdef Scratch s
    cdef Part part
    cdef int64_t i, test = 0
    cdef int8_t kind
    cdef bint constant
    s.rows.resize(data.n_rows)
    s.moved.resize(data.n_rows)
    s.values.resize(data.n_rows)
    s.branch.resize(data.n_rows)
    s.used.assign(data.n_features + data.n_labels, 0)
    s.count.assign(max(data.n_labels, data.n_labelsets), 0)
    s.open_features = data.n_features
    s.open_labels = data.n_labels
    for i in range(data.n_rows):
        s.rows[i] = <int32_t>i
    part.node = 0
    part.start = 0
    part.end = data.n_rows
    part.depth = 0
    part.path = 0
    _new_node(tree, 0)
    s.stack.push_back(part)
    while not s.stack.empty():
        part = s.stack.back()
        s.stack.pop_back()
        _leave_path(&s, data, part.path)
        kind = LEAF
        while part.end - part.start >= data.min_samples_split and part.depth < data.max_depth:
            kind = _draw_test(&s, data, &state, &test)
            if kind == LEAF:
                break
            constant = False
            if _split(&s, data, &state, kind, test, part.start, part.end - part.start, &constant):
                break
            if kind == DISCRETE or kind == LABEL or (constant and kind == NUMERIC and data.retry):
                _use(&s, data, test)
            if not data.retry or kind == DISJUNCTION:
                part.depth += 1
            kind = LEAF
        if kind == LEAF:
            _make_leaf(tree, &s, data, part)
            continue
        if kind == DISCRETE or kind == LABEL:
            _use(&s, data, test)
        _add_children(tree, &s, data, part, kind, test, &state)


def build(X, category, category_start, sparse_feature, is_sparse, Y, labelset,
          seeds, max_depth, min_samples_split, label_test_fraction, disjunction_size, retry,
          n_threads):
    """Grow one tree per seed; see ``_tree.pyi``."""
    cdef Training data
    cdef HeldMatrix held = HeldMatrix(X, "F", "csc")
    cdef const int32_t[::1] sparse_view = sparse_feature
    cdef const uint8_t[::1] is_sparse_view = is_sparse
    cdef const uint8_t[::1, :] Y_view = Y
    cdef const int32_t[::1] labelset_view = labelset
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t t, n_trees = seed.shape[0]
    cdef int threads = n_threads
    data.n_rows = Y_view.shape[0]
    data.n_labels = Y_view.shape[1]
    data.n_features = is_sparse_view.shape[0]
    data.X = &held.matrix
    data.categories = categories_of(category, category_start)
    data.sparse_feature = &sparse_view[0] if sparse_view.shape[0] else NULL
    data.n_sparse = sparse_view.shape[0]
    data.is_sparse = &is_sparse_view[0]
    data.Y = &Y_view[0, 0]
    data.labelset = &labelset_view[0]
    data.n_labelsets = int(np.max(labelset)) + 1
    data.max_depth = max_depth
    data.min_samples_split = min_samples_split
    data.label_test_fraction = label_test_fraction
    data.disjunction_size = disjunction_size
    data.retry = retry
    cdef vector[Tree] trees
    trees.resize(n_trees)
    cdef Tree* grown = trees.data()
    cdef const Training* source = &data
    for t in prange(n_trees, nogil=True, schedule="dynamic", chunksize=1, num_threads=threads):
        _grow(&grown[t], source, seed[t])
    return _joined(grown, n_trees)


cdef object _joined(Tree* trees, int64_t n_trees):
    """All trees in one set of arrays, their references moved along."""
    cdef int64_t t, i, nodes = 0, leaves = 0, n_labels = 0, n_labelsets = 0, joins = 0
    for t in range(n_trees):
        nodes += trees[t].kind.size()
        leaves += trees[t].leaf_size.size()
        n_labels += trees[t].label.size()
        n_labelsets += trees[t].labelset.size()
        joins += trees[t].disjunction.size()
    if nodes > 2147483647:
        raise ValueError(
            f"The trees have {nodes} nodes together; no more than 2147483647 can be numbered. "
            "Take fewer trees, a smaller max_depth or a larger min_samples_split."
        )
    start = np.empty(n_trees + 1, np.int64)
    kind = np.empty(nodes, np.int8)
    index = np.empty(nodes, np.int32)
    threshold = np.empty(nodes, np.float32)
    value = np.empty(nodes, np.float32)
    child = np.empty(nodes, np.int32)
    branches = np.empty(nodes, np.int32)
    disjunction = np.empty(joins, np.int32)
    leaf_size = np.empty(leaves, np.int32)
    label_start = np.zeros(leaves + 1, np.int64)
    label = np.empty(n_labels, np.int32)
    label_count = np.empty(n_labels, np.int32)
    labelset_start = np.zeros(leaves + 1, np.int64)
    labelset = np.empty(n_labelsets, np.int32)
    labelset_count = np.empty(n_labelsets, np.int32)
    cdef int64_t[::1] v_start = start
    cdef int8_t[::1] v_kind = kind
    cdef int32_t[::1] v_index = index
    cdef int32_t[::1] v_child = child
    cdef int64_t[::1] v_label_start = label_start
    cdef int64_t[::1] v_labelset_start = labelset_start
    cdef int64_t node = 0, leaf = 0, at_label = 0, at_labelset = 0, join = 0
    cdef int64_t n
    for t in range(n_trees):
        v_start[t] = node
        n = trees[t].kind.size()
        for i in range(n):
            v_kind[node + i] = trees[t].kind[i]
            v_index[node + i] = trees[t].index[i]
            if trees[t].kind[i] == LEAF:
                v_index[node + i] += leaf
            elif trees[t].kind[i] == DISJUNCTION:
                v_index[node + i] += join
            v_child[node + i] = trees[t].child[i] + node
        threshold[node:node + n] = as_array(trees[t].threshold.data(), trees[t].threshold.size())
        value[node:node + n] = as_array(trees[t].value.data(), trees[t].value.size())
        branches[node:node + n] = as_array(trees[t].branches.data(), trees[t].branches.size())
        node += n
        n = trees[t].leaf_size.size()
        leaf_size[leaf:leaf + n] = as_array(trees[t].leaf_size.data(), trees[t].leaf_size.size())
        for i in range(n):
            v_label_start[leaf + i + 1] = at_label + trees[t].label_end[i]
            v_labelset_start[leaf + i + 1] = at_labelset + trees[t].labelset_end[i]
        leaf += n
        n = trees[t].label.size()
        label[at_label:at_label + n] = as_array(trees[t].label.data(), trees[t].label.size())
        label_count[at_label:at_label + n] = as_array(trees[t].label_count.data(), trees[t].label_count.size())
        at_label += n
        n = trees[t].labelset.size()
        labelset[at_labelset:at_labelset + n] = as_array(trees[t].labelset.data(), trees[t].labelset.size())
        labelset_count[at_labelset:at_labelset + n] = as_array(trees[t].labelset_count.data(), trees[t].labelset_count.size())
        at_labelset += n
        n = trees[t].disjunction.size()
        disjunction[join:join + n] = as_array(trees[t].disjunction.data(), trees[t].disjunction.size())
        join += n
    v_start[n_trees] = node
    return {
        "start": start, "kind": kind, "index": index, "threshold": threshold, "value": value,
        "child": child, "branches": branches, "disjunction": disjunction,
        "leaf_size": leaf_size, "label_start": label_start, "label": label,
        "label_count": label_count, "labelset_start": labelset_start, "labelset": labelset,
        "labelset_count": labelset_count,
    }


# ---------------------------------------------------------------------------------- prediction


cdef cppclass View:
    """A forest's arrays, and how its trees are weighed."""
    int64_t n_trees
    int64_t n_targets
    const int64_t* start
    const int8_t* kind
    const int32_t* index
    const float* threshold
    const float* value
    const int32_t* child
    const int32_t* branches
    const int32_t* disjunction
    const int32_t* leaf_size
    const int64_t* target_start
    const int32_t* target
    const int32_t* target_count
    double sigma
    bint gini
    double size_exponent


cdef cppclass Step:
    """A node to be visited: the path's length above it, and the label test that leads to it."""
    int32_t node
    size_t path
    int32_t label
    int8_t value


cdef cppclass Contradiction:
    """A leaf of the instance that goes when a label takes the value; the next of that label."""
    int32_t leaf
    int8_t value
    int64_t following


cdef cppclass Instance:
    """Working memory for one instance: the leaves it reaches and its trees' sums."""
    vector[float] x                # features, if X is sparse
    vector[Step] stack
    vector[int32_t] path_label
    vector[int8_t] path_value
    vector[int32_t] leaf           # reached leaves, their trees, whether they still count
    vector[int32_t] leaf_tree
    vector[uint8_t] alive
    vector[Contradiction] contradiction
    vector[int64_t] first          # of each label, -1 if none
    vector[double] size            # [n_trees]
    vector[double] positives       # [n_trees, n_targets]
    vector[double] proba           # [n_trees, n_targets]
    vector[double] weight          # [n_trees]
    vector[double] n_positive      # [n_trees], expected number of positive targets
    vector[uint8_t] changed        # [n_trees]
    vector[double] mean            # [n_targets]
    double R


cdef inline int32_t _branch(const View* forest, int32_t node, const float* x) noexcept nogil:
    """Child that a feature test leads to; MISSING if its value is missing or has no branch."""
    cdef int32_t child = forest.child[node], b, f
    cdef int8_t kind = forest.kind[node]
    cdef bint missing = False
    cdef float value
    if kind == DISJUNCTION:
        b = forest.index[node]
        while forest.disjunction[b] >= 0:
            value = x[forest.disjunction[b]]
            if isnan(value):
                missing = True
            elif value != 0:
                return child + 1
            b += 1
        return MISSING if missing else child
    value = x[forest.index[node]]
    if isnan(value):
        return MISSING
    if kind == NUMERIC:
        return child + (value > forest.threshold[node])
    for b in range(forest.branches[node]):
        if forest.value[child + b] == value:
            return child + b
    return MISSING


cdef void _push(Instance* s, int32_t node, int32_t label, int8_t value) noexcept nogil:
    cdef Step step
    step.node = node
    step.path = s.path_label.size()
    step.label = label
    step.value = value
    s.stack.push_back(step)


cdef void _reach(const View* forest, Instance* s, int32_t leaf, int32_t tree) noexcept nogil:
    """Add a leaf to its tree's sums, and to the lists of the labels that can rule it out."""
    cdef size_t i
    cdef int64_t k
    cdef Contradiction item
    cdef double* positives = s.positives.data() + tree * forest.n_targets
    s.size[tree] += forest.leaf_size[leaf]
    for k in range(forest.target_start[leaf], forest.target_start[leaf + 1]):
        positives[forest.target[k]] += forest.target_count[k]
    if s.path_label.empty():
        return
    item.leaf = <int32_t>s.leaf.size()
    s.leaf.push_back(leaf)
    s.leaf_tree.push_back(tree)
    s.alive.push_back(1)
    for i in range(s.path_label.size()):
        item.value = 1 - s.path_value[i]
        item.following = s.first[s.path_label[i]]
        s.first[s.path_label[i]] = <int64_t>s.contradiction.size()
        s.contradiction.push_back(item)


cdef void _walk(
    const View* forest, Instance* s, int32_t tree, const float* x, const int8_t* known
) noexcept nogil:
    """Find the leaves that an instance reaches in a tree; `known` is NULL or 0, 1, -1 a label."""
    cdef Step step
    cdef int32_t node, b, to, label
    _push(s, <int32_t>forest.start[tree], -1, 0)
    while not s.stack.empty():
        step = s.stack.back()
        s.stack.pop_back()
        s.path_label.resize(step.path)
        s.path_value.resize(step.path)
        if step.label >= 0:
            s.path_label.push_back(step.label)
            s.path_value.push_back(step.value)
        node = step.node
        while True:
            if forest.kind[node] == LEAF:
                _reach(forest, s, forest.index[node], tree)
                break
            to = MISSING
            label = -1
            if forest.kind[node] != LABEL:
                to = _branch(forest, node, x)
            elif forest.threshold[node] < forest.sigma:
                label = forest.index[node]
                if known != NULL:
                    if known[label] >= 0:
                        to = forest.child[node] + known[label]
                    label = -1
            if to == MISSING:
                for b in range(forest.branches[node]):
                    _push(s, forest.child[node] + b, label, <int8_t>b)
                break
            node = to
    s.path_label.clear()
    s.path_value.clear()


cdef void _evaluate_tree(const View* forest, Instance* s, int64_t tree) noexcept nogil:
    """Equations 1 to 3 for one tree."""
    cdef int64_t j, n = forest.n_targets
    cdef const double* positives = s.positives.data() + tree * n
    cdef double* proba = s.proba.data() + tree * n
    cdef double total = 0, impurity = 0, weight = 1
    cdef double size = s.size[tree]
    for j in range(n):
        proba[j] = positives[j] / size
        total += positives[j]
    if forest.gini:
        for j in range(n):
            impurity += proba[j] * (1 - proba[j])
        weight = 1 - 4 * impurity / n
        if weight < 0:
            weight = 0
    if forest.size_exponent != 0:
        weight *= pow(size, forest.size_exponent)
    s.weight[tree] = weight
    s.n_positive[tree] = total / size


cdef void _average(const View* forest, Instance* s) noexcept nogil:
    """Equations 2 and 4: the weighted means over the trees, in their order."""
    cdef int64_t t, j, n = forest.n_targets
    cdef double weight, total = 0
    cdef const double* proba
    cdef double* mean = s.mean.data()
    cdef bint equal
    for t in range(forest.n_trees):
        total += s.weight[t]
    # Every tree is as unsure as can be: none is better than another.
    equal = total == 0
    if equal:
        total = <double>forest.n_trees
    s.R = 0
    for j in range(n):
        mean[j] = 0
    for t in range(forest.n_trees):
        weight = 1 if equal else s.weight[t]
        proba = s.proba.data() + t * n
        for j in range(n):
            mean[j] += weight * proba[j]
        s.R += weight * s.n_positive[t]
    for j in range(n):
        mean[j] /= total
    s.R /= total


cdef void _start(
    const View* forest, Instance* s, const float* x, const int8_t* known
) noexcept nogil:
    cdef int64_t t
    s.leaf.clear()
    s.leaf_tree.clear()
    s.alive.clear()
    s.contradiction.clear()
    s.first.assign(forest.n_targets, -1)
    s.size.assign(forest.n_trees, 0)
    s.positives.assign(forest.n_trees * forest.n_targets, 0)
    s.proba.resize(forest.n_trees * forest.n_targets)
    s.weight.resize(forest.n_trees)
    s.n_positive.resize(forest.n_trees)
    s.changed.assign(forest.n_trees, 0)
    s.mean.resize(forest.n_targets)
    for t in range(forest.n_trees):
        _walk(forest, s, <int32_t>t, x, known)
        _evaluate_tree(forest, s, t)
    _average(forest, s)


cdef void _shrink(const View* forest, Instance* s, int64_t label, int8_t value) noexcept nogil:
    """Take the leaves out that contradict a label, and evaluate their trees again."""
    cdef int64_t at = s.first[label], k, t
    cdef int32_t leaf
    cdef double* positives
    cdef Contradiction item
    cdef bint any_changed = False
    while at >= 0:
        item = s.contradiction[at]
        if item.value == value and s.alive[item.leaf]:
            s.alive[item.leaf] = 0
            leaf = s.leaf[item.leaf]
            t = s.leaf_tree[item.leaf]
            positives = s.positives.data() + t * forest.n_targets
            s.size[t] -= forest.leaf_size[leaf]
            for k in range(forest.target_start[leaf], forest.target_start[leaf + 1]):
                positives[forest.target[k]] -= forest.target_count[k]
            s.changed[t] = 1
            any_changed = True
        at = item.following
    if not any_changed:
        return
    for t in range(forest.n_trees):
        if s.changed[t]:
            s.changed[t] = 0
            _evaluate_tree(forest, s, t)
    _average(forest, s)


cdef cppclass Chain:
    """How a chain goes on; `order` is NULL if the next label is chosen for every instance."""
    const int64_t* order
    bint by_number                 # the label method: about R positives
    bint positive_only
    bint early_stop


cdef int64_t _next_label(
    const View* forest, const Instance* s, const Chain* chain, const int8_t* decided,
    int64_t iteration,
) noexcept nogil:
    cdef int64_t j, best = -1
    cdef double value, most = -1
    if chain.order != NULL:
        return chain.order[iteration]
    for j in range(forest.n_targets):
        if decided[j] < 0:
            value = s.mean[j] if chain.positive_only else fabs(0.5 - s.mean[j])
            if value > most:
                most = value
                best = j
    return best


cdef void _run_chain(
    const View* forest, Instance* s, const Chain* chain, int8_t* decided, double* proba,
    int64_t* labels, double* numbers,
) noexcept nogil:
    """Decide one instance's labels; the leaves it reaches are in `s`.

    All outputs have an entry per label: `decided` and `proba` by label, `labels` and `numbers`
    (R) by iteration, -1 and NaN where the chain ended before.
    """
    cdef int64_t n = forest.n_targets, i, j, n_positive = 0, n_negative = 0
    cdef double R
    cdef bint positive, rest = False
    for j in range(n):
        decided[j] = -1
    for i in range(n):
        R = floor(s.R + 0.5)
        if chain.early_stop and (n_positive >= R or n - n_negative <= R):
            rest = n_positive < R
            break
        j = _next_label(forest, s, chain, decided, i)
        if chain.by_number:
            if chain.positive_only:
                positive = n_positive < R
            else:
                positive = (s.mean[j] >= 0.5 and n_positive < R) or n - n_negative <= R
        else:
            positive = s.mean[j] >= 0.5
        if chain.positive_only and not positive:
            break
        decided[j] = positive
        proba[j] = s.mean[j]
        labels[i] = j
        numbers[i] = s.R
        if positive:
            n_positive += 1
        else:
            n_negative += 1
        _shrink(forest, s, j, positive)
    for j in range(n):
        if decided[j] < 0:
            decided[j] = rest
            proba[j] = s.mean[j]


cdef View _view(forest, bint labelsets, double sigma, bint gini, double size_exponent):
    """Pointers into the arrays; `forest` has to stay alive."""
    cdef View view
    cdef const int64_t[::1] start = forest.start
    cdef const int8_t[::1] kind = forest.kind
    cdef const int32_t[::1] index = forest.index
    cdef const float[::1] threshold = forest.threshold
    cdef const float[::1] value = forest.value
    cdef const int32_t[::1] child = forest.child
    cdef const int32_t[::1] branches = forest.branches
    cdef const int32_t[::1] disjunction = forest.disjunction
    cdef const int32_t[::1] leaf_size = forest.leaf_size
    cdef const int64_t[::1] target_start = (
        forest.labelset_start if labelsets else forest.label_start
    )
    cdef const int32_t[::1] target = forest.labelset if labelsets else forest.label
    cdef const int32_t[::1] count = forest.labelset_count if labelsets else forest.label_count
    view.n_trees = start.shape[0] - 1
    view.n_targets = forest.n_labelsets if labelsets else forest.n_labels
    view.start = &start[0]
    view.kind = &kind[0]
    view.index = &index[0]
    view.threshold = &threshold[0]
    view.value = &value[0]
    view.child = &child[0]
    view.branches = &branches[0]
    view.disjunction = &disjunction[0] if disjunction.shape[0] else NULL
    view.leaf_size = &leaf_size[0]
    view.target_start = &target_start[0]
    view.target = &target[0] if target.shape[0] else NULL
    view.target_count = &count[0] if count.shape[0] else NULL
    view.sigma = sigma
    view.gini = gini
    view.size_exponent = size_exponent
    return view


def posteriors(forest, X, known, labelsets, sigma, gini,
               size_exponent, n_threads):
    """Weighted mean posteriors and R of every instance; see ``_tree.pyi``."""
    cdef View view = _view(forest, labelsets, sigma, gini, size_exponent)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t i, j, n = held.matrix.n_rows, n_targets = view.n_targets
    cdef int threads = n_threads
    cdef const int8_t[:, ::1] known_view
    cdef const int8_t* known_data = NULL
    if known is not None:
        known_view = known
        known_data = &known_view[0, 0]
    proba = np.empty((n, n_targets))
    numbers = np.empty(n)
    cdef double[:, ::1] v_proba = proba
    cdef double[::1] v_numbers = numbers
    cdef vector[Instance] memory
    memory.resize(threads)
    cdef Instance* own = memory.data()
    cdef Instance* s
    cdef const View* f = &view
    cdef const Matrix* x = &held.matrix
    cdef int64_t n_labels = forest.n_labels
    cdef vector[int8_t] none
    none.assign(n_labels, -1)
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="dynamic", chunksize=8):
            s = own + threadid()
            _start(f, s, load_row(x, &s.x, i),
                   known_data + i * n_labels if known_data != NULL else none.data())
            for j in range(n_targets):
                v_proba[i, j] = s.mean[j]
            v_numbers[i] = s.R
            unload_row(x, &s.x, i)
    return proba, numbers


def chain(forest, X, order, by_number, positive_only, early_stop,
          sigma, gini, size_exponent, n_threads):
    """Decide the labels of every instance one after the other; see ``_tree.pyi``."""
    cdef View view = _view(forest, False, sigma, gini, size_exponent)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t i, n = held.matrix.n_rows, n_labels = view.n_targets
    cdef int threads = n_threads
    cdef Chain how
    cdef const int64_t[::1] order_view
    how.order = NULL
    if order is not None:
        order_view = order
        how.order = &order_view[0]
    how.by_number = by_number
    how.positive_only = positive_only
    how.early_stop = early_stop
    decided = np.empty((n, n_labels), np.int8)
    proba = np.empty((n, n_labels))
    labels = np.full((n, n_labels), -1, np.int64)
    numbers = np.full((n, n_labels), np.nan)
    cdef int8_t[:, ::1] v_decided = decided
    cdef double[:, ::1] v_proba = proba
    cdef int64_t[:, ::1] v_labels = labels
    cdef double[:, ::1] v_numbers = numbers
    cdef vector[Instance] memory
    memory.resize(threads)
    cdef Instance* own = memory.data()
    cdef Instance* s
    cdef const View* f = &view
    cdef const Matrix* x = &held.matrix
    cdef const Chain* c = &how
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="dynamic", chunksize=8):
            s = own + threadid()
            _start(f, s, load_row(x, &s.x, i), NULL)
            _run_chain(f, s, c, &v_decided[i, 0], &v_proba[i, 0], &v_labels[i, 0],
                       &v_numbers[i, 0])
            unload_row(x, &s.x, i)
    return decided, proba, labels, numbers
