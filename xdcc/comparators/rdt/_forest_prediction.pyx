"""Prediction kernel: posteriors and chains, in parallel over instances.

An instance reaches leaves, the leaves determine posteriors, and a chain decides labels one after
another by their posteriors. Each thread reuses one `Instance` as working memory. The results do not
depend on the number of threads.
"""

import numpy as np

from libc.math cimport fabs, floor, isnan, pow
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.kernels.rows cimport run_rows
from xdcc.comparators.rdt._node cimport DISJUNCTION, LABEL, LEAF, NO_BRANCH, NUMERIC


cdef extern from *:
    void prefetch "__builtin_prefetch" (const void* address) nogil


cdef enum:
    LEAVES_AHEAD = 8               # whose counts are fetched meanwhile
    TREES_AT_A_TIME = 8            # their nodes are in few pages of memory


# --------------------------------------------------------------------------- pointers to a forest


cdef struct Node:
    # The fields of a node that a step reads: a row of `Forest._nodes`.
    int32_t index
    float threshold
    int32_t child
    int32_t kind_and_branches      # the kind in the last three bits


cdef struct ForestView:
    # Pointers to the arrays of a `Forest`, which must stay alive, and the weighting of its trees.
    # The targets are the labels or, for label powerset, the labelsets.
    int64_t n_trees
    int64_t n_targets
    const int64_t* start           # [n_trees + 1] first node of each tree
    const Node* nodes
    const float* value             # of each node
    const int32_t* disjunction
    const int32_t* leaf_size       # of each leaf
    const int64_t* target_start    # leaf k has target[target_start[k] : target_start[k + 1]]
    const int32_t* target
    const int32_t* target_count
    double sigma                   # share of the label tests that are active
    bint gini                      # whether equation 3 gives the weights of the trees
    double size_exponent


cdef inline int32_t kind_of(const Node* node) noexcept nogil:
    return node.kind_and_branches & 7


cdef inline ForestView view_forest(forest, nodes, bint labelsets, double sigma, weighting):
    """Point to the arrays of a `Forest`, and to its `_nodes`, which must stay alive, too."""
    cdef ForestView view
    view.n_trees = len(forest.start) - 1
    view.start = elements[int64_t](forest.start)
    view.nodes = <const Node*>elements[int32_t](nodes.ravel())
    view.value = elements[float](forest.value)
    view.disjunction = elements[int32_t](forest.disjunction)
    view.leaf_size = elements[int32_t](forest.leaf_size)
    targets = "labelset" if labelsets else "label"
    view.n_targets = getattr(forest, f"n_{targets}s")
    view.target_start = elements[int64_t](getattr(forest, f"{targets}_start"))
    view.target = elements[int32_t](getattr(forest, targets))
    view.target_count = elements[int32_t](getattr(forest, f"{targets}_count"))
    view.sigma = sigma
    view.gini = weighting.gini
    view.size_exponent = weighting.size_exponent
    return view


# --------------------------------------------------------------------------------- reached leaves

# Traversal follows one branch of a test whose outcome is known, and all branches of a test whose
# value is missing or whose label is undecided. Counts are summed over the reached leaves of a tree.
# A leaf *contradicts* the value of a label if the opposite value leads to it. Each label has a
# linked list of its contradictions, so a chain finds the leaves to remove when it decides a label.


cdef struct Visit:
    int32_t node                   # the node to visit
    int32_t tree
    int64_t test                   # last label test above it that can rule leaves out, or -1


cdef struct LabelTest:
    int32_t label
    int8_t value                   # value of the label that leads on
    int64_t above                  # label test above it, or -1


cdef struct Contradiction:
    int32_t reached                # index of a reached leaf
    int8_t value                   # the value of the label that rules the leaf out
    int64_t following              # next contradiction of the same label, -1 at the end


cdef cppclass Instance:
    """Working memory for one instance."""
    vector[Visit] visits           # of nodes of the same depth
    vector[Visit] below            # of their children
    vector[Visit] ends             # at leaves
    vector[LabelTest] tests
    vector[int32_t] leaf           # reached leaves that a label can rule out
    vector[int32_t] leaf_tree
    vector[uint8_t] is_alive       # whether a reached leaf is not ruled out
    vector[Contradiction] contradiction
    vector[int64_t] first_contradiction  # [n_targets] -1 if there is none
    vector[double] size            # [n_trees] training rows in the leaves
    vector[double] positives       # [n_trees, n_targets] positive training rows in the leaves
    vector[double] proba           # [n_trees, n_targets]
    vector[double] n_positive      # [n_trees] expected number of positive targets
    vector[double] weight          # [n_trees]
    vector[uint8_t] is_changed     # [n_trees]
    vector[double] mean_proba      # [n_targets] weighted mean over the trees
    double mean_n_positive         # R


