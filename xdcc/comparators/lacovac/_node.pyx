"""Count the labels of a node, collect the values of its features, and assign rows to categories."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport Categories, category_number, n_categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.comparators.lacovac._training cimport LabelRows

cdef extern from *:
    """
    // In C++ because std::sort inlines it. A comparator in Cython is called through a pointer, which
    // made fits on yeast 9 % (covariances) to 15 % (variances) slower.
    struct XdccSmaller {
      template <typename Value>
      bool operator()(Value const& one, Value const& other) const {
        return one.value < other.value;
      }
    };
    """
    cdef cppclass Smaller "XdccSmaller":
        pass


# ----------------------------------------------------------------------------------------- labels


cdef struct Candidate:
    double variance
    int32_t label


cdef inline bint comes_first(const Candidate& one, const Candidate& other) noexcept nogil:
    if one.variance != other.variance:
        return one.variance > other.variance
    return one.label < other.label


cdef void count_labels(NodeLabels* node, const LabelRows* Y, const vector[int32_t]* labels
                       ) noexcept nogil:
    """Find and count the `labels` that vary in the rows of a node.

    The caller sets `rows`, `n_rows` and the size of the arrays by training label.
    """
    cdef const int32_t* label = labels.data()
    cdef int64_t n_labels = <int64_t>labels.size()
    cdef int64_t i, j, row, begin
    cdef double size
    cdef vector[Candidate] varying
    cdef Candidate candidate
    for j in range(n_labels):
        node.is_counted[label[j]] = 1
        node.n_positive[label[j]] = 0
    for i in range(node.n_rows):
        row = node.rows[i]
        for j in range(Y.start[row], Y.start[row + 1]):
            node.n_positive[Y.label[j]] += 1
    for j in range(n_labels):
        candidate.label = label[j]
        size = node.n_positive[label[j]]
        if 0 < size < node.n_rows:
            candidate.variance = size * (<double>node.n_rows - size)
            varying.push_back(candidate)
        else:
            node.is_counted[label[j]] = 0
    sort(varying.begin(), varying.end(), &comes_first)
    node.n_varying = <int64_t>varying.size()
    node.count.resize(node.n_varying)
    node.variance.resize(node.n_varying)
    node.sum_count = 0
    node.sum_square = 0
    for j in range(node.n_varying):
        size = node.n_positive[varying[j].label]
        node.number[varying[j].label] = <int32_t>j
        node.count[j] = size
        node.variance[j] = varying[j].variance
        node.sum_count += size
        node.sum_square += size * size
    node.row_start.resize(node.n_rows + 1)
    node.row_start[0] = 0
    node.row_label.clear()
    node.sum_pairs = 0
    for i in range(node.n_rows):
        row = node.rows[i]
        begin = <int64_t>node.row_label.size()
        for j in range(Y.start[row], Y.start[row + 1]):
            if node.is_counted[Y.label[j]]:
                node.row_label.push_back(node.number[Y.label[j]])
        sort(node.row_label.begin() + begin, node.row_label.end())
        node.row_start[i + 1] = <int64_t>node.row_label.size()
        size = <double>(node.row_start[i + 1] - begin)
        node.sum_pairs += size * (size - 1) / 2
    for j in range(node.n_varying):
        node.is_counted[varying[j].label] = 0


cdef void count_pairs(NodeLabels* node) noexcept nogil:
    """Count the rows that have both labels, for each pair of labels."""
    cdef int64_t i, one, other
    node.pair_count.assign(node.n_varying * node.n_varying, 0)
    for i in range(node.n_rows):
        for one in range(node.row_start[i], node.row_start[i + 1]):
            for other in range(one + 1, node.row_start[i + 1]):
                node.pair_count[
                    node.row_label[one] * node.n_varying + node.row_label[other]
                ] += 1


# ----------------------------------------------------------------------------- values of features


cdef void list_features(NodeFeatures* features, const Matrix* X, const NodeLabels* node
                        ) noexcept nogil:
    """List all features of a dense X, or the features of a sparse X with a value in the node."""
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
    """Collect the values of the i-th feature of the list."""
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
            append_value(values, found)
    else:
        for k in range(features.start[i], features.start[i + 1]):
            append_value(values, features.stored[k])
    values.has_zeros = <int64_t>(values.nonzero.size() + values.missing.size()) < node.n_rows


cdef inline void append_value(FeatureValues* values, Value found) noexcept nogil:
    if isnan(found.value):
        values.missing.push_back(found.position)
    elif found.value != 0:
        values.nonzero.push_back(found)


cdef bint are_equal(const FeatureValues* values) noexcept nogil:
    """Whether all known values are equal."""
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
    """Sort the values, unless they are sorted, and count the negative ones."""
    cdef int64_t i, n_values = <int64_t>values.nonzero.size()
    cdef Smaller is_smaller
    for i in range(1, n_values):
        if values.nonzero[i].value < values.nonzero[i - 1].value:
            sort(values.nonzero.begin(), values.nonzero.end(), is_smaller)
            break
    values.n_negative = 0
    while values.n_negative < n_values and values.nonzero[values.n_negative].value < 0:
        values.n_negative += 1


# --------------------------------------------------------------------- branches of nominal splits


cdef void find_branches(Branches* branches, const FeatureValues* values,
                        const Categories* categories, int64_t feature, int64_t n_rows,
                        int64_t min_rows) noexcept nogil:
    """Sort rows by category.

    The largest category also gets the rows of categories with fewer than `min_rows` rows, and rows
    with a missing value.
    """
    cdef int64_t i
    cdef int32_t category, largest = 0, zero = 0, n = n_categories(categories, feature)
    cdef int32_t* end
    if <int64_t>values.nonzero.size() < n_rows:
        zero = category_number(categories, feature, 0)
    branches.category.assign(n_rows, zero)
    for i in range(<int64_t>values.nonzero.size()):
        branches.category[values.nonzero[i].position] = category_number(
            categories, feature, values.nonzero[i].value
        )
    for i in range(<int64_t>values.missing.size()):
        branches.category[values.missing[i]] = -1
    # First the sizes of the categories, shifted by one.
    branches.start.assign(n + 1, 0)
    end = branches.start.data() + 1
    for i in range(n_rows):
        if branches.category[i] >= 0:
            end[branches.category[i]] += 1
    for category in range(n):
        if end[category] > end[largest]:
            largest = category
    for i in range(n_rows):
        category = branches.category[i]
        if category < 0 or end[category] < min_rows:
            if category >= 0:
                end[category] -= 1
            branches.category[i] = largest
            end[largest] += 1
    for category in range(1, n):
        end[category] += end[category - 1]
    # Filling from the end turns each end into a beginning.
    branches.position.resize(n_rows)
    for i in range(n_rows - 1, -1, -1):
        category = branches.category[i]
        end[category] -= 1
        branches.position[end[category]] = <int32_t>i
    for category in range(n):
        branches.start[category] = end[category]
    branches.start[n] = <int32_t>n_rows
    branches.largest = largest
