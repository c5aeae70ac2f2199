"""A node of a growing tree: counts of its labels, and the values of its features.

Labels: with n rows, c_j of them with label j and c_jk with labels j and k, n² times a variance is
c_j (n - c_j) and n² times a covariance is n c_jk - c_j c_k. These are whole numbers, exact in
float64, so equal splits get equal scores, and rounding never breaks a tie. (Sums stay below 2^53
for at least 10,000 rows and 10,000 labels, since a covariance is at most n²/4.) Varying labels are
numbered by decreasing variance.

Features: nonzero and missing values are listed, all others are zero. Rows with the value zero, the
most frequent one in sparse data, are never visited: for a sparse X, only features with a stored
value in the node are listed, each with its stored values.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.comparators.lacovac._training cimport LabelRows


cdef cppclass NodeLabels:
    int64_t n_rows
    int64_t n_varying
    const int32_t* rows
    vector[double] count           # [n_varying] c_j
    vector[double] variance        # [n_varying] n² times the variance
    vector[int32_t] pair_count     # [n_varying, n_varying] c_jk for j < k
    vector[int64_t] row_start      # [n_rows + 1] the i-th row of the node has the labels ...
    vector[int32_t] row_label      # ... row_label[row_start[i] : row_start[i + 1]], ascending
    double sum_count               # Σ c_j
    double sum_square              # Σ c_j²
    double sum_pairs               # Σ c_jk over pairs
    # By index of the training labels, [n_labels]:
    vector[int32_t] n_positive     # for the labels of the node
    vector[int32_t] number         # for the varying labels
    vector[uint8_t] is_counted     # 0 between calls


cdef void count_labels(NodeLabels* node, const LabelRows* Y, const vector[int32_t]* labels
                       ) noexcept nogil

cdef void count_pairs(NodeLabels* node) noexcept nogil


# The sum of absolute covariances of one label with others is the innermost loop of the search. The
# summands are whole numbers, so their order does not matter. Four independent sums are as fast as
# OpenMP's ``simd`` (0.9 to 1.0 of its time with 50 and 150 labels); one sum takes more than twice
# as long.


cdef inline double absolute_covariances(
    double n_rows, double count, const int32_t* pair_count, const double* counts, int64_t size
) noexcept nogil:
    """Return n² times the sum of absolute covariances: Σ |n c_jk - c_j c_k| over `size` labels."""
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
    """Return the same sum for the rows that are not on the moving side."""
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
    vector[Value] stored           # of a sparse X; the i-th feature has ...
    vector[int64_t] start          # ... stored[start[i] : start[i + 1]]
    vector[int64_t] end            # [X.n_features] 0 between calls


cdef cppclass FeatureValues:
    """The values of a feature in the rows of a node."""
    vector[Value] nonzero
    vector[int32_t] missing        # positions of rows with a missing value
    int64_t n_negative             # valid after sorting
    bint has_zeros


cdef void list_features(NodeFeatures* features, const Matrix* X, const NodeLabels* node
                        ) noexcept nogil

cdef void collect_values(FeatureValues* values, const NodeFeatures* features, const Matrix* X,
                         const NodeLabels* node, int64_t i) noexcept nogil

cdef bint are_equal(const FeatureValues* values) noexcept nogil

cdef void sort_values(FeatureValues* values) noexcept nogil


cdef cppclass Branches:
    """The branches of a nominal split: the rows of each category."""
    vector[int32_t] category       # [n_rows] the category whose branch a row follows
    vector[int32_t] start          # [n_categories + 1] a category has the rows ...
    vector[int32_t] position       # [n_rows] ... position[start[category] : start[category + 1]]
    int32_t largest                # category with the most rows (ties: the first)


cdef void find_branches(Branches* branches, const FeatureValues* values,
                        const Categories* categories, int64_t feature, int64_t n_rows,
                        int64_t min_rows) noexcept nogil
