"""The branches of a nominal split: which rows of a node each category gets."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport Categories
from xdcc.lacovac._feature_values cimport FeatureValues


cdef cppclass Branches:
    vector[int32_t] category       # [n_rows]: number of the category whose branch a row takes
    vector[int32_t] start          # [n_categories + 1]: a category has the rows ...
    vector[int32_t] position       # [n_rows]: ... position[start[category] : start[category + 1]]
    int32_t largest                # category with the most rows; of equal ones the first


cdef void find_branches(Branches* branches, const FeatureValues* values,
                        const Categories* categories, int64_t feature, int64_t n_rows,
                        int64_t min_rows) noexcept nogil
