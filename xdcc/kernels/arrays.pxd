"""Arrays in kernels: pointers into NumPy's, new ones of C++ vectors, search in sorted values."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

ctypedef fused element:
    int8_t
    int32_t
    int64_t
    uint8_t
    uint64_t
    float
    double

ctypedef fused Sorted:
    int32_t
    float


cdef inline object as_array(const element* values, size_t size):
    """Copy `size` elements into an array of their type."""
    import numpy as np

    if element is int8_t:
        result = np.empty(size, np.int8)
    elif element is int32_t:
        result = np.empty(size, np.int32)
    elif element is int64_t:
        result = np.empty(size, np.int64)
    elif element is uint8_t:
        result = np.empty(size, np.uint8)
    elif element is uint64_t:
        result = np.empty(size, np.uint64)
    elif element is float:
        result = np.empty(size, np.float32)
    else:
        result = np.empty(size, np.float64)
    cdef element[::1] view = result
    if size:
        memcpy(&view[0], values, size * sizeof(element))
    return result


cdef inline const element* elements(const element[::1] values) noexcept:
    """Point at the elements of an array, which has to stay alive; NULL if there is none."""
    return &values[0] if values.shape[0] else NULL


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
