"""A node of a growing tree: the labels that vary in it, and what its rows have in a feature.

Labels: with n rows, c_j of which have label j and c_jk both labels, n² times a variance is
c_j (n - c_j) and n² times a covariance is n c_jk - c_j c_k: whole numbers, exact in float64. So
equal splits get equal scores, and rounding decides no tie (while sums stay below 2^53: 10,000 rows
and 10,000 labels at least, since a covariance is at most n²/4). Every search and clustering works
on these counts; labels are numbered by their variances there, the largest first.

Features: values other than zero, gaps, and the rest is zero. Rows whose value is zero, most of them
in sparse data, are never touched: of a sparse X only the features are listed that a row of the node
stores, each with its stored values side by side.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.lacovac._training cimport LabelRows


cdef cppclass NodeLabels:
    int64_t n_rows
    int64_t n_varying
    const int32_t* rows
    vector[double] count           # [n_varying]: c_j
    vector[double] variance        # [n_varying]: n² times the variance
    vector[int32_t] pair_count     # [n_varying, n_varying]: c_jk where j < k
    vector[int64_t] row_start      # [n_rows + 1]: row i, counted from the node's first, has ...
    vector[int32_t] row_label      # ... row_label[row_start[i] : row_start[i + 1]], ascending
    double sum_count               # Σ c_j
    double sum_square              # Σ c_j²
    double sum_pairs               # Σ c_jk over pairs
    # By the training labels' own numbers, [n_labels]:
    vector[int32_t] n_positive     # of the node's labels
    vector[int32_t] number         # of the varying ones
    vector[uint8_t] is_counted     # 0 between calls


cdef void count_labels(NodeLabels* node, const LabelRows* Y, const vector[int32_t]* labels
                       ) noexcept nogil

cdef void count_pairs(NodeLabels* node) noexcept nogil


# Absolute covariances of one label with others, summed: the innermost loop of the search.
# Summands are whole numbers, so their order does not matter: four sums that do not wait for each
# other take as long as what a compiler makes of OpenMP's ``simd`` (0.9 to 1.0 of it with 50 and
# 150 labels); one sum takes more than twice as long.


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


cdef struct Value:
    float value
    int32_t position               # of the row in the node


cdef cppclass NodeFeatures:
    """The features that may vary in a node."""
    vector[int32_t] feature
    vector[Value] stored           # sparse X: those of the i-th feature are stored[start[i] : ...
    vector[int64_t] start          # ... start[i + 1]]
    vector[int64_t] end            # [all features]: 0 between calls


cdef cppclass FeatureValues:
    """One feature in the rows of a node."""
    vector[Value] nonzero
    vector[int32_t] missing        # positions of rows without a value
    int64_t n_negative             # once the values are sorted
    bint has_zeros


cdef void list_features(NodeFeatures* features, const Matrix* X, const NodeLabels* node
                        ) noexcept nogil

cdef void collect_values(FeatureValues* values, const NodeFeatures* features, const Matrix* X,
                         const NodeLabels* node, int64_t i) noexcept nogil

cdef bint are_equal(const FeatureValues* values) noexcept nogil

cdef void sort_values(FeatureValues* values) noexcept nogil


cdef cppclass Branches:
    """Which rows of a node each category of a nominal feature gets."""
    vector[int32_t] category       # [n_rows]: number of the category whose branch a row takes
    vector[int32_t] start          # [n_categories + 1]: a category has the rows ...
    vector[int32_t] position       # [n_rows]: ... position[start[category] : start[category + 1]]
    int32_t largest                # category with the most rows; of equal ones the first


cdef void find_branches(Branches* branches, const FeatureValues* values,
                        const Categories* categories, int64_t feature, int64_t n_rows,
                        int64_t min_rows) noexcept nogil
