"""Sending the rows of a node to the categories of a nominal feature, by counting."""

from libc.stdint cimport int32_t, int64_t

from xdcc.kernels.categories cimport Categories, category_number, n_categories
from xdcc.lacovac._feature_values cimport FeatureValues


cdef void find_branches(Branches* branches, const FeatureValues* values,
                        const Categories* categories, int64_t feature, int64_t n_rows,
                        int64_t min_rows) noexcept nogil:
    """Order rows by category.

    The largest one also gets the rows of categories with fewer than `min_rows`, and rows without
    a value.
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
    # Sizes of categories at first, each one place further.
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
    # Filled from behind, every end becomes the beginning.
    branches.position.resize(n_rows)
    for i in range(n_rows - 1, -1, -1):
        category = branches.category[i]
        end[category] -= 1
        branches.position[end[category]] = <int32_t>i
    for category in range(n):
        branches.start[category] = end[category]
    branches.start[n] = <int32_t>n_rows
    branches.largest = largest
