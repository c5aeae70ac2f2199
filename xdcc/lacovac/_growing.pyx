"""Growing label trees (Algorithm 1): a leaf, else clusters of labels, else a horizontal split.

A node's rows lie next to each other in one array of row numbers, which horizontal splits order by
child in place; the children of a vertical split share their parent's rows. Nodes wait on a stack.
For each one labels are counted (``_node_labels``), then clustered (``_clusters``), then a split is
searched (``_split_search``). Threads share the trees, or the search if there is only one tree;
nothing depends on their number.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport categories_of
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.lacovac._branches cimport find_branches
from xdcc.lacovac._clusters cimport find_clusters
from xdcc.lacovac._feature_values cimport collect_values
from xdcc.lacovac._grown_tree cimport GrownTree, add_child, add_root, arrays_of_tree
from xdcc.lacovac._label_rows cimport HeldLabels
from xdcc.lacovac._node_kinds cimport LEAF, NOMINAL, NUMERIC, VERTICAL
from xdcc.lacovac._node_labels cimport NodeLabels, count_labels, count_pairs
from xdcc.lacovac._rules cimport (
    ALL_OR_NONE, COVARIANCE, GAIN_RATIO, SINGLE_LINKAGE, TOGETHER, VARIANCE, Rules
)
from xdcc.lacovac._split_search cimport Scan, Split, SplitSearch, find_split
from xdcc.lacovac._training cimport Training

KINDS = {"leaf": LEAF, "vertical": VERTICAL, "numeric": NUMERIC, "nominal": NOMINAL}

cdef dict CRITERIA = {
    "covariance": COVARIANCE, "variance": VARIANCE, "gain_ratio": GAIN_RATIO
}
cdef dict CLUSTERINGS = {
    None: TOGETHER, "single_linkage": SINGLE_LINKAGE, "all_or_none": ALL_OR_NONE
}


cdef struct Waiting:
    int32_t node
    int64_t begin                  # the node has the rows from begin to end
    int64_t end
    bint is_clustered              # its labels are a cluster, of the same rows


cdef cppclass Growth:
    """What growing one tree needs."""
    const Training* training
    GrownTree* tree
    vector[int32_t] rows           # ordered by node
    vector[int32_t] ordered        # memory for ordering them
    vector[Waiting] waiting
    vector[int32_t] labels         # of the node
    vector[int32_t] cluster        # first label of each varying label's cluster, by number
    NodeLabels counts
    SplitSearch search


# ------------------------------------------------------------------------------- vertical splits


cdef bint split_labels(Growth* growth, Waiting above) noexcept nogil:
    """Make a node a vertical split if its labels are in more than one cluster.

    Clusters are in the order of their first labels; a constant label is one of its own.
    """
    cdef GrownTree* tree = growth.tree
    cdef const NodeLabels* counts = &growth.counts
    cdef int64_t n_labels = <int64_t>growth.labels.size(), i, j
    cdef int32_t label, number
    cdef vector[int32_t] first_of_number    # first label of the cluster that a number stands for
    cdef vector[int32_t] first              # [n_labels]: first label of each label's cluster
    cdef bint is_split = False
    cdef Waiting below = above
    first_of_number.assign(counts.n_varying, -1)
    first.resize(n_labels)
    for j in range(n_labels):
        label = growth.labels[j]
        first[j] = label
        if 0 < counts.n_positive[label] < counts.n_rows:
            number = growth.cluster[counts.number[label]]
            if first_of_number[number] < 0:
                first_of_number[number] = label
            first[j] = first_of_number[number]
        is_split = is_split or first[j] != first[0]
    if not is_split:
        return False
    tree.kind[above.node] = VERTICAL
    below.is_clustered = True
    for j in range(n_labels):
        if first[j] != growth.labels[j]:
            continue
        for i in range(j, n_labels):
            if first[i] == growth.labels[j]:
                tree.list_label.push_back(growth.labels[i])
        tree.list_start.push_back(<int64_t>tree.list_label.size())
        below.node = add_child(tree, above.node, counts.n_rows, tree.depth[above.node],
                               <int32_t>tree.list_start.size() - 2)
        growth.waiting.push_back(below)
    return True


# ----------------------------------------------------------------------------- horizontal splits


cdef int32_t send_rows(Scan* scan, const Split* split) noexcept nogil:
    """Find the branch of each row of the node; return the one that takes unknown values.

    It uses the memory of a scan.
    """
    cdef int64_t i
    if split.kind == NOMINAL:
        find_branches(&scan.branches, &scan.values, &scan.training.categories, split.feature,
                      scan.node.n_rows, scan.training.rules.min_samples_leaf)
        return scan.branches.largest
    scan.branches.category.assign(scan.node.n_rows, 0 > split.threshold)
    for i in range(<int64_t>scan.values.nonzero.size()):
        scan.branches.category[scan.values.nonzero[i].position] = (
            scan.values.nonzero[i].value > split.threshold
        )
    for i in range(<int64_t>scan.values.missing.size()):
        scan.branches.category[scan.values.missing[i]] = split.missing_right
    return split.missing_right


cdef void split_rows(Growth* growth, Waiting above, const Split* split) noexcept nogil:
    """Make a node a horizontal split and order its rows by child."""
    cdef const Training* training = growth.training
    cdef GrownTree* tree = growth.tree
    cdef Scan* scan = growth.search.scans.data()
    cdef int32_t unknown, branch, n_branches = 2
    cdef int64_t i, at = above.begin
    cdef Waiting below
    collect_values(&scan.values, &growth.search.features, &training.X, &growth.counts, split.at)
    unknown = send_rows(scan, split)
    tree.kind[above.node] = split.kind
    tree.feature[above.node] = split.feature
    if split.kind == NUMERIC:
        tree.threshold[above.node] = split.threshold
    else:
        n_branches = <int32_t>scan.branches.start.size() - 1
    below.is_clustered = False
    for branch in range(n_branches):
        below.begin = at
        for i in range(above.end - above.begin):
            if scan.branches.category[i] == branch:
                growth.ordered[at] = growth.rows[above.begin + i]
                at += 1
        below.end = at
        if below.end == below.begin:
            continue
        if branch == unknown:
            tree.default_child[above.node] = tree.n_children[above.node]
        below.node = add_child(tree, above.node, below.end - below.begin,
                               tree.depth[above.node] + 1, tree.label_list[above.node])
        if split.kind == NOMINAL:
            tree.value[below.node] = training.categories.value[
                training.categories.start[split.feature] + branch
            ]
        growth.waiting.push_back(below)
    for i in range(above.begin, above.end):
        growth.rows[i] = growth.ordered[i]


# ----------------------------------------------------------------------------------------- trees


cdef bint count_node(Growth* growth, Waiting part) noexcept nogil:
    """Count the labels of a node; False if it stays a leaf."""
    cdef GrownTree* tree = growth.tree
    cdef NodeLabels* counts = &growth.counts
    cdef const Rules* rules = &growth.training.rules
    cdef int32_t label_list = tree.label_list[part.node]
    cdef int64_t label
    cdef double sum_variance = 0
    growth.labels.assign(tree.list_label.data() + tree.list_start[label_list],
                         tree.list_label.data() + tree.list_start[label_list + 1])
    counts.rows = growth.rows.data() + part.begin
    counts.n_rows = part.end - part.begin
    count_labels(counts, &growth.training.Y, &growth.labels)
    for label in range(counts.n_varying):
        sum_variance += counts.variance[label]
    tree.impurity[part.node] = sum_variance / (<double>counts.n_rows * <double>counts.n_rows)
    return counts.n_varying > 0 and counts.n_rows >= rules.min_samples_split and not (
        0 <= rules.max_depth <= tree.depth[part.node]
    )


cdef bint separate_labels(Growth* growth, Waiting part) noexcept nogil:
    """Try a vertical split."""
    cdef const Rules* rules = &growth.training.rules
    cdef double n_rows = <double>growth.counts.n_rows
    if rules.clustering == TOGETHER or part.is_clustered:
        return False
    if rules.threshold_of_train:
        n_rows = <double>growth.rows.size()
    return find_clusters(
        &growth.counts, rules.clustering, n_rows, &growth.cluster
    ) and split_labels(growth, part)


cdef void grow_tree(GrownTree* tree, const Training* training, const int32_t[::1] rows,
                    uint64_t seed, int n_threads) noexcept nogil:
    cdef Growth growth
    cdef const Rules* rules = &training.rules
    cdef const Split* split
    cdef Waiting part
    cdef int64_t n_rows = rows.shape[0], n_labels = training.Y.n_labels
    growth.training = training
    growth.tree = tree
    growth.rows.assign(&rows[0], &rows[0] + n_rows)
    growth.ordered.resize(n_rows)
    growth.counts.number.resize(n_labels)
    growth.counts.n_positive.resize(n_labels)
    growth.counts.is_counted.resize(n_labels, 0)
    growth.search.training = training
    growth.search.random_state = seed
    growth.search.scans.resize(n_threads)
    add_root(tree, n_labels, n_rows)
    part.node = 0
    part.begin = 0
    part.end = n_rows
    part.is_clustered = False
    growth.waiting.push_back(part)
    while not growth.waiting.empty():
        part = growth.waiting.back()
        growth.waiting.pop_back()
        if not count_node(&growth, part):
            continue
        if rules.criterion == COVARIANCE or rules.clustering != TOGETHER:
            count_pairs(&growth.counts)
        if separate_labels(&growth, part):
            continue
        split = find_split(&growth.search, &growth.counts)
        if split != NULL:
            split_rows(&growth, part, split)


cdef Rules rules_of(rules):
    cdef Rules given
    given.criterion = CRITERIA[rules.criterion]
    given.clustering = CLUSTERINGS[rules.clustering]
    given.threshold_of_train = rules.threshold_size == "train"
    given.max_depth = -1 if rules.max_depth is None else rules.max_depth
    given.min_samples_split = rules.min_samples_split
    given.min_samples_leaf = rules.min_samples_leaf
    given.max_features = rules.max_features
    return given


def grow(X, Y, categories, rules, rows, seeds, n_threads):
    """Grow one tree per seed; see ``_growing.pyi``."""
    cdef const int32_t[:, ::1] rows_of_tree = rows
    cdef const uint64_t[::1] seed_of_tree = seeds
    cdef int64_t i, n_trees = rows_of_tree.shape[0], n_rows = rows_of_tree.shape[1]
    cdef int n_growing = min(n_threads, n_trees), n_searching = n_threads if n_trees == 1 else 1
    # These arrays stay alive while the kernel reads them.
    cdef HeldMatrix held_X = HeldMatrix(X, "F", "csr")
    cdef HeldLabels held_Y = HeldLabels(Y)
    values, start = categories
    n = np.arange(n_rows + 1, dtype=np.float64)
    cdef const double[::1] nlogn = n * np.log2(np.maximum(n, 1))
    cdef Training training
    training.X = held_X.matrix
    training.Y = held_Y.rows
    training.categories = categories_of(values, start)
    training.nlogn = &nlogn[0]
    training.rules = rules_of(rules)
    cdef const Training* shared = &training
    cdef vector[GrownTree] trees
    trees.resize(n_trees)
    cdef GrownTree* tree = trees.data()
    if n_growing == 1:
        with nogil:
            for i in range(n_trees):
                grow_tree(tree + i, shared, rows_of_tree[i], seed_of_tree[i], n_searching)
    else:
        with nogil:
            for i in prange(n_trees, schedule="dynamic", chunksize=1, num_threads=n_growing):
                grow_tree(tree + i, shared, rows_of_tree[i], seed_of_tree[i], 1)
    return [arrays_of_tree(tree + i) for i in range(n_trees)]
