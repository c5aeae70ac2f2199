"""What an instance reaches in a forest: leaves, and the counts of each tree summed over them.

A walk follows one branch of a test whose outcome is known and all branches of one whose value is
missing, or whose label is not decided. It remembers which values of labels lead to a leaf: a leaf
*contradicts* the opposite value. For every label there is a linked list of the (leaf, value) pairs
that it can rule out, so that a chain finds what to take out of the sums when it decides the label.
"""

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.rdt._forest_view cimport ForestView
from xdcc.rdt._node cimport DISJUNCTION, LABEL, LEAF, NO_BRANCH, NUMERIC


cdef struct Step:
    int32_t node                   # to be visited
    size_t path                    # label tests on the path to its parent
    int32_t label                  # that its parent tests, -1 if the parent rules nothing out
    int8_t value                   # that leads to the node


cdef struct Contradiction:
    int32_t reached                # position of a leaf among those that are reached
    int8_t value                   # of the label that rules the leaf out
    int64_t following              # next pair of the same label, -1 at the end


cdef cppclass Instance:
    """Working memory for one instance."""
    vector[float] x                # its features, if X is sparse
    vector[Step] stack
    vector[int32_t] path_label     # label tests on the path
    vector[int8_t] path_value
    vector[int32_t] leaf           # of each reached leaf that a label can rule out
    vector[int32_t] leaf_tree
    vector[uint8_t] is_alive       # not ruled out yet
    vector[Contradiction] contradiction
    vector[int64_t] first_contradiction  # [n_targets]: -1 if there is none
    vector[double] size            # [n_trees]: training rows in the leaves
    vector[double] positives       # [n_trees, n_targets]: how many of them are positive
    vector[double] proba           # [n_trees, n_targets]
    vector[double] n_positive      # [n_trees]: expected number of positive targets
    vector[double] weight          # [n_trees]
    vector[uint8_t] is_changed     # [n_trees]
    vector[double] mean_proba      # [n_targets]: over the trees
    double mean_n_positive         # R


cdef inline int32_t next_node(
    const ForestView* forest, int32_t node, const float* x
) noexcept nogil:
    """Child that a feature test leads to; NO_BRANCH if the value is missing or has none."""
    cdef int32_t child = forest.child[node], k
    cdef bint is_missing = False
    cdef float value
    if forest.kind[node] == DISJUNCTION:
        k = forest.index[node]
        while forest.disjunction[k] >= 0:
            value = x[forest.disjunction[k]]
            if isnan(value):
                is_missing = True
            elif value != 0:
                return child + 1
            k += 1
        return NO_BRANCH if is_missing else child
    value = x[forest.index[node]]
    if isnan(value):
        return NO_BRANCH
    if forest.kind[node] == NUMERIC:
        return child + (value > forest.threshold[node])
    for k in range(forest.branches[node]):
        if forest.value[child + k] == value:
            return child + k
    return NO_BRANCH


cdef inline void plan_step(
    Instance* instance, int32_t node, int32_t label, int8_t value
) noexcept nogil:
    """Visit a node later, from where the path is now."""
    cdef Step step
    step.node = node
    step.path = instance.path_label.size()
    step.label = label
    step.value = value
    instance.stack.push_back(step)


cdef inline void follow_step(Instance* instance, const Step* step) noexcept nogil:
    """Go back to where the path was, and on to the step's node."""
    instance.path_label.resize(step.path)
    instance.path_value.resize(step.path)
    if step.label >= 0:
        instance.path_label.push_back(step.label)
        instance.path_value.push_back(step.value)


cdef inline void reach_leaf(
    const ForestView* forest, Instance* instance, int32_t leaf, int64_t tree
) noexcept nogil:
    """Add a leaf to its tree's sums, and to the lists of the labels that can rule it out."""
    cdef size_t i
    cdef int64_t k
    cdef int32_t label
    cdef Contradiction pair
    cdef double* positives = instance.positives.data() + tree * forest.n_targets
    instance.size[tree] += forest.leaf_size[leaf]
    for k in range(forest.target_start[leaf], forest.target_start[leaf + 1]):
        positives[forest.target[k]] += forest.target_count[k]
    if instance.path_label.empty():
        return
    pair.reached = <int32_t>instance.leaf.size()
    instance.leaf.push_back(leaf)
    instance.leaf_tree.push_back(<int32_t>tree)
    instance.is_alive.push_back(1)
    for i in range(instance.path_label.size()):
        label = instance.path_label[i]
        pair.value = 1 - instance.path_value[i]
        pair.following = instance.first_contradiction[label]
        instance.first_contradiction[label] = <int64_t>instance.contradiction.size()
        instance.contradiction.push_back(pair)


cdef inline void walk_tree(
    const ForestView* forest, Instance* instance, int64_t tree, const float* x, const int8_t* known
) noexcept nogil:
    """Reach the leaves of a tree.

    `known` is 0, 1 or -1 (unknown) for each label, and leaves are not remembered; NULL if a chain
    follows, in which every label becomes known.
    """
    cdef Step step
    cdef int32_t node, child, branch, label
    plan_step(instance, <int32_t>forest.start[tree], -1, 0)
    while not instance.stack.empty():
        step = instance.stack.back()
        instance.stack.pop_back()
        follow_step(instance, &step)
        node = step.node
        while True:
            if forest.kind[node] == LEAF:
                reach_leaf(forest, instance, forest.index[node], tree)
                break
            child = NO_BRANCH
            label = -1
            if forest.kind[node] != LABEL:
                child = next_node(forest, node, x)
            elif forest.threshold[node] < forest.sigma:
                label = forest.index[node]
                if known != NULL:
                    if known[label] >= 0:
                        child = forest.child[node] + known[label]
                    # No chain follows that could rule a leaf out.
                    label = -1
            if child == NO_BRANCH:
                for branch in range(forest.branches[node]):
                    plan_step(instance, forest.child[node] + branch, label, <int8_t>branch)
                break
            node = child
    instance.path_label.clear()
    instance.path_value.clear()


cdef inline void forget_leaves(const ForestView* forest, Instance* instance) noexcept nogil:
    """Empty an instance's memory for the next one."""
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
    """Take the leaves out that contradict a label's value; true if there were any."""
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