cdef inline int32_t next_node(
    const ForestView* forest, int32_t node, const float* x
) noexcept nogil:
    """Find the child that a feature test selects; NO_BRANCH if the value is missing or new."""
    cdef const Node* tested = forest.nodes + node
    cdef int32_t child = tested.child, k
    cdef bint is_missing = False
    cdef float value
    if kind_of(tested) == DISJUNCTION:
        k = tested.index
        while forest.disjunction[k] >= 0:
            value = x[forest.disjunction[k]]
            if isnan(value):
                is_missing = True
            elif value != 0:
                return child + 1
            k += 1
        return NO_BRANCH if is_missing else child
    value = x[tested.index]
    if isnan(value):
        return NO_BRANCH
    if kind_of(tested) == NUMERIC:
        return child + (value > tested.threshold)
    for k in range(tested.kind_and_branches >> 3):
        if forest.value[child + k] == value:
            return child + k
    return NO_BRANCH


cdef inline void visit_child(
    const ForestView* forest, Instance* instance, const Visit* visit, int32_t child, int64_t test
) noexcept nogil:
    """Note a child of a visited node, and fetch what the next step reads."""
    cdef Visit following
    following.node = child
    following.tree = visit.tree
    following.test = test
    prefetch(forest.nodes + child)
    instance.below.push_back(following)


cdef inline void visit_node(
    const ForestView* forest, Instance* instance, const Visit* visit, const float* x,
    const int8_t* known,
) noexcept nogil:
    """Go on to the children of a node that a row reaches; `known` is as in ``find_leaves``."""
    cdef const Node* node = forest.nodes + visit.node
    cdef int32_t child = NO_BRANCH, branch, label = -1
    cdef int64_t test = visit.test
    cdef LabelTest passed
    if kind_of(node) != LABEL:
        child = next_node(forest, visit.node, x)
    elif node.threshold < forest.sigma:
        label = node.index
        if known != NULL:
            if known[label] >= 0:
                child = node.child + known[label]
            # No chain follows that could rule out a leaf.
            label = -1
    if child != NO_BRANCH:
        visit_child(forest, instance, visit, child, test)
        return
    for branch in range(node.kind_and_branches >> 3):
        if label >= 0:
            passed.label = label
            passed.value = <int8_t>branch
            passed.above = visit.test
            test = <int64_t>instance.tests.size()
            instance.tests.push_back(passed)
        visit_child(forest, instance, visit, node.child + branch, test)


cdef inline void reach_leaf(
    const ForestView* forest, Instance* instance, int32_t leaf, const Visit* visit
) noexcept nogil:
    """Add the counts of a leaf to those of its tree, and its contradictions to the lists."""
    cdef int64_t k, test = visit.test
    cdef Contradiction pair
    cdef const LabelTest* passed
    cdef double* positives = instance.positives.data() + visit.tree * forest.n_targets
    instance.size[visit.tree] += forest.leaf_size[leaf]
    for k in range(forest.target_start[leaf], forest.target_start[leaf + 1]):
        positives[forest.target[k]] += forest.target_count[k]
    if test < 0:
        return
    pair.reached = <int32_t>instance.leaf.size()
    instance.leaf.push_back(leaf)
    instance.leaf_tree.push_back(visit.tree)
    instance.is_alive.push_back(1)
    while test >= 0:
        passed = &instance.tests[test]
        pair.value = 1 - passed.value
        pair.following = instance.first_contradiction[passed.label]
        instance.first_contradiction[passed.label] = <int64_t>instance.contradiction.size()
        instance.contradiction.push_back(pair)
        test = passed.above


