"""Binary search in sorted values."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused Sorted:
    int32_t
    float


cdef inline int64_t first_at_least(
    const Sorted* values, int64_t begin, int64_t end, Sorted wanted
) noexcept nogil:
    """Position of the first of ``values[begin:end]`` that is not less than `wanted`, or `end`."""
    cdef int64_t middle
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin
