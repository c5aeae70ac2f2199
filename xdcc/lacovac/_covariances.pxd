"""Absolute covariances of one label with others, summed: the innermost loop of the search.

Summands are whole numbers (``_node_labels.pxd``), so their order does not matter: four sums that
do not wait for each other take as long as what a compiler makes of OpenMP's ``simd`` (0.9 to 1.0
of it with 50 and 150 labels); one sum takes more than twice as long.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t


cdef inline double absolute_covariances(
    double n_rows, double count, const int32_t* pair_count, const double* counts, int64_t size
) noexcept nogil:
    """n² times the absolute covariances with `size` labels: Σ |n c_jk - c_j c_k| over k."""
    cdef double sum_0 = 0, sum_1 = 0, sum_2 = 0, sum_3 = 0
    cdef int64_t k = 0
    while k + 4 <= size:
        sum_0 += fabs(n_rows * pair_count[k] - count * counts[k])
        sum_1 += fabs(n_rows * pair_count[k + 1] - count * counts[k + 1])
        sum_2 += fabs(n_rows * pair_count[k + 2] - count * counts[k + 2])
        sum_3 += fabs(n_rows * pair_count[k + 3] - count * counts[k + 3])
        k += 4
    while k < size:
        sum_0 += fabs(n_rows * pair_count[k] - count * counts[k])
        k += 1
    return (sum_0 + sum_1) + (sum_2 + sum_3)


cdef inline double absolute_covariances_of_rest(
    double n_rows, double count, const int32_t* all_pairs, const int32_t* moved_pairs,
    const double* counts, int64_t size
) noexcept nogil:
    """The same where pairs are those of all rows without those of the moved ones."""
    cdef double sum_0 = 0, sum_1 = 0, sum_2 = 0, sum_3 = 0
    cdef int64_t k = 0
    while k + 4 <= size:
        sum_0 += fabs(n_rows * (all_pairs[k] - moved_pairs[k]) - count * counts[k])
        sum_1 += fabs(n_rows * (all_pairs[k + 1] - moved_pairs[k + 1]) - count * counts[k + 1])
        sum_2 += fabs(n_rows * (all_pairs[k + 2] - moved_pairs[k + 2]) - count * counts[k + 2])
        sum_3 += fabs(n_rows * (all_pairs[k + 3] - moved_pairs[k + 3]) - count * counts[k + 3])
        k += 4
    while k < size:
        sum_0 += fabs(n_rows * (all_pairs[k] - moved_pairs[k]) - count * counts[k])
        k += 1
    return (sum_0 + sum_1) + (sum_2 + sum_3)