cdef inline void find_leaves(
    const ForestView* forest, Instance* instance, int64_t first, int64_t end, const float* x,
    const int8_t* known,
) noexcept nogil:
    """Find the leaves that an instance reaches in some trees, side by side.

    Steps in different trees do not wait for each other's memory. `known` is 0, 1 or -1 (unknown)
    for each label. With NULL, contradictions are recorded for a chain, which decides the labels
    later.
    """
    cdef Visit visit
    cdef int64_t tree
    cdef size_t i, ahead
    instance.below.clear()
    instance.ends.clear()
    visit.test = -1
    for tree in range(first, end):
        visit.tree = <int32_t>tree
        visit.node = <int32_t>forest.start[tree]
        instance.below.push_back(visit)
    while not instance.below.empty():
        instance.visits.swap(instance.below)
        instance.below.clear()
        for i in range(instance.visits.size()):
            visit = instance.visits[i]
            if kind_of(forest.nodes + visit.node) == LEAF:
                visit.node = forest.nodes[visit.node].index
                prefetch(forest.leaf_size + visit.node)
                prefetch(forest.target_start + visit.node)
                instance.ends.push_back(visit)
            else:
                visit_node(forest, instance, &visit, x, known)
    for i in range(instance.ends.size()):
        ahead = i + LEAVES_AHEAD
        if ahead < instance.ends.size():
            prefetch(forest.target + forest.target_start[instance.ends[ahead].node])
            prefetch(forest.target_count + forest.target_start[instance.ends[ahead].node])
        visit = instance.ends[i]
        reach_leaf(forest, instance, visit.node, &visit)


cdef inline void reset(const ForestView* forest, Instance* instance) noexcept nogil:
    """Reset the working memory for the next instance."""
    instance.leaf.clear()
    instance.leaf_tree.clear()
    instance.is_alive.clear()
    instance.contradiction.clear()
    instance.first_contradiction.assign(forest.n_targets, -1)
    instance.size.assign(forest.n_trees, 0)
    instance.positives.assign(forest.n_trees * forest.n_targets, 0)
    instance.proba.resize(forest.n_trees * forest.n_targets)
    instance.n_positive.resize(forest.n_trees)
    instance.weight.resize(forest.n_trees)
    instance.is_changed.assign(forest.n_trees, 0)
    instance.mean_proba.resize(forest.n_targets)


cdef inline bint rule_out(
    const ForestView* forest, Instance* instance, int64_t label, int8_t value
) noexcept nogil:
    """Remove the leaves that contradict the value of a label; return whether there were any."""
    cdef int64_t at = instance.first_contradiction[label], k, tree
    cdef int32_t leaf
    cdef double* positives
    cdef Contradiction pair
    cdef bint any_changed = False
    while at >= 0:
        pair = instance.contradiction[at]
        if pair.value == value and instance.is_alive[pair.reached]:
            instance.is_alive[pair.reached] = 0
            leaf = instance.leaf[pair.reached]
            tree = instance.leaf_tree[pair.reached]
            positives = instance.positives.data() + tree * forest.n_targets
            instance.size[tree] -= forest.leaf_size[leaf]
            for k in range(forest.target_start[leaf], forest.target_start[leaf + 1]):
                positives[forest.target[k]] -= forest.target_count[k]
            instance.is_changed[tree] = 1
            any_changed = True
        at = pair.following
    return any_changed


# ------------------------------------------------------------------------------------- posteriors

# Posteriors of each tree (equations 1 to 3) and their weighted means (2 and 4). Counts are whole
# numbers in float64, which are exact, and means are summed in the order of the trees. So ruling out
# leaves one after another gives the same posteriors as a new traversal with all known labels.


cdef inline void evaluate_tree(
    const ForestView* forest, Instance* instance, int64_t tree
) noexcept nogil:
    """Compute the posteriors, weight and expected number of positive targets of one tree."""
    cdef int64_t target, n_targets = forest.n_targets
    cdef const double* positives = instance.positives.data() + tree * n_targets
    cdef double* proba = instance.proba.data() + tree * n_targets
    cdef double n_positive = 0, impurity = 0, weight = 1
    cdef double size = instance.size[tree]
    for target in range(n_targets):
        proba[target] = positives[target] / size
        n_positive += positives[target]
    if forest.gini:
        for target in range(n_targets):
            impurity += proba[target] * (1 - proba[target])
        weight = 1 - 4 * impurity / n_targets
        if weight < 0:
            weight = 0
    if forest.size_exponent != 0:
        weight *= pow(size, forest.size_exponent)
    instance.weight[tree] = weight
    instance.n_positive[tree] = n_positive / size


