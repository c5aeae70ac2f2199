"""What the rows of a node have in a feature: values other than zero, gaps, and the rest is zero.

Rows whose value is zero, most of them in sparse data, are never touched: of a sparse X only the
features are listed that a row of the node stores, each with its stored values side by side.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.matrix cimport Matrix
from xdcc.lacovac._node_labels cimport NodeLabels


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
