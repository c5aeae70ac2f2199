"""A forest while it is read: pointers into the arrays of a `Forest`, and how its trees count.

The targets are its labels or, for label powerset, its labelsets. The `Forest` has to stay alive.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

from xdcc.kernels.arrays cimport elements


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
    view.start = elements[int64_t](forest.start)
    view.kind = elements[int8_t](forest.kind)
    view.index = elements[int32_t](forest.index)
    view.threshold = elements[float](forest.threshold)
    view.value = elements[float](forest.value)
    view.child = elements[int32_t](forest.child)
    view.branches = elements[int32_t](forest.branches)
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
