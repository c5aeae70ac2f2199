"""Kernel that finds the bins of features and sorts values into them.

A bin is a range of values, ``low[b]`` to ``high[b]``, both of which occur. A feature with few
distinct values has a bin for each; otherwise bins hold about equally many rows, and rows with equal
values share one.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.forest._node cimport MISSING
from xdcc.kernels.arrays cimport as_array, first_at_least
from xdcc.kernels.threads cimport run_loop


cdef cppclass Ranges:
    """Ranges of the bins of features, one feature after the other."""
    vector[float] low
    vector[float] high
    vector[int64_t] end            # of the bins of each feature


cdef inline void add_bins(
    Ranges* ranges, const float* value, int64_t n, int64_t max_bin
) noexcept nogil:
    """Divide sorted values, none missing, into at most `max_bin` ranges."""
    cdef int64_t i, b, n_distinct = 0
    cdef size_t first = ranges.low.size(), k
    for i in range(n):
        if i == 0 or value[i] > value[i - 1]:
            n_distinct += 1
            if n_distinct > max_bin:
                break
    if n_distinct <= max_bin:
        for i in range(n):
            if i == 0 or value[i] > value[i - 1]:
                ranges.low.push_back(value[i])
                ranges.high.push_back(value[i])
        return
    for b in range(max_bin):
        i = b * n // max_bin
        if b == 0 or value[i] > ranges.low.back():
            ranges.low.push_back(value[i])
    for k in range(first + 1, ranges.low.size()):
        ranges.high.push_back(value[first_at_least(value, 0, n, ranges.low[k]) - 1])
    ranges.high.push_back(value[n - 1])


cdef inline uint8_t bin_of(const float* low, int64_t n_bins, float value) noexcept nogil:
    """Last bin that does not begin above a value."""
    cdef int64_t first = 0, half
    while n_bins > 1:
        half = n_bins >> 1
        first += half * (low[first + half] <= value)
        n_bins -= half
    return <uint8_t>first


cdef inline int64_t n_known(const float* value, int64_t n) noexcept nogil:
    """Count sorted values before those that are missing."""
    while n > 0 and isnan(value[n - 1]):
        n -= 1
    return n


cdef struct DenseBins:
    # The loop of `bin_dense`.
    const float* value             # [n_features, n_rows]
    int64_t n_rows
    const float* low
    const int64_t* start           # [n_features + 1]
    uint8_t* bins                  # [n_features, n_rows]


cdef void bin_feature(void* data, int64_t feature, int thread) noexcept nogil:
    cdef const DenseBins* dense = <const DenseBins*>data
    cdef const float* value = dense.value + feature * dense.n_rows
    cdef const float* low = dense.low + dense.start[feature]
    cdef int64_t n_bins = dense.start[feature + 1] - dense.start[feature], i
    cdef uint8_t* bins = dense.bins + feature * dense.n_rows
    for i in range(dense.n_rows):
        bins[i] = MISSING if isnan(value[i]) else bin_of(low, n_bins, value[i])


cdef tuple _arrays(const Ranges* ranges):
    return (
        as_array(ranges.low.data(), ranges.low.size()),
        as_array(ranges.high.data(), ranges.high.size()),
        np.concatenate((np.zeros(1, np.int64), as_array(ranges.end.data(), ranges.end.size()))),
    )


def bin_dense(values, max_bin, n_threads):
    """Bins of columns; see ``_binning.pyi``."""
    cdef const float[:, ::1] value = values
    cdef const float[:, ::1] ordered = np.sort(values, axis=1)
    cdef int64_t n_features = value.shape[0], n_rows = value.shape[1], feature
    cdef int64_t most = max_bin
    cdef int threads = n_threads
    cdef Ranges ranges
    for feature in range(n_features):
        add_bins(&ranges, &ordered[feature, 0], n_known(&ordered[feature, 0], n_rows), most)
        ranges.end.push_back(<int64_t>ranges.low.size())
    low, high, start = _arrays(&ranges)
    bins = np.empty((n_features, n_rows), np.uint8)
    cdef uint8_t[:, ::1] bins_view = bins
    cdef const int64_t[::1] start_view = start
    cdef DenseBins dense
    if n_features:
        dense.value = &value[0, 0]
        dense.n_rows = n_rows
        dense.low = ranges.low.data()
        dense.start = &start_view[0]
        dense.bins = &bins_view[0, 0]
        with nogil:
            run_loop(n_features, 1, threads, bin_feature, &dense)
    return bins, low, high, start


def bin_sparse(data, indptr, max_bin):
    """Bins of what a sparse matrix stores; see ``_binning.pyi``."""
    cdef const float[::1] value = data
    cdef const int64_t[::1] pointer = indptr
    cdef int64_t n_features = pointer.shape[0] - 1, most = max_bin - 1, feature, i
    cdef int64_t n, n_negative, n_bins, first
    cdef Ranges ranges
    cdef vector[float] known
    bins = np.empty(value.shape[0], np.uint8)
    default = np.empty(n_features, np.uint8)
    cdef uint8_t[::1] bins_view = bins
    cdef uint8_t[::1] default_view = default
    for feature in range(n_features):
        known.clear()
        for i in range(pointer[feature], pointer[feature + 1]):
            if not isnan(value[i]):
                known.push_back(value[i])
        sort(known.begin(), known.end())
        n = <int64_t>known.size()
        first = <int64_t>ranges.low.size()
        # Negative and positive values get their shares of the bins, and zero has one of its own.
        n_negative = first_at_least(known.data(), 0, n, <float>0)
        if n_negative:
            add_bins(&ranges, known.data(), n_negative, max(most * n_negative // n, 1))
        default_view[feature] = <uint8_t>(<int64_t>ranges.low.size() - first)
        ranges.low.push_back(0)
        ranges.high.push_back(0)
        if n_negative < n:
            add_bins(
                &ranges, known.data() + n_negative, n - n_negative,
                max(most * (n - n_negative) // n, 1),
            )
        ranges.end.push_back(<int64_t>ranges.low.size())
        n_bins = <int64_t>ranges.low.size() - first
        for i in range(pointer[feature], pointer[feature + 1]):
            bins_view[i] = (
                MISSING if isnan(value[i]) else bin_of(ranges.low.data() + first, n_bins, value[i])
            )
    return bins, default, *_arrays(&ranges)
