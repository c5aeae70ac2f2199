"""Scores of splits from sums over the rows of a node that go right."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from xdcc.forest.growth cimport Growth, Split
from xdcc.forest.training cimport Training


cdef inline void sum_rows(
    int32_t* total, const Growth* growth, int64_t begin, int64_t end, int64_t width
) noexcept nogil:
    """Sum up the values of rows."""
    cdef int64_t i, k
    cdef const int32_t* value = growth.value.data()
    for k in range(width):
        total[k] = 0
    for i in range(begin, end):
        for k in range(width):
            total[k] += value[i * width + k]


cdef inline double score_of(
    const Growth* growth, const int32_t* right, int64_t n_right, int64_t n_rows, int64_t width
) noexcept nogil:
    """Sum of squares between the children, which is largest where they vary least within."""
    cdef int64_t n_values = growth.n_values, k
    cdef double weight_right = <double>n_right, weight_left = <double>(n_rows - n_right)
    cdef double score = 0, sum_right, sum_left
    cdef const int32_t* total = growth.total.data()
    if width > n_values:
        weight_right = right[n_values]
        weight_left = total[n_values] - right[n_values]
    else:
        n_values = width  # may be a constant
    for k in range(n_values):
        sum_right = right[k]
        sum_left = total[k] - right[k]
        score += sum_right * sum_right / weight_right + sum_left * sum_left / weight_left
    return score


cdef inline void take_better(
    Split* best, Split* split, const Growth* growth, const int32_t* right, int64_t n_rows,
    const Training* training, int64_t width,
) noexcept nogil:
    """Take a split if its children are large enough and it is better."""
    cdef int64_t n_right = split.n_right
    if n_right < training.min_samples_leaf or n_rows - n_right < training.min_samples_leaf:
        return
    split.score = score_of(growth, right, n_right, n_rows, width)
    if best.feature < 0 or split.score > best.score:
        best[0] = split[0]


cdef inline int64_t sum_four(
    int32_t* right, const uint8_t* bins, uint8_t cut, const int32_t* value, int64_t n
) noexcept nogil:
    """Do as `sum_right` for four values of a row, in registers."""
    cdef int64_t i
    cdef int32_t n_right = 0, mask, first = 0, second = 0, third = 0, fourth = 0
    for i in range(n):
        mask = -<int32_t>(bins[i] > cut)
        n_right -= mask
        first += value[4 * i] & mask
        second += value[4 * i + 1] & mask
        third += value[4 * i + 2] & mask
        fourth += value[4 * i + 3] & mask
    right[0] = first
    right[1] = second
    right[2] = third
    right[3] = fourth
    return n_right


cdef inline int64_t sum_right(
    int32_t* right, const uint8_t* bins, uint8_t cut, const int32_t* value, int64_t n,
    int64_t width,
) noexcept nogil:
    """Count the rows of larger bins than `cut`, and sum up their values."""
    cdef int64_t i, k
    cdef int32_t n_right = 0, mask, sum_of
    if width == 1:
        sum_of = 0
        for i in range(n):
            mask = -<int32_t>(bins[i] > cut)
            sum_of += value[i] & mask
            n_right -= mask
        right[0] = sum_of
        return n_right
    if width == 4:
        return sum_four(right, bins, cut, value, n)
    for k in range(width):
        right[k] = 0
    for i in range(n):
        mask = -<int32_t>(bins[i] > cut)
        n_right -= mask
        for k in range(width):
            right[k] += value[i * width + k] & mask
    return n_right
