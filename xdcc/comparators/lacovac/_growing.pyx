"""Training kernel: grow label trees (Algorithm 1).

For each node, count the labels (``_node.pyx``), then cluster them, which gives a vertical split, or
search a horizontal split (``_split_search.pyx``). The rows of a node are contiguous in an array of
row indices; horizontal splits sort them by child in place, and the children of a vertical split
share the rows of their parent. Threads share the trees, or the search if there is only one tree;
the results do not depend on their number.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.categories cimport categories_of
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.kernels.threads cimport run_loop
from xdcc.comparators.lacovac._node cimport (
    NodeLabels, absolute_covariances, collect_values, count_labels, count_pairs, find_branches
)
from xdcc.comparators.lacovac._split_search cimport Scan, Split, SplitSearch, find_split
from xdcc.comparators.lacovac._training cimport (
    ALL_OR_NONE, COVARIANCE, GAIN_RATIO, LEAF, NOMINAL, NUMERIC, SINGLE_LINKAGE, TOGETHER, VARIANCE,
    VERTICAL, Rules, Training, label_rows_of
)

KINDS = {"leaf": LEAF, "vertical": VERTICAL, "numeric": NUMERIC, "nominal": NOMINAL}

cdef dict CRITERIA = {
    "covariance": COVARIANCE, "variance": VARIANCE, "gain_ratio": GAIN_RATIO
}
cdef dict CLUSTERINGS = {
    None: TOGETHER, "single_linkage": SINGLE_LINKAGE, "all_or_none": ALL_OR_NONE
}

cdef double Z = 1.96                              # two-sided 95 % of the normal distribution
cdef double FOLDED_MEAN = 0.7978845608028654      # of |N(0, 1)|: sqrt(2 / pi)
cdef double FOLDED_VARIANCE = 0.3633802276324186  # 1 - 2 / pi
cdef double INFINITE = float("inf")


# --------------------------------------------------------------------------------- a growing tree


cdef cppclass GrownTree:
    """The arrays of `LabelTrees` for one tree; the children of a node are contiguous."""
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
    """Add the root, which has all labels."""
    cdef int64_t label
    tree.list_start.push_back(0)
    for label in range(n_labels):
        tree.list_label.push_back(<int32_t>label)
    tree.list_start.push_back(n_labels)
    add_node(tree, n_samples, 0, 0)


cdef inline int32_t add_child(
    GrownTree* tree, int32_t parent, int64_t n_samples, int32_t depth, int32_t label_list
) noexcept nogil:
    """Add a leaf below a node and return its index."""
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
    """Return the arrays of a tree by their names in `LabelTrees`."""
    return {
        "kind": as_array[int8_t](tree.kind),
        "feature": as_array[int32_t](tree.feature),
        "threshold": as_array[float](tree.threshold),
        "value": as_array[float](tree.value),
        "child": as_array[int32_t](tree.child),
        "n_children": as_array[int32_t](tree.n_children),
        "default_child": as_array[int32_t](tree.default_child),
        "n_samples": as_array[int32_t](tree.n_samples),
        "depth": as_array[int32_t](tree.depth),
        "impurity": as_array[double](tree.impurity),
        "label_list": as_array[int32_t](tree.label_list),
        "list_start": as_array[int64_t](tree.list_start),
        "list_label": as_array[int32_t](tree.list_label),
    }


cdef struct OpenNode:
    int32_t node
    int64_t begin                  # its rows are rows[begin:end]
    int64_t end
    bint is_clustered              # whether its labels are a cluster of its parent's


cdef cppclass Growth:
    """Data and working memory for growing one tree."""
    const Training* training
    GrownTree* tree
    vector[int32_t] rows           # row indices, sorted by node
    vector[int32_t] sorted         # working memory for sorting them
    vector[OpenNode] stack
    vector[int32_t] labels         # labels of the node
    vector[int32_t] cluster        # [n_varying] first label of the cluster of each varying label
    NodeLabels counts
    SplitSearch search


# ----------------------------------------------------------------------------- clusters of labels

# LaCovaC (Algorithm 2) links labels whose absolute correlation is above a threshold. Single linkage
# cut at this threshold gives the connected components, computed here by union-find, in NumPy in
# ``clustering.py``. LaCova applies one test and keeps all labels together or separates all.


cdef bint find_clusters(const NodeLabels* node, int clustering, double n_rows,
                        vector[int32_t]* cluster) noexcept nogil:
    """Find the first label of the cluster of each varying label.

    The thresholds depend on `n_rows`. Returns false if LaCova keeps all labels together.
    """
    cdef int32_t label
    if clustering == ALL_OR_NONE and are_dependent(node, n_rows):
        return False
    cluster.resize(node.n_varying)
    for label in range(<int32_t>node.n_varying):
        cluster[0][label] = label
    if clustering != ALL_OR_NONE:
        link_correlated(node, n_rows, cluster.data())
    return True


cdef bint are_dependent(const NodeLabels* node, double n_rows) noexcept nogil:
    """Test whether the sum of absolute covariances is significantly large (LaCova).

    A covariance of independent labels has mean 0 and variance v_j v_k / (n - 1); the sum of
    absolute values is assumed to be normal.
    """
    cdef double total = 0, mean = 0, variance = 0, scale
    cdef int64_t one, other, n_varying = node.n_varying
    if n_rows <= 1:
        return False
    for one in range(n_varying):
        total += absolute_covariances(
            <double>node.n_rows, node.count[one],
            node.pair_count.data() + one * n_varying + one + 1,
            node.count.data() + one + 1, n_varying - one - 1,
        )
        for other in range(one + 1, n_varying):
            scale = node.variance[one] * node.variance[other] / (n_rows - 1)
            mean += sqrt(scale)
            variance += scale
    return total > FOLDED_MEAN * mean + Z * sqrt(FOLDED_VARIANCE * variance)


cdef void link_correlated(const NodeLabels* node, double n_rows, int32_t* cluster
                          ) noexcept nogil:
    """Join the clusters of labels whose absolute correlation is above λ (LaCovaC, equation 2)."""
    cdef double threshold = Z / sqrt(n_rows - 1) if n_rows > 1 else INFINITE
    cdef double covariance
    cdef int32_t one, other, first_of_one, first_of_other, n_varying = <int32_t>node.n_varying
    for one in range(n_varying):
        for other in range(one + 1, n_varying):
            covariance = fabs(
                <double>node.n_rows * node.pair_count[one * node.n_varying + other]
                - node.count[one] * node.count[other]
            )
            if covariance / sqrt(node.variance[one] * node.variance[other]) > threshold:
                first_of_one = first_of_cluster(cluster, one)
                first_of_other = first_of_cluster(cluster, other)
                if first_of_one < first_of_other:
                    cluster[first_of_other] = first_of_one
                else:
                    cluster[first_of_one] = first_of_other
    for one in range(n_varying):
        cluster[one] = first_of_cluster(cluster, one)


cdef int32_t first_of_cluster(int32_t* cluster, int32_t label) noexcept nogil:
    while cluster[label] != label:
        cluster[label] = cluster[cluster[label]]
        label = cluster[label]
    return label


# -------------------------------------------------------------------------------- vertical splits


cdef bint split_labels(Growth* growth, OpenNode parent) noexcept nogil:
    """Split a node vertically if its labels form more than one cluster.

    Clusters are in the order of their first labels; each constant label is its own cluster.
    """
    cdef GrownTree* tree = growth.tree
    cdef const NodeLabels* counts = &growth.counts
    cdef int64_t n_labels = <int64_t>growth.labels.size(), i, j
    cdef int32_t label, number
    cdef vector[int32_t] first_of_number    # [n_varying] first label of each cluster
    cdef vector[int32_t] first              # [n_labels] first label of the cluster of each label
    cdef bint is_split = False
    cdef OpenNode child = parent
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
    tree.kind[parent.node] = VERTICAL
    child.is_clustered = True
    for j in range(n_labels):
        if first[j] != growth.labels[j]:
            continue
        for i in range(j, n_labels):
            if first[i] == growth.labels[j]:
                tree.list_label.push_back(growth.labels[i])
        tree.list_start.push_back(<int64_t>tree.list_label.size())
        child.node = add_child(tree, parent.node, counts.n_rows, tree.depth[parent.node],
                               <int32_t>tree.list_start.size() - 2)
        growth.stack.push_back(child)
    return True


# ------------------------------------------------------------------------------ horizontal splits


cdef int32_t assign_branches(Scan* scan, const Split* split) noexcept nogil:
    """Assign the rows of a node to branches, in the memory of a scan.

    Returns the branch for missing and new values.
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


