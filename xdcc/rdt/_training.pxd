"""What all trees are grown from: training data by columns, and the shape that trees have.

Tests are numbered: first the features, then the labels.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.kernels.arrays cimport first_at_least


cdef struct Training:
    Matrix X                       # in Fortran order or CSC
    Categories categories
    const uint8_t* is_sparse       # [n_features]: may the feature be part of a disjunction?
    const int32_t* sparse_feature  # [n_sparse]: those that may
    int64_t n_sparse
    const uint8_t* Y               # [n_labels, n_rows]
    int64_t n_labels
    const int32_t* labelset        # [n_rows]
    int64_t n_labelsets
    int64_t max_depth
    int64_t min_samples_split
    double label_test_fraction
    int64_t disjunction_size
    bint retry                     # is a test that does not divide a node drawn again?


cdef inline float feature_value(
    const Training* training, int64_t feature, int64_t row
) noexcept nogil:
    """Look a value up, in a sparse column by bisection; what is not stored is 0."""
    cdef const Matrix* X = &training.X
    cdef int64_t end, place
    if X.dense != NULL:
        return X.dense[feature * X.n_rows + row]
    end = X.indptr[feature + 1]
    place = first_at_least(X.indices, X.indptr[feature], end, <int32_t>row)
    if place < end and X.indices[place] == row:
        return X.data[place]
    return 0
