"""Posteriors of an instance: each tree's (equations 1 to 3), and their weighted means (2 and 4).

Counts are whole numbers in float64 and so exact, and means are summed in the order of the trees:
an instance whose leaves were ruled out one after the other has the very posteriors of one that is
walked again with what is known by then.
"""

from libc.math cimport pow
from libc.stdint cimport int8_t, int64_t

from xdcc.rdt._forest_view cimport ForestView
from xdcc.rdt._instance cimport Instance, forget_leaves, rule_out, walk_tree


cdef inline void evaluate_tree(
    const ForestView* forest, Instance* instance, int64_t tree
) noexcept nogil:
    """Posteriors, weight and expected number of positive targets of one tree."""
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
    """Weighted means over the trees."""
    cdef int64_t tree, target, n_targets = forest.n_targets
    cdef double weight, total_weight = 0
    cdef const double* proba
    cdef double* mean_proba = instance.mean_proba.data()
    cdef bint is_equal
    for tree in range(forest.n_trees):
        total_weight += instance.weight[tree]
    # Every tree is as unsure as can be: none is better than another.
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


cdef inline void read_instance(
    const ForestView* forest, Instance* instance, const float* x, const int8_t* known
) noexcept nogil:
    """Walk all trees and find the posteriors; `known` is as in ``walk_tree``."""
    cdef int64_t tree
    forget_leaves(forest, instance)
    for tree in range(forest.n_trees):
        walk_tree(forest, instance, tree, x, known)
        evaluate_tree(forest, instance, tree)
    average_trees(forest, instance)


cdef inline void learn_label(
    const ForestView* forest, Instance* instance, int64_t label, int8_t value
) noexcept nogil:
    """Find the posteriors after a label has become known; only what changed is evaluated."""
    cdef int64_t tree
    if not rule_out(forest, instance, label, value):
        return
    for tree in range(forest.n_trees):
        if instance.is_changed[tree]:
            instance.is_changed[tree] = 0
            evaluate_tree(forest, instance, tree)
    average_trees(forest, instance)