cdef void split_rows(Growth* growth, OpenNode parent, const Split* split) noexcept nogil:
    """Split a node horizontally and sort its rows by child."""
    cdef const Training* training = growth.training
    cdef GrownTree* tree = growth.tree
    cdef Scan* scan = growth.search.scans.data()
    cdef int32_t default_branch, branch, n_branches = 2
    cdef int64_t i, at = parent.begin
    cdef OpenNode child
    collect_values(&scan.values, &growth.search.features, &training.X, &growth.counts, split.at)
    default_branch = assign_branches(scan, split)
    tree.kind[parent.node] = split.kind
    tree.feature[parent.node] = split.feature
    if split.kind == NUMERIC:
        tree.threshold[parent.node] = split.threshold
    else:
        n_branches = <int32_t>scan.branches.start.size() - 1
    child.is_clustered = False
    for branch in range(n_branches):
        child.begin = at
        for i in range(parent.end - parent.begin):
            if scan.branches.category[i] == branch:
                growth.sorted[at] = growth.rows[parent.begin + i]
                at += 1
        child.end = at
        if child.end == child.begin:
            continue
        if branch == default_branch:
            tree.default_child[parent.node] = tree.n_children[parent.node]
        child.node = add_child(tree, parent.node, child.end - child.begin,
                               tree.depth[parent.node] + 1, tree.label_list[parent.node])
        if split.kind == NOMINAL:
            tree.value[child.node] = training.categories.value[
                training.categories.start[split.feature] + branch
            ]
        growth.stack.push_back(child)
    for i in range(parent.begin, parent.end):
        growth.rows[i] = growth.sorted[i]


