"""Conversion between NumPy arrays, pointers and C++ vectors; binary search."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

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


cdef inline object as_array(vector[element]& values):
    """Copy a vector into an array of the same type."""
    import numpy as np

    cdef size_t size = values.size()
    if element is float or element is double:
        result = np.empty(size, f"f{sizeof(element)}")
    elif element is uint8_t or element is uint64_t:
        result = np.empty(size, f"u{sizeof(element)}")
    else:
        result = np.empty(size, f"i{sizeof(element)}")
    cdef element[::1] view = result
    if size:
        memcpy(&view[0], values.data(), size * sizeof(element))
    return result


cdef inline float factor_at(const float* factors, int64_t i) noexcept nogil:
    """Return an element; 1 if there is no array."""
    return factors[i] if factors != NULL else <float>1


cdef inline const element* elements(const element[::1] values) noexcept:
    """Return a pointer to the elements of an array, which must stay alive; NULL if it is empty."""
    return &values[0] if values.shape[0] else NULL


cdef inline int64_t first_at_least(
    const Sorted* values, int64_t begin, int64_t end, Sorted wanted
) noexcept nogil:
    """Return the first index in ``[begin, end)`` whose value is at least `wanted`, or `end`."""
    cdef int64_t middle
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin
