"""Splits of eight dense features at a time, whose bins are lanes of vectors (``bin_lanes.h``).

They are the splits that `try_dense` draws for one feature after the other, from the same random
numbers. Each feature takes two numbers: one to be drawn, one for its cut. Only a feature that turns
out to be constant takes one: those drawn behind it are put back then.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from xdcc.forest._node cimport MISSING
from xdcc.forest.growth cimport Growth, OpenNode, Split
from xdcc.forest.training cimport Training
from xdcc.kernels.multiversion cimport vectorised_avx2
from xdcc.kernels.random cimport draw, draw_below

cdef extern from "bin_lanes.h" namespace "xdcc_forest" nogil:
    void find_ranges(uint8_t* least, uint8_t* largest, const uint8_t* bins, int64_t n_rows)
    void sum_larger(
        int32_t* n_larger, int32_t* sums, const uint8_t* bins, const uint8_t* cut,
        const int32_t* value, int64_t stride, int64_t n_rows,
    )

cdef enum:
    LANES = 8


cdef inline void swap(int32_t* order, int64_t first, int64_t second) noexcept nogil:
    """Let two features take each other's place."""
    cdef int32_t feature = order[first]
    order[first] = order[second]
    order[second] = feature


cdef inline void draw_features(
    int32_t* order, int64_t* place, int64_t begin, int64_t n_features, uint64_t random
) noexcept nogil:
    """Draw features as if none were constant; `place` is where each was in `order`."""
    cdef int64_t j
    for j in range(LANES):
        place[j] = begin + j + draw_below(&random, n_features - begin - j)
        draw(&random)  # for its cut
        swap(order, begin + j, place[j])


cdef inline void gather_bins(
    uint8_t* bins, const int32_t* feature, const Training* training, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Copy the bins of a node's rows."""
    cdef const uint8_t* column[LANES]
    cdef int64_t i, j, row
    for j in range(LANES):
        column[j] = training.dense + <int64_t>feature[j] * training.n_rows
    for i in range(n_rows):
        row = rows[i]
        for j in range(LANES):
            bins[i * LANES + j] = column[j][row]


cdef inline int64_t draw_cuts(
    uint8_t* cut, const uint8_t* least, const uint8_t* largest, uint64_t* random
) noexcept nogil:
    """Draw a cut for each feature before the first constant one; return their number."""
    cdef int64_t j, n_varied = 0
    for j in range(LANES):
        cut[j] = MISSING  # no bin is larger
    for j in range(LANES):
        draw(random)  # the feature
        if least[j] == largest[j]:
            break
        cut[j] = least[j] + <uint8_t>draw_below(random, largest[j] - least[j])
        n_varied += 1
    return n_varied


cdef inline void score_lanes(
    double* score, const Growth* growth, const int32_t* right, const int32_t* n_right,
    int64_t n_rows, int64_t width,
) noexcept nogil:
    """Do as `score_of` for each lane."""
    cdef double weight_right[LANES]
    cdef double weight_left[LANES]
    cdef double sum_right, sum_left
    cdef int64_t j, k
    cdef bint is_weighted = width > growth.n_values
    cdef const int32_t* of_right = right + growth.n_values * LANES if is_weighted else n_right
    cdef int32_t total = growth.total[growth.n_values] if is_weighted else <int32_t>n_rows
    for j in range(LANES):
        weight_right[j] = of_right[j]
        weight_left[j] = total - of_right[j]
        score[j] = 0
    for k in range(width - is_weighted):  # may be a constant
        for j in range(LANES):
            sum_right = right[k * LANES + j]
            sum_left = growth.total[k] - right[k * LANES + j]
            score[j] += (
                sum_right * sum_right / weight_right[j] + sum_left * sum_left / weight_left[j]
            )


cdef inline void try_lanes(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t* n_tried, int64_t* n_varied, uint64_t* random, int64_t width,
) noexcept nogil:
    """Do as `try_batch`; `width` may be a constant."""
    cdef int64_t n_rows = open_node.end - open_node.begin, begin = n_tried[0], j, k, n_cuts
    cdef const int32_t* value = growth.value.data() + open_node.begin * width
    cdef int32_t* feature = growth.order.data() + begin
    cdef int32_t* right = growth.right_lanes.data()
    cdef uint8_t* bins = growth.bins.data()
    cdef int64_t place[LANES]
    cdef uint8_t least[LANES]
    cdef uint8_t largest[LANES]
    cdef uint8_t cut[LANES]
    cdef int32_t n_right[LANES]
    cdef double score[LANES]
    draw_features(growth.order.data(), place, begin, training.n_dense, random[0])
    gather_bins(bins, feature, training, growth.rows.data() + open_node.begin, n_rows)
    find_ranges(least, largest, bins, n_rows)
    n_cuts = draw_cuts(cut, least, largest, random)
    for j in range(LANES - 1, n_cuts, -1):
        swap(growth.order.data(), begin + j, place[j])
    n_tried[0] += min(n_cuts + 1, LANES)
    n_varied[0] += n_cuts
    for k in range(width):
        sum_larger(n_right, right + k * LANES, bins, cut, value + k, width, n_rows)
    score_lanes(score, growth, right, n_right, n_rows, width)
    for j in range(n_cuts):
        if min(<int64_t>n_right[j], n_rows - n_right[j]) < training.min_samples_leaf:
            continue
        if best.feature < 0 or score[j] > best.score:
            best.feature = feature[j]
            best.score = score[j]
            best.cut = cut[j]
            best.has_missing = False
            best.n_right = n_right[j]


cdef inline vectorised_avx2 try_batch(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t* n_tried, int64_t* n_varied, uint64_t* random, int64_t width,
) noexcept nogil:
    """Draw splits of the features behind the first `n_tried`, and take the best one if it is better.

    Adds to `n_tried` how many there were, at least one, and to `n_varied` how many are not constant.
    """
    if width == 1:
        try_lanes(best, growth, training, open_node, n_tried, n_varied, random, 1)
    else:
        try_lanes(best, growth, training, open_node, n_tried, n_varied, random, width)
