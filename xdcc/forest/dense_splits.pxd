"""Splits of dense features: a node gathers the bins of its rows and draws a cut between them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from xdcc.forest._node cimport MISSING, SET_WORDS
from xdcc.forest.dense_batches cimport LANES, swap, try_batch
from xdcc.forest.growth cimport Growth, OpenNode, Split
from xdcc.forest.split_score cimport sum_right, take_better
from xdcc.forest.training cimport Training
from xdcc.kernels.random cimport draw, draw_below, draw_uniform


cdef inline bint draw_categories(
    Split* split, uint8_t* bins, int64_t n, uint64_t* random
) noexcept nogil:
    """Draw a set of categories that divides a node; a row's bin becomes whether it is in there.

    A missing value is a category, too. False if all rows have one category.
    """
    cdef uint64_t present[SET_WORDS]
    cdef uint64_t inside
    cdef int64_t i, n_present = 0
    cdef bint any_inside = False, any_outside = False
    for i in range(SET_WORDS):
        present[i] = 0
    for i in range(n):
        present[bins[i] >> 6] |= <uint64_t>1 << (bins[i] & 63)
    for i in range(SET_WORDS):
        if present[i]:
            n_present += 1 if present[i] & (present[i] - 1) == 0 else 2
    if n_present < 2:
        return False
    while not (any_inside and any_outside):
        any_inside = any_outside = False
        for i in range(SET_WORDS):
            split.category_set[i] = draw(random)
            inside = present[i] & split.category_set[i]
            any_inside |= inside != 0
            any_outside |= inside != present[i]
    split.has_missing = present[MISSING >> 6] >> (MISSING & 63)
    split.cut = 0
    for i in range(n):
        bins[i] = split.category_set[bins[i] >> 6] >> (bins[i] & 63) & 1
    return True


cdef inline bint cut_with_missing(
    Split* split, uint8_t* bins, int64_t n, uint64_t* random
) noexcept nogil:
    """Draw an edge of a numeric feature, and the side of missing values; false if constant.

    If all known values are in one bin these go left, the missing ones right.
    """
    cdef int64_t i, n_missing = 0
    cdef uint8_t least = MISSING, largest = 0
    for i in range(n):
        if bins[i] == MISSING:
            n_missing += 1
        else:
            least = min(least, bins[i])
            largest = max(largest, bins[i])
    if n_missing == n or (n_missing == 0 and least == largest):
        return False
    split.has_missing = n_missing > 0
    split.missing_right = n_missing > 0
    split.cut = least
    if least == largest:
        return True
    if n_missing:
        split.missing_right = draw_uniform(random) < 0.5
    split.cut = least + <uint8_t>draw_below(random, largest - least)
    if n_missing and not split.missing_right:
        for i in range(n):
            if bins[i] == MISSING:
                bins[i] = least
    return True


cdef inline bint cut_complete(
    Split* split, const uint8_t* bins, int64_t n, uint64_t* random
) noexcept nogil:
    """Draw an edge of a numeric feature without missing values; false if constant."""
    cdef int64_t i
    cdef uint8_t least = MISSING, largest = 0
    for i in range(n):
        least = min(least, bins[i])
        largest = max(largest, bins[i])
    if least == largest:
        return False
    split.has_missing = False
    split.cut = least + <uint8_t>draw_below(random, largest - least)
    return True


cdef inline bint try_dense(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t feature, uint64_t* random, int64_t width,
) noexcept nogil:
    """Draw a split of a dense feature, take it if it is better; false if it is constant."""
    cdef int64_t n = open_node.end - open_node.begin, i
    cdef const uint8_t* column = training.dense + feature * training.n_rows
    cdef const int32_t* rows = growth.rows.data() + open_node.begin
    cdef const int32_t* value = growth.value.data() + open_node.begin * width
    cdef uint8_t* bins = growth.bins.data()
    cdef int32_t* right = growth.right.data()
    cdef Split split
    for i in range(n):
        bins[i] = column[rows[i]]
    if training.is_category[feature]:
        if not draw_categories(&split, bins, n, random):
            return False
    elif training.has_missing[feature]:
        if not cut_with_missing(&split, bins, n, random):
            return False
    elif not cut_complete(&split, bins, n, random):
        return False
    split.feature = feature
    split.n_right = sum_right(right, bins, split.cut, value, n, width)
    take_better(best, &split, growth, right, n, training, width)
    return True


cdef inline int64_t search_dense(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t n_varied, uint64_t* random, int64_t width,
) noexcept nogil:
    """Draw dense features, constant ones among them, and more if nothing that was drawn varies."""
    cdef int32_t* order = growth.order.data()
    cdef int64_t n_tried = 0, i
    cdef bint are_two = open_node.end - open_node.begin == 2
    if training.is_plain and not are_two:
        while n_tried + LANES <= training.n_drawn_dense:
            try_batch(best, growth, training, open_node, &n_tried, &n_varied, random, width)
    for i in range(n_tried, training.n_dense):
        if (i >= training.n_drawn_dense and n_varied > 0) or (are_two and best.feature >= 0):
            break
        swap(order, i, i + draw_below(random, training.n_dense - i))
        n_varied += try_dense(best, growth, training, open_node, order[i], random, width)
    return n_varied


cdef inline void send_by_dense(
    const Split* split, Growth* growth, const Training* training, const OpenNode* open_node
) noexcept nogil:
    """Mark the rows that go right."""
    cdef int64_t n = open_node.end - open_node.begin, i
    cdef const uint8_t* column = training.dense + split.feature * training.n_rows
    cdef const int32_t* rows = growth.rows.data() + open_node.begin
    cdef uint8_t* goes_right = growth.goes_right.data()
    cdef uint8_t bin_of
    if training.is_category[split.feature]:
        for i in range(n):
            bin_of = column[rows[i]]
            goes_right[i] = split.category_set[bin_of >> 6] >> (bin_of & 63) & 1
    elif split.has_missing and not split.missing_right:
        for i in range(n):
            bin_of = column[rows[i]]
            goes_right[i] = (bin_of > split.cut) & (bin_of != MISSING)
    else:
        for i in range(n):
            goes_right[i] = column[rows[i]] > split.cut
