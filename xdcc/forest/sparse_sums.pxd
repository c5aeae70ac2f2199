"""Sparse features in large nodes: number and sum of the rows in which each feature is on.

Each tree draws one threshold for a sparse feature. In a row it is *on* if the row is on the other
side of the threshold than 0. Sums are counted for the smaller child of a split and subtracted from
those of the node for the larger child. The sums of nodes that wait to be divided have slots.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint64_t

from xdcc.forest.growth cimport Growth, OpenNode
from xdcc.forest.sparse_masks cimport SMALL
from xdcc.forest.training cimport Training
from xdcc.kernels.random cimport draw_uniform


cdef inline float draw_threshold(float least, float largest, uint64_t* random) noexcept nogil:
    """Draw a threshold, uniform from the least value up to, but not including, the largest."""
    cdef double drawn = least + draw_uniform(random) * (<double>largest - least)
    cdef float threshold = <float>drawn
    return threshold if threshold < largest else least  # rounded up


cdef inline bint is_on(
    const Growth* growth, int64_t feature, float value
) noexcept nogil:
    """Whether a value of a sparse feature is on the other side of the threshold than 0."""
    cdef float threshold = growth.threshold[feature]
    cdef bint goes_right = growth.missing_right[feature] if isnan(value) else value > threshold
    return goes_right != (threshold < 0)


cdef inline void draw_sparse_thresholds(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw the tree's thresholds of sparse features, and list what is on in each row."""
    cdef int64_t feature, at, row
    growth.threshold.resize(training.n_sparse)
    growth.missing_right.assign(training.n_sparse, 0)
    for feature in range(training.n_sparse):
        growth.threshold[feature] = draw_threshold(
            training.least[feature], training.largest[feature], random
        )
        if training.has_missing[training.n_dense + feature]:
            growth.missing_right[feature] = draw_uniform(random) < 0.5
    growth.on_start = training.row_start
    growth.on_feature = training.row_feature
    if training.is_binary:
        return
    growth.own_start.assign(1, 0)
    growth.own_feature.clear()
    for row in range(training.n_rows):
        for at in range(training.row_start[row], training.row_start[row + 1]):
            if is_on(growth, training.row_feature[at], training.row_value[at]):
                growth.own_feature.push_back(training.row_feature[at])
        growth.own_start.push_back(<int64_t>growth.own_feature.size())
    growth.on_start = growth.own_start.data()
    growth.on_feature = growth.own_feature.data()


cdef inline int32_t take_slot(Growth* growth, const Training* training) noexcept nogil:
    """Reserve memory for the sums of a node."""
    cdef int32_t slot
    if growth.free_slots.empty():
        growth.sums.resize(growth.sums.size() + 1)
        growth.sums.back().resize(training.n_sparse * (1 + growth.width))
        growth.varied.resize(growth.sums.size())
        return <int32_t>growth.sums.size() - 1
    slot = growth.free_slots.back()
    growth.free_slots.pop_back()
    return slot


cdef inline void add_rows(
    const Growth* growth, int32_t* sums, int64_t begin, int64_t end, int32_t sign, int64_t width
) noexcept nogil:
    """Add rows to the sums of the features that are on in them, or subtract them."""
    cdef int64_t i, at, k
    cdef int32_t row
    cdef int32_t* of_feature
    cdef const int32_t* value
    for i in range(begin, end):
        row = growth.rows[i]
        value = growth.value.data() + i * width
        for at in range(growth.on_start[row], growth.on_start[row + 1]):
            of_feature = sums + growth.on_feature[at] * (1 + width)
            of_feature[0] += sign
            for k in range(width):
                of_feature[1 + k] += sign * value[k]


