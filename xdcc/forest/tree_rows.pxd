"""Rows of a tree, and their values in the search: projections of the labels on a common grid."""

from libc.math cimport fabs, floor
from libc.stdint cimport int32_t, int64_t, uint64_t

from xdcc.forest.growth cimport Growth
from xdcc.forest.training cimport Training
from xdcc.kernels.arrays cimport factor_at
from xdcc.kernels.random cimport draw_uniform

cdef enum:
    LARGEST = 2147483647  # of a sum


cdef inline double draw_normal(uint64_t* random) noexcept nogil:
    """Draw a nearly normal number: the sum of four uniform ones; its mean is 0."""
    cdef double total = -2
    cdef int i
    for i in range(4):
        total += draw_uniform(random)
    return total


cdef inline void sample_rows(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw the rows of a tree without replacement, ascending (Fan, Muller and Rezucha, 1962)."""
    cdef int64_t i, n_wanted = training.n_sampled
    growth.rows.clear()
    for i in range(training.n_rows):
        if (
            n_wanted == training.n_rows - i
            or draw_uniform(random) * <double>(training.n_rows - i) < <double>n_wanted
        ):
            growth.rows.push_back(<int32_t>i)
            n_wanted -= 1
            if n_wanted == 0:
                break


cdef inline void project(Growth* growth, const Training* training, uint64_t* random) noexcept nogil:
    """Project the centred labels of the rows; as far as a label is unknown, it has its mean."""
    cdef int64_t n_values = growth.n_values, i, k, at, row
    cdef const double* vector_of
    cdef double* projected
    cdef double share
    growth.projection.resize(training.n_labels * n_values)
    growth.centre.assign(n_values, 0)
    for i in range(training.n_labels * n_values):
        growth.projection[i] = draw_normal(random)
        growth.centre[i % n_values] += growth.projection[i] * training.mean[i // n_values]
    for i in range(training.n_sampled):
        row = growth.rows[i]
        projected = growth.projected.data() + i * n_values
        for k in range(n_values):
            projected[k] = -growth.centre[k]
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            vector_of = growth.projection.data() + training.positive[at] * n_values
            share = factor_at(training.positive_share, at)
            for k in range(n_values):
                projected[k] += vector_of[k] * share
        for at in range(training.unknown_start[row], training.unknown_start[row + 1]):
            vector_of = growth.projection.data() + training.unknown[at] * n_values
            share = factor_at(training.unknown_share, at) * training.mean[training.unknown[at]]
            for k in range(n_values):
                projected[k] += vector_of[k] * share


cdef inline void centre_labels(Growth* growth, const Training* training) noexcept nogil:
    """Take all labels instead of projections."""
    cdef int64_t n_labels = training.n_labels, i, label, at, row
    cdef double* projected
    for i in range(training.n_sampled):
        row = growth.rows[i]
        projected = growth.projected.data() + i * n_labels
        for label in range(n_labels):
            projected[label] = -training.mean[label]
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            projected[training.positive[at]] += factor_at(training.positive_share, at)
        for at in range(training.unknown_start[row], training.unknown_start[row + 1]):
            label = training.unknown[at]
            projected[label] += factor_at(training.unknown_share, at) * training.mean[label]


cdef inline void round_values(Growth* growth, const Training* training) noexcept nogil:
    """Put the rows' values, and their weights if any, on the finest grid with sums of 32 bits."""
    cdef int64_t n_values = growth.n_values, width = growth.width, n = training.n_sampled, i, k
    cdef double largest = 0, total, total_weight = 0, scale, weight_scale, weight = 1
    for k in range(n_values):
        total = 0
        for i in range(n):
            if training.weight != NULL:
                weight = training.weight[growth.rows[i]]
            total += fabs(growth.projected[i * n_values + k]) * weight
        largest = max(largest, total)
    scale = (LARGEST - <double>n) / largest if largest > 0 else 0
    if training.weight != NULL:
        for i in range(n):
            total_weight += training.weight[growth.rows[i]]
    weight_scale = (LARGEST - <double>n) / total_weight if total_weight > 0 else 0
    for i in range(n):
        if training.weight != NULL:
            weight = training.weight[growth.rows[i]]
            growth.value[i * width + n_values] = max(
                <int32_t>floor(weight * weight_scale + 0.5), 1
            )
        for k in range(n_values):
            growth.value[i * width + k] = <int32_t>floor(
                growth.projected[i * n_values + k] * weight * scale + 0.5
            )
