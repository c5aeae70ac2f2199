"""Samples that make rules differ: rows for a rule, attributes for each of its conditions."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.kernels.random cimport draw_below


cdef inline void draw_rows(
    bint bootstrap, int64_t n_rows, uint64_t* random, double* weight
) noexcept nogil:
    """Draw as many rows as there are, with replacement; all rows if not `bootstrap`.

    `weight` [n_rows] gets how often each row is in the sample.
    """
    cdef int64_t row
    for row in range(n_rows):
        weight[row] = not bootstrap
    if bootstrap:
        for row in range(n_rows):
            weight[draw_below(random, n_rows)] += 1


cdef inline void draw_attributes(
    int64_t n_drawn, int64_t n_features, uint64_t* random, uint8_t* is_drawn,
    vector[int32_t]* attributes,
) noexcept nogil:
    """Draw different attributes (Floyd's method), sorted.

    `is_drawn` [n_features] is working memory, zero before and after.
    """
    cdef int64_t feature, last
    attributes.clear()
    if n_drawn >= n_features:
        for feature in range(n_features):
            attributes.push_back(<int32_t>feature)
        return
    for last in range(n_features - n_drawn, n_features):
        feature = draw_below(random, last + 1)
        if is_drawn[feature]:
            feature = last
        is_drawn[feature] = 1
        attributes.push_back(<int32_t>feature)
    sort(attributes.begin(), attributes.end())
    for feature in attributes[0]:
        is_drawn[feature] = 0
