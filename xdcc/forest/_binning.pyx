"""Kernel that divides the values of features into bins of about equally many rows."""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.forest._node cimport MISSING
from xdcc.kernels.arrays cimport as_array, first_at_least
from xdcc.kernels.threads cimport run_loop


cdef inline void add_edges(
    vector[float]* edges, const float* value, int64_t n, int64_t max_bin
) noexcept nogil:
    """Find the edges between bins of sorted values: halfway between neighbouring values.

    Few distinct values have a bin each. Otherwise bins begin at quantiles, and equal values share
    one.
    """
    cdef int64_t i, b, at, n_distinct = 0
    cdef float low = value[0] if n else 0
    for i in range(n):
        n_distinct += i == 0 or value[i] > value[i - 1]
        if n_distinct > max_bin:
            break
    if n_distinct <= max_bin:
        for i in range(1, n):
            if value[i] > value[i - 1]:
                edges.push_back(edge_between(value[i - 1], value[i]))
        return
    for b in range(1, max_bin):
        i = b * n // max_bin
        if value[i] > low:
            low = value[i]
            at = first_at_least(value, 0, n, low)
            edges.push_back(edge_between(value[at - 1], low))


cdef inline float edge_between(float low, float high) noexcept nogil:
    """A number that is not less than `low` and less than `high`."""
    cdef float middle = <float>((<double>low + high) / 2)
    return middle if middle < high else low


cdef inline uint8_t bin_of(const float* edge, int64_t n_edges, float value) noexcept nogil:
    """Count the edges below a value."""
    cdef int64_t first = 0, half
    while n_edges > 0:
        half = (n_edges + 1) >> 1
        first += half * (edge[first + half - 1] < value)
        n_edges -= half
    return <uint8_t>first


cdef struct Columns:
    # The loop of `bin_columns`.
    const float* value             # [n_features, n_rows]
    int64_t n_rows
    const float* edge
    const int64_t* edge_start      # [n_features + 1]
    uint8_t* bins                  # [n_features, n_rows]


cdef void bin_column(void* data, int64_t feature, int thread) noexcept nogil:
    cdef const Columns* columns = <const Columns*>data
    cdef const float* value = columns.value + feature * columns.n_rows
    cdef const float* edge = columns.edge + columns.edge_start[feature]
    cdef int64_t n_edges = columns.edge_start[feature + 1] - columns.edge_start[feature], i
    cdef uint8_t* bins = columns.bins + feature * columns.n_rows
    for i in range(columns.n_rows):
        bins[i] = MISSING if isnan(value[i]) else bin_of(edge, n_edges, value[i])


def bin_columns(values, max_bin, n_threads):
    """Divide columns into bins; see ``_binning.pyi``."""
    cdef const float[:, ::1] value = values
    cdef const float[:, ::1] ordered = np.sort(values, axis=1)  # NaN last
    cdef int64_t n_features = value.shape[0], n_rows = value.shape[1], feature, n_known
    cdef int64_t most = max_bin
    cdef int threads = n_threads
    cdef vector[float] edges
    cdef vector[int64_t] edge_end
    bins = np.empty((n_features, n_rows), np.uint8)
    cdef uint8_t[:, ::1] bins_view = bins
    cdef Columns columns
    edge_end.push_back(0)
    for feature in range(n_features):
        n_known = n_rows
        while n_known > 0 and isnan(ordered[feature, n_known - 1]):
            n_known -= 1
        add_edges(&edges, &ordered[feature, 0], n_known, most)
        edge_end.push_back(<int64_t>edges.size())
    if n_features:
        columns.value = &value[0, 0]
        columns.n_rows = n_rows
        columns.edge = edges.data()
        columns.edge_start = edge_end.data()
        columns.bins = &bins_view[0, 0]
        with nogil:
            run_loop(n_features, 1, threads, bin_column, &columns)
    return bins, as_array[float](edges), as_array[int64_t](edge_end)
