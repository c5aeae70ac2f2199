"""Discrete features: their sorted values, one feature after another."""

from libc.stdint cimport int32_t, int64_t

from xdcc.kernels.arrays cimport first_at_least


cdef struct Categories:
    const float* value             # of feature f: value[start[f] : start[f + 1]]
    const int32_t* start           # [n_features + 1]


cdef inline Categories categories_of(
    const float[::1] values, const int32_t[::1] start
) noexcept:
    """Point to the result of ``category_values`` of ``xdcc.base``, which must stay alive."""
    cdef Categories categories
    categories.value = &values[0] if values.shape[0] else NULL
    categories.start = &start[0]
    return categories


cdef inline int32_t n_categories(const Categories* categories, int64_t feature) noexcept nogil:
    """Return the number of values of a feature, 0 if it is numeric."""
    return categories.start[feature + 1] - categories.start[feature]


cdef inline int32_t category_number(
    const Categories* categories, int64_t feature, float value
) noexcept nogil:
    """Return the position of a value among the values of its feature."""
    cdef int32_t begin = categories.start[feature], end = categories.start[feature + 1]
    return <int32_t>first_at_least(categories.value, begin, end, value) - begin
