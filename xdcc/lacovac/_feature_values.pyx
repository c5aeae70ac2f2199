"""Gathering the values of features, which X holds by columns (dense) or by rows (sparse)."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort

from xdcc.kernels.matrix cimport Matrix
from xdcc.lacovac._node_labels cimport NodeLabels

cdef extern from *:
    """
    // The one piece in C++: std::sort inlines it. A comparator in Cython is called through a
    // pointer; with it fits on yeast took 9 % (covariances) to 15 % (variances) longer.
    struct XdccSmaller {
      template <typename Value>
      bool operator()(Value const& one, Value const& other) const {
        return one.value < other.value;
      }
    };
    """
    cdef cppclass Smaller "XdccSmaller":
        pass


cdef void list_features(NodeFeatures* features, const Matrix* X, const NodeLabels* node
                        ) noexcept nogil:
    """List all features of a dense X, those with a stored value in the node of a sparse one."""
    cdef int64_t i, k, row, feature, n_stored = 0
    cdef Value stored
    features.feature.clear()
    if X.dense != NULL:
        for feature in range(X.n_features):
            features.feature.push_back(<int32_t>feature)
        return
    features.end.resize(X.n_features, 0)
    for i in range(node.n_rows):
        row = node.rows[i]
        for k in range(X.indptr[row], X.indptr[row + 1]):
            feature = X.indices[k]
            if features.end[feature] == 0:
                features.feature.push_back(<int32_t>feature)
            features.end[feature] += 1
    sort(features.feature.begin(), features.feature.end())
    features.start.clear()
    for i in range(<int64_t>features.feature.size()):
        feature = features.feature[i]
        features.start.push_back(n_stored)
        n_stored += features.end[feature]
        features.end[feature] = features.start[i]
    features.start.push_back(n_stored)
    features.stored.resize(n_stored)
    for i in range(node.n_rows):
        row = node.rows[i]
        for k in range(X.indptr[row], X.indptr[row + 1]):
            feature = X.indices[k]
            stored.value = X.data[k]
            stored.position = <int32_t>i
            features.stored[features.end[feature]] = stored
            features.end[feature] += 1
    for i in range(<int64_t>features.feature.size()):
        features.end[features.feature[i]] = 0


cdef void collect_values(FeatureValues* values, const NodeFeatures* features, const Matrix* X,
                         const NodeLabels* node, int64_t i) noexcept nogil:
    """Find the values of the i-th feature of the list."""
    cdef int64_t k
    cdef const float* column
    cdef Value found
    values.nonzero.clear()
    values.missing.clear()
    if X.dense != NULL:
        column = X.dense + features.feature[i] * X.n_rows
        for k in range(node.n_rows):
            found.value = column[node.rows[k]]
            found.position = <int32_t>k
            keep_value(values, found)
    else:
        for k in range(features.start[i], features.start[i + 1]):
            keep_value(values, features.stored[k])
    values.has_zeros = <int64_t>(values.nonzero.size() + values.missing.size()) < node.n_rows


cdef inline void keep_value(FeatureValues* values, Value found) noexcept nogil:
    if isnan(found.value):
        values.missing.push_back(found.position)
    elif found.value != 0:
        values.nonzero.push_back(found)


cdef bint are_equal(const FeatureValues* values) noexcept nogil:
    """Whether all rows that have a value have the same."""
    cdef int64_t i
    if values.nonzero.empty():
        return True
    if values.has_zeros:
        return False
    for i in range(1, <int64_t>values.nonzero.size()):
        if values.nonzero[i].value != values.nonzero[0].value:
            return False
    return True


cdef void sort_values(FeatureValues* values) noexcept nogil:
    """Sort by value, unless they are, and count the negative ones."""
    cdef int64_t i, n_values = <int64_t>values.nonzero.size()
    cdef Smaller is_smaller
    for i in range(1, n_values):
        if values.nonzero[i].value < values.nonzero[i - 1].value:
            sort(values.nonzero.begin(), values.nonzero.end(), is_smaller)
            break
    values.n_negative = 0
    while values.n_negative < n_values and values.nonzero[values.n_negative].value < 0:
        values.n_negative += 1
