"""A forest while it is read: pointers into the arrays of a `Forest`, and how its trees count.

The targets are its labels or, for label powerset, its labelsets. The `Forest` has to stay alive.
"""

from libc.stdint cimport int8_t, int32_t, int64_t


cdef struct ForestView:
    int64_t n_trees
    int64_t n_targets
    const int64_t* start           # [n_trees + 1]: first node of each tree
    const int8_t* kind             # of each node
    const int32_t* index
    const float* threshold
    const float* value
    const int32_t* child
    const int32_t* branches
    const int32_t* disjunction
    const int32_t* leaf_size       # of each leaf
    const int64_t* target_start    # leaf k has target[target_start[k] : target_start[k + 1]]
    const int32_t* target
    const int32_t* target_count
    double sigma                   # share of the label tests that are active
    bint gini                      # are trees weighed by equation 3?
    double size_exponent


cdef inline ForestView view_forest(forest, bint labelsets, double sigma, weighting):
    """View a `Forest` with a `Weighting`."""
    cdef ForestView view
    cdef const int64_t[::1] start = forest.start
    cdef const int8_t[::1] kind = forest.kind
    cdef const int32_t[::1] index = forest.index
    cdef const float[::1] threshold = forest.threshold
    cdef const float[::1] value = forest.value
    cdef const int32_t[::1] child = forest.child
    cdef const int32_t[::1] branches = forest.branches
    cdef const int32_t[::1] disjunction = forest.disjunction
    cdef const int32_t[::1] leaf_size = forest.leaf_size
    cdef const int64_t[::1] target_start
    cdef const int32_t[::1] target
    cdef const int32_t[::1] target_count
    if labelsets:
        target_start, target = forest.labelset_start, forest.labelset
        target_count, view.n_targets = forest.labelset_count, forest.n_labelsets
    else:
        target_start, target = forest.label_start, forest.label
        target_count, view.n_targets = forest.label_count, forest.n_labels
    view.n_trees = start.shape[0] - 1
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
    view.target_count = &target_count[0] if target_count.shape[0] else NULL
    view.sigma = sigma
    view.gini = weighting.gini
    view.size_exponent = weighting.size_exponent
    return view