cdef inline void average_trees(const ForestView* forest, Instance* instance) noexcept nogil:
    """Compute the weighted means over the trees."""
    cdef int64_t tree, target, n_targets = forest.n_targets
    cdef double weight, total_weight = 0
    cdef const double* proba
    cdef double* mean_proba = instance.mean_proba.data()
    cdef bint is_equal
    for tree in range(forest.n_trees):
        total_weight += instance.weight[tree]
    # All trees are maximally uncertain: weight them equally.
    is_equal = total_weight == 0
    if is_equal:
        total_weight = <double>forest.n_trees
    instance.mean_n_positive = 0
    for target in range(n_targets):
        mean_proba[target] = 0
    for tree in range(forest.n_trees):
        weight = 1 if is_equal else instance.weight[tree]
        proba = instance.proba.data() + tree * n_targets
        for target in range(n_targets):
            mean_proba[target] += weight * proba[target]
        instance.mean_n_positive += weight * instance.n_positive[tree]
    for target in range(n_targets):
        mean_proba[target] /= total_weight
    instance.mean_n_positive /= total_weight


cdef inline void predict_instance(
    const ForestView* forest, Instance* instance, const float* x, const int8_t* known
) noexcept nogil:
    """Traverse all trees and compute the posteriors; `known` is as in ``find_leaves``."""
    cdef int64_t tree, group, first, end
    reset(forest, instance)
    instance.tests.clear()
    for group in range((forest.n_trees + TREES_AT_A_TIME - 1) // TREES_AT_A_TIME):
        first = group * TREES_AT_A_TIME
        end = min(first + TREES_AT_A_TIME, forest.n_trees)
        find_leaves(forest, instance, first, end, x, known)
    for tree in range(forest.n_trees):
        evaluate_tree(forest, instance, tree)
    average_trees(forest, instance)


cdef inline void condition_on(
    const ForestView* forest, Instance* instance, int64_t label, int8_t value
) noexcept nogil:
    """Update the posteriors for a label that has been decided; evaluate only changed trees."""
    cdef int64_t tree
    if not rule_out(forest, instance, label, value):
        return
    for tree in range(forest.n_trees):
        if instance.is_changed[tree]:
            instance.is_changed[tree] = 0
            evaluate_tree(forest, instance, tree)
    average_trees(forest, instance)


# ----------------------------------------------------------------------------------------- chains

# Each step decides one label and updates the posteriors. A chain reads each contradiction at most
# once.


cdef struct Chain:
    const int64_t* order           # [n_labels] order of the labels; NULL for a dynamic chain
    bint by_number                 # whether R limits the number of positive labels
    bint positive_only             # whether the chain decides only positive labels
    bint early_stop                # whether the chain ends with R positive labels


cdef struct Decisions:
    int8_t* value                  # [n_rows, n_labels]
    double* proba                  # [n_rows, n_labels] at the decision, or at the end of the chain
    int64_t* label                 # [n_rows, n_labels] by step; -1 after the end of the chain
    double* number                 # [n_rows, n_labels] R by step; NaN after the end of the chain


cdef inline int64_t next_label(
    const ForestView* forest, const Instance* instance, const Chain* chain, const int8_t* decided,
    int64_t step,
) noexcept nogil:
    """Return the next label of the order, or the most certain undecided label (equation 5)."""
    cdef int64_t label, best_label = -1
    cdef double proba, certainty, best_certainty = -1
    if chain.order != NULL:
        return chain.order[step]
    for label in range(forest.n_targets):
        if decided[label] < 0:
            proba = instance.mean_proba[label]
            certainty = proba if chain.positive_only else fabs(0.5 - proba)
            if certainty > best_certainty:
                best_certainty = certainty
                best_label = label
    return best_label


cdef inline void run_chain(
    const ForestView* forest, Instance* instance, const Chain* chain, const Decisions* decisions,
    int64_t row,
) noexcept nogil:
    """Decide the labels of the row in `instance` (equation 6)."""
    cdef int64_t n_labels = forest.n_targets, n_positive = 0, n_negative = 0
    cdef int64_t step, label, first = row * n_labels
    cdef int8_t* value = decisions.value + first
    cdef double* proba = decisions.proba + first
    cdef double n_expected
    cdef bint is_positive, rest = False
    for label in range(n_labels):
        value[label] = -1
    for step in range(n_labels):
        n_expected = floor(instance.mean_n_positive + 0.5)
        if chain.early_stop and (n_positive >= n_expected or n_labels - n_negative <= n_expected):
            rest = n_positive < n_expected
            break
        label = next_label(forest, instance, chain, value, step)
        is_positive = instance.mean_proba[label] >= 0.5
        if chain.by_number:
            if chain.positive_only:
                is_positive = n_positive < n_expected
            else:
                is_positive = (
                    (is_positive and n_positive < n_expected)
                    or n_labels - n_negative <= n_expected
                )
        if chain.positive_only and not is_positive:
            break
        value[label] = is_positive
        proba[label] = instance.mean_proba[label]
        decisions.label[first + step] = label
        decisions.number[first + step] = instance.mean_n_positive
        if is_positive:
            n_positive += 1
        else:
            n_negative += 1
        condition_on(forest, instance, label, is_positive)
    for label in range(n_labels):
        if value[label] < 0:
            value[label] = rest
            proba[label] = instance.mean_proba[label]


# ---------------------------------------------------------------------------------- all instances


cdef enum:
    ROWS_AT_A_TIME = 8


cdef struct Posteriors:
    # Data of the loop of `posteriors`.
    const ForestView* forest
    Instance* instances            # [n_threads]
    const int8_t* known            # [n_rows or 1, n_labels]
    int64_t known_stride           # distance of the rows of `known`
    double* proba                  # [n_rows, n_targets]
    double* number                 # [n_rows]


cdef void write_posteriors(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Posteriors* out = <const Posteriors*>data
    cdef Instance* instance = out.instances + thread
    cdef int64_t target, n_targets = out.forest.n_targets
    predict_instance(out.forest, instance, x, out.known + row * out.known_stride)
    for target in range(n_targets):
        out.proba[row * n_targets + target] = instance.mean_proba[target]
    out.number[row] = instance.mean_n_positive


def posteriors(forest, X, known, labelsets, sigma, weighting, n_threads):
    """Return the weighted mean posteriors and R; see ``_forest_prediction.pyi``."""
    nodes = forest._nodes
    cdef ForestView view = view_forest(forest, nodes, labelsets, sigma, weighting)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t n_rows = held.matrix.n_rows
    cdef int threads = n_threads
    # If no labels are known, all instances share one row; NULL would prepare for a chain.
    cdef const int8_t[:, ::1] known_view = (
        np.full((1, forest.n_labels), -1, np.int8) if known is None else known
    )
    proba = np.empty((n_rows, view.n_targets))
    number = np.empty(n_rows)
    cdef double[:, ::1] proba_view = proba
    cdef double[::1] number_view = number
    cdef vector[Instance] instances = vector[Instance](threads)
    cdef Posteriors out
    out.forest = &view
    out.instances = instances.data()
    out.known = &known_view[0, 0]
    out.known_stride = 0 if known is None else known_view.shape[1]
    out.proba = &proba_view[0, 0]
    out.number = &number_view[0]
    with nogil:
        run_rows(&held.matrix, ROWS_AT_A_TIME, threads, write_posteriors, &out)
    return proba, number


cdef struct Chains:
    # Data of the loop of `chain`.
    const ForestView* forest
    Instance* instances            # [n_threads]
    const Chain* chain
    const Decisions* decisions


cdef void decide_row(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Chains* chains = <const Chains*>data
    cdef Instance* instance = chains.instances + thread
    predict_instance(chains.forest, instance, x, NULL)
    run_chain(chains.forest, instance, chains.chain, chains.decisions, row)


def chain(forest, X, rule, sigma, weighting, n_threads):
    """Decide the labels of each instance one after another; see ``_forest_prediction.pyi``."""
    nodes = forest._nodes
    cdef ForestView view = view_forest(forest, nodes, False, sigma, weighting)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t n_rows = held.matrix.n_rows
    cdef int threads = n_threads
    cdef Chain how
    cdef const int64_t[::1] order
    how.order = NULL
    if rule.order is not None:
        order = rule.order
        how.order = &order[0]
    how.by_number = rule.threshold == "label"
    how.positive_only = rule.candidates == "positive"
    how.early_stop = rule.early_stop
    shape = n_rows, view.n_targets
    decided = np.empty(shape, np.int8)
    proba = np.empty(shape)
    labels = np.full(shape, -1, np.int64)
    numbers = np.full(shape, np.nan)
    cdef int8_t[:, ::1] decided_view = decided
    cdef double[:, ::1] proba_view = proba
    cdef int64_t[:, ::1] labels_view = labels
    cdef double[:, ::1] numbers_view = numbers
    cdef Decisions decisions
    decisions.value = &decided_view[0, 0]
    decisions.proba = &proba_view[0, 0]
    decisions.label = &labels_view[0, 0]
    decisions.number = &numbers_view[0, 0]
    cdef vector[Instance] instances = vector[Instance](threads)
    cdef Chains chains
    chains.forest = &view
    chains.instances = instances.data()
    chains.chain = &how
    chains.decisions = &decisions
    with nogil:
        run_rows(&held.matrix, ROWS_AT_A_TIME, threads, decide_row, &chains)
    return decided, proba, labels, numbers