# ------------------------------------------------------------------------------------------ trees


cdef bint count_node(Growth* growth, OpenNode open_node) noexcept nogil:
    """Count the labels of a node; return false if it must be a leaf."""
    cdef GrownTree* tree = growth.tree
    cdef NodeLabels* counts = &growth.counts
    cdef const Rules* rules = &growth.training.rules
    cdef int32_t label_list = tree.label_list[open_node.node]
    cdef int64_t label
    cdef double sum_variance = 0
    growth.labels.assign(tree.list_label.data() + tree.list_start[label_list],
                         tree.list_label.data() + tree.list_start[label_list + 1])
    counts.rows = growth.rows.data() + open_node.begin
    counts.n_rows = open_node.end - open_node.begin
    count_labels(counts, &growth.training.Y, &growth.labels)
    for label in range(counts.n_varying):
        sum_variance += counts.variance[label]
    tree.impurity[open_node.node] = sum_variance / (<double>counts.n_rows * <double>counts.n_rows)
    return counts.n_varying > 0 and counts.n_rows >= rules.min_samples_split and not (
        0 <= rules.max_depth <= tree.depth[open_node.node]
    )


cdef bint cluster_labels(Growth* growth, OpenNode open_node) noexcept nogil:
    """Try a vertical split; return whether there is one."""
    cdef const Rules* rules = &growth.training.rules
    cdef double n_rows = <double>growth.counts.n_rows
    if rules.clustering == TOGETHER or open_node.is_clustered:
        return False
    if rules.threshold_of_train:
        n_rows = <double>growth.rows.size()
    return find_clusters(
        &growth.counts, rules.clustering, n_rows, &growth.cluster
    ) and split_labels(growth, open_node)


cdef void grow_tree(GrownTree* tree, const Training* training, const int32_t* rows,
                    int64_t n_rows, uint64_t seed, int n_threads) noexcept nogil:
    cdef Growth growth
    cdef const Rules* rules = &training.rules
    cdef const Split* split
    cdef OpenNode open_node
    cdef int64_t n_labels = training.Y.n_labels
    growth.training = training
    growth.tree = tree
    growth.rows.assign(rows, rows + n_rows)
    growth.sorted.resize(n_rows)
    growth.counts.number.resize(n_labels)
    growth.counts.n_positive.resize(n_labels)
    growth.counts.is_counted.resize(n_labels, 0)
    growth.search.training = training
    growth.search.random_state = seed
    growth.search.scans.resize(n_threads)
    add_root(tree, n_labels, n_rows)
    open_node.node = 0
    open_node.begin = 0
    open_node.end = n_rows
    open_node.is_clustered = False
    growth.stack.push_back(open_node)
    while not growth.stack.empty():
        open_node = growth.stack.back()
        growth.stack.pop_back()
        if not count_node(&growth, open_node):
            continue
        if rules.criterion == COVARIANCE or rules.clustering != TOGETHER:
            count_pairs(&growth.counts)
        if cluster_labels(&growth, open_node):
            continue
        split = find_split(&growth.search, &growth.counts)
        if split != NULL:
            split_rows(&growth, open_node, split)


cdef struct Forest:
    # The trees to grow, shared by the threads.
    const Training* training
    GrownTree* tree                # [n_trees]
    const int32_t* rows            # [n_trees, n_rows]
    int64_t n_rows
    const uint64_t* seed           # [n_trees]
    int n_threads                  # for the search of each tree


cdef void grow_numbered(void* data, int64_t i, int thread) noexcept nogil:
    cdef const Forest* forest = <const Forest*>data
    grow_tree(forest.tree + i, forest.training, forest.rows + i * forest.n_rows, forest.n_rows,
              forest.seed[i], forest.n_threads)


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
    cdef int threads = n_threads
    # These variables keep the arrays alive.
    cdef HeldMatrix held_X = HeldMatrix(X, "F", "csr")
    row_start, label = np.asarray(Y.indptr, np.int64), np.asarray(Y.indices, np.int32)
    values, start = categories
    n = np.arange(n_rows + 1, dtype=np.float64)
    cdef const double[::1] nlogn = n * np.log2(np.maximum(n, 1))
    cdef Training training
    training.X = held_X.matrix
    training.Y = label_rows_of(row_start, label, Y.shape[1])
    training.categories = categories_of(values, start)
    training.nlogn = &nlogn[0]
    training.rules = rules_of(rules)
    cdef vector[GrownTree] trees
    trees.resize(n_trees)
    cdef Forest forest
    forest.training = &training
    forest.tree = trees.data()
    forest.rows = &rows_of_tree[0, 0]
    forest.n_rows = n_rows
    forest.seed = &seed_of_tree[0]
    forest.n_threads = n_threads if n_trees == 1 else 1
    with nogil:
        run_loop(n_trees, 1, threads, grow_numbered, &forest)
    return [arrays_of_tree(&trees[i]) for i in range(n_trees)]
