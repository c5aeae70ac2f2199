"""How the rows of a node are divided between its children, which keep their order."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove

from xdcc.forest.growth cimport Growth, OpenNode


cdef inline int64_t divide_rows(
    Growth* growth, const OpenNode* parent, int64_t width
) noexcept nogil:
    """Send the marked rows of a node right, the others left; return how many go left."""
    cdef int64_t n = parent.end - parent.begin, i, k, n_left = 0, n_right = 0
    cdef int32_t* rows = growth.rows.data() + parent.begin
    cdef int32_t* value = growth.value.data() + parent.begin * width
    cdef int32_t* rows_right = growth.rows_right.data()
    cdef int32_t* value_right = growth.value_right.data()
    cdef const uint8_t* goes_right = growth.goes_right.data()
    cdef int32_t row
    for i in range(n):
        # Both sides are written, one is kept: a branch would be mispredicted.
        row = rows[i]
        rows_right[n_right] = row
        rows[n_left] = row
        for k in range(width):
            value_right[n_right * width + k] = value[i * width + k]
        for k in range(width):
            value[n_left * width + k] = value_right[n_right * width + k]
        n_right += goes_right[i]
        n_left += 1 - goes_right[i]
    memcpy(rows + n_left, rows_right, n_right * sizeof(int32_t))
    memcpy(value + n_left * width, value_right, n_right * width * sizeof(int32_t))
    return n_left


cdef inline int64_t move_few(
    Growth* growth, const OpenNode* parent, int64_t width
) noexcept nogil:
    """Send the few listed rows of a node right, the others left; return how many go left."""
    cdef int64_t n = parent.end - parent.begin, n_few = growth.few.size(), n_left = n - n_few
    cdef int64_t i, k, at, n_between, target = growth.few[0]
    cdef int32_t* rows = growth.rows.data() + parent.begin
    cdef int32_t* value = growth.value.data() + parent.begin * width
    for i in range(n_few):
        at = growth.few[i]
        growth.rows_right[i] = rows[at]
        for k in range(width):
            growth.value_right[i * width + k] = value[at * width + k]
    for i in range(n_few):
        at = growth.few[i] + 1
        n_between = (growth.few[i + 1] if i + 1 < n_few else n) - at
        memmove(rows + target, rows + at, n_between * sizeof(int32_t))
        memmove(value + target * width, value + at * width, n_between * width * sizeof(int32_t))
        target += n_between
    memcpy(rows + n_left, growth.rows_right.data(), n_few * sizeof(int32_t))
    memcpy(
        value + n_left * width, growth.value_right.data(), n_few * width * sizeof(int32_t)
    )
    return n_left