cdef inline size_t keep_varied(
    int32_t* kept, const int32_t* varied, size_t n_varied, const int32_t* sums, int64_t n_rows,
    int64_t width,
) noexcept nogil:
    """Keep the features that are not constant; return their number."""
    cdef size_t i, n_kept = 0
    cdef int32_t feature, n_on
    for i in range(n_varied):
        feature = varied[i]
        kept[n_kept] = feature
        n_on = sums[feature * (1 + width)]
        n_kept += (n_on > 0) & (n_on < n_rows)
    return n_kept


cdef inline size_t subtract_sums(
    int32_t* large, const int32_t* small, int32_t* varied, size_t n_varied, int64_t n_large,
    int64_t width,
) noexcept nogil:
    """Make the sums of a node those of its larger child, and keep what varies there."""
    cdef size_t i, n_kept = 0
    cdef int64_t k, at
    cdef int32_t feature
    for i in range(n_varied):
        feature = varied[i]
        at = feature * (1 + width)
        for k in range(1 + width):
            large[at + k] -= small[at + k]
        varied[n_kept] = feature
        n_kept += (large[at] > 0) & (large[at] < n_large)
    return n_kept


cdef inline void clear_sums(
    int32_t* sums, const int32_t* varied, size_t n_varied, int64_t width
) noexcept nogil:
    """Set the sums of some features to zero."""
    cdef size_t i
    cdef int64_t k
    for i in range(n_varied):
        for k in range(1 + width):
            sums[varied[i] * (1 + width) + k] = 0


cdef inline bint needs_sums(const OpenNode* open_node) noexcept nogil:
    """Whether a node is divided with sums of its sparse features."""
    return not open_node.is_leaf and open_node.end - open_node.begin > SMALL


cdef inline void open_root(
    Growth* growth, const Training* training, OpenNode* root, int64_t width
) noexcept nogil:
    """Sum up the sparse features over all rows."""
    cdef int32_t slot = take_slot(growth, training), feature
    cdef int32_t* sums = growth.sums[slot].data()
    root.slot = slot
    growth.sums[slot].assign(training.n_sparse * (1 + width), 0)
    add_rows(growth, sums, 0, training.n_sampled, 1, width)
    growth.varied[slot].clear()
    for feature in range(<int32_t>training.n_sparse):
        if 0 < sums[feature * (1 + width)] < training.n_sampled:
            growth.varied[slot].push_back(feature)


cdef inline void open_children(
    Growth* growth, const Training* training, OpenNode* small, OpenNode* large, int32_t slot,
    int64_t width,
) noexcept nogil:
    """Sum up the sparse features over the children of a node, whose slot is used again."""
    cdef int64_t n_small = small.end - small.begin, n_large = large.end - large.begin
    cdef size_t n_varied = growth.varied[slot].size()
    cdef int32_t* sums = growth.sums[slot].data()
    cdef int32_t* varied = growth.varied[slot].data()
    cdef int32_t* small_sums
    if not needs_sums(small):
        if not needs_sums(large):
            growth.free_slots.push_back(slot)
            return
        large.slot = slot
        add_rows(growth, sums, small.begin, small.end, -1, width)
        growth.varied[slot].resize(keep_varied(varied, varied, n_varied, sums, n_large, width))
        return
    if not needs_sums(large):
        small.slot = slot
    else:
        small.slot = take_slot(growth, training)
        growth.varied[small.slot].resize(n_varied)
        sums = growth.sums[slot].data()
        varied = growth.varied[slot].data()
    # Other features are constant in the children, too: what is added to them is never read.
    small_sums = growth.sums[small.slot].data()
    clear_sums(small_sums, varied, n_varied, width)
    add_rows(growth, small_sums, small.begin, small.end, 1, width)
    growth.varied[small.slot].resize(
        keep_varied(
            growth.varied[small.slot].data(), varied, n_varied, small_sums, n_small, width
        )
    )
    if needs_sums(large):
        large.slot = slot
        growth.varied[slot].resize(
            subtract_sums(sums, small_sums, varied, n_varied, n_large, width)
        )
