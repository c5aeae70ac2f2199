"""A forest while it is read: pointers into the arrays of a `Forest`, and how its trees count.

The targets are its labels or, for label powerset, its labelsets. The `Forest` has to stay alive.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

from xdcc.kernels.arrays cimport floats, int8s, int32s, int64s


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
    view.n_trees = len(forest.start) - 1
    view.start = int64s(forest.start)
    view.kind = int8s(forest.kind)
    view.index = int32s(forest.index)
    view.threshold = floats(forest.threshold)
    view.value = floats(forest.value)
    view.child = int32s(forest.child)
    view.branches = int32s(forest.branches)
    view.disjunction = int32s(forest.disjunction)
    view.leaf_size = int32s(forest.leaf_size)
    targets = "labelset" if labelsets else "label"
    view.n_targets = getattr(forest, f"n_{targets}s")
    view.target_start = int64s(getattr(forest, f"{targets}_start"))
    view.target = int32s(getattr(forest, targets))
    view.target_count = int32s(getattr(forest, f"{targets}_count"))
    view.sigma = sigma
    view.gini = weighting.gini
    view.size_exponent = weighting.size_exponent
    return view
