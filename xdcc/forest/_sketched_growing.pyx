"""Kernel that grows extra trees on sketches: one per seed, threads over trees.

A tree searches its splits on `sketch_size` random projections of the centred labels, which are
drawn for the tree. Its rows have these values as integers on a common grid, so sums are exact in
any order. A node draws features and one cut for each, and takes the split after which the
projections vary least within the children. Label values enter only when a leaf is written.

Features come in two kinds. A *dense* one has a bin for every row; a node gathers its rows' bins,
draws an edge between the least and the largest, and adds up the rows above it. A *sparse* one has
few rows with another value than 0. Each tree draws one threshold for it, so it is binary in the
tree, and a node knows for every such feature how many of its rows are *on*, that is on the other
side of the threshold than 0, and the sum of their values. These sums are counted for the smaller
child of a split and subtracted for the larger one.

A tree depends on its seed alone, not on the thread that grows it. At last the trees, in the order
of their seeds, are made to refer to their places in one set of arrays.
"""

import numpy as np

from libc.float cimport FLT_MAX
from libc.math cimport fabs, floor, isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from xdcc.forest._node cimport CATEGORIES, LEAF, MISSING, NUMERIC, SET_WORDS
from xdcc.kernels.arrays cimport as_array, elements, first_at_least
from xdcc.kernels.random cimport draw, draw_below, draw_uniform
from xdcc.kernels.threads cimport run_loop

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "categories": CATEGORIES}

MAX_NODES = np.iinfo(np.int32).max

cdef double LARGEST = 2147483647.0  # of a sum


# ---------------------------------------------------------------------------------- training data


cdef struct Training:
    # Training data, and the shape that trees have. Features are numbered: first the dense ones,
    # then the sparse ones; in the arrays of the sparse ones these begin with 0.
    int64_t n_rows
    int64_t n_dense
    int64_t n_sparse
    const uint8_t* dense           # [n_dense, n_rows]: bins
    const float* edge              # above bin b of feature f: edge[edge_start[f] + b]
    const int64_t* edge_start      # [n_dense + 1]
    const uint8_t* is_category     # [n_dense]
    const uint8_t* has_missing     # [n_dense + n_sparse]
    const int32_t* feature         # [n_dense + n_sparse]: number of the column of X
    const float* least             # [n_sparse]: range of the values, 0 among them
    const float* largest
    const int64_t* row_start       # entries that are not 0, by rows
    const int32_t* row_feature
    const float* row_value
    const int64_t* column_start    # the same by columns
    const int32_t* column_row
    const float* column_value
    bint is_binary                 # has no sparse feature a third value?
    int64_t n_labels
    const int64_t* positive_start  # [n_rows + 1]: labels that are 1
    const int32_t* positive
    const int64_t* unknown_start   # [n_rows + 1]: labels that are unknown
    const int32_t* unknown
    const double* mean             # [n_labels]: of the known labels
    const float* weight            # [n_rows] or NULL
    int64_t n_sampled              # rows of a tree
    int64_t n_drawn_dense          # features that a node draws
    double sparse_share            # share of the sparse features that it draws
    int64_t min_samples_leaf
    int64_t sketch_size            # 0: all labels


cdef inline double draw_normal(uint64_t* random) noexcept nogil:
    """Draw a nearly normal number: the sum of four uniform ones; its mean is 0."""
    cdef double total = -2
    cdef int i
    for i in range(4):
        total += draw_uniform(random)
    return total


cdef inline float draw_threshold(float least, float largest, uint64_t* random) noexcept nogil:
    """Draw a threshold, uniform from the least value up to, but not including, the largest."""
    cdef double drawn = least + draw_uniform(random) * (<double>largest - least)
    cdef float threshold = <float>drawn
    return threshold if threshold < largest else least  # rounded up


# ----------------------------------------------------------------------------------- a grown tree


cdef cppclass GrownTree:
    """A vector for every array of `ExtraTrees`; nodes and leaves refer to each other by position."""
    vector[int8_t] kind            # of each node
    vector[int8_t] missing
    vector[int32_t] feature
    vector[float] threshold
    vector[int32_t] child
    vector[uint64_t] category_set
    vector[double] leaf_weight     # of each leaf
    vector[int64_t] row_end
    vector[int32_t] row
    vector[int64_t] label_end
    vector[int32_t] label
    vector[float] share


cdef inline void add_node(GrownTree* tree) noexcept nogil:
    """Add a node that is a leaf until it gets a test."""
    tree.kind.push_back(LEAF)
    tree.missing.push_back(0)
    tree.feature.push_back(0)
    tree.threshold.push_back(0)
    tree.child.push_back(0)


# ------------------------------------------------------------------------------- how a tree grows


cdef struct OpenNode:
    int32_t node
    int64_t begin                  # its rows are rows[begin:end]
    int64_t end
    int32_t slot                   # of the sums of its sparse features; -1: none
    bint is_leaf


cdef struct Split:
    int64_t feature                # -1: none
    double score
    uint8_t cut                    # rows of larger bins go right
    float threshold
    bint has_missing               # are there missing values in the node?
    bint missing_right
    uint64_t category_set[SET_WORDS]
    int64_t n_right


cdef cppclass Growth:
    """Working memory of a thread while it grows trees."""
    int64_t width                  # integers of a row: its projections, and its weight if any
    int64_t n_values               # how many of them are projections
    vector[int32_t] rows           # [n_sampled]: of the open nodes and leaves, one after the other
    vector[int32_t] value          # [n_sampled, width]: of these rows
    vector[int32_t] rows_right     # of a node that is divided
    vector[int32_t] value_right
    vector[int32_t] total          # [width]: sum over a node
    vector[int32_t] right          # [width]: sum over the rows that go right
    vector[uint8_t] bins           # [n_sampled]: of a node's rows
    vector[uint8_t] best_bins
    vector[int32_t] order          # [n_dense]: features, those that were drawn first
    vector[OpenNode] stack
    vector[vector[int32_t]] sums   # of each slot, [n_sparse, 1 + width]: number and sum of rows on
    vector[vector[int32_t]] varied # of each slot: sparse features that are not constant
    vector[int32_t] free_slots
    vector[float] threshold        # [n_sparse]: of the tree
    vector[uint8_t] missing_right  # [n_sparse]
    vector[int64_t] own_start      # which features are on in a row, if the tree's thresholds matter
    vector[int32_t] own_feature
    const int64_t* on_start        # [n_rows + 1]
    const int32_t* on_feature
    vector[uint8_t] is_on          # [n_rows]: zero but while a node is divided
    vector[double] projection      # [n_labels, sketch_size]
    vector[double] centre          # [n_values]
    vector[double] projected       # [n_sampled, n_values]
    vector[double] count           # [n_labels]: in a leaf; zero between leaves
    vector[int32_t] seen           # labels of a leaf


cdef inline void sample_rows(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw the rows of a tree without replacement, ascending (Fan, Muller and Rezucha, 1962)."""
    cdef int64_t i, n_wanted = training.n_sampled
    growth.rows.clear()
    for i in range(training.n_rows):
        if (
            n_wanted == training.n_rows - i
            or draw_uniform(random) * <double>(training.n_rows - i) < <double>n_wanted
        ):
            growth.rows.push_back(<int32_t>i)
            n_wanted -= 1
            if n_wanted == 0:
                break


cdef inline void project(Growth* growth, const Training* training, uint64_t* random) noexcept nogil:
    """Project the centred labels of the tree's rows; an unknown label is as its mean."""
    cdef int64_t n_values = growth.n_values, i, k, at, row
    cdef const double* vector_of
    cdef double* projected
    growth.projection.resize(training.n_labels * n_values)
    growth.centre.assign(n_values, 0)
    for i in range(training.n_labels * n_values):
        growth.projection[i] = draw_normal(random)
        growth.centre[i % n_values] += growth.projection[i] * training.mean[i // n_values]
    for i in range(training.n_sampled):
        row = growth.rows[i]
        projected = growth.projected.data() + i * n_values
        for k in range(n_values):
            projected[k] = -growth.centre[k]
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            vector_of = growth.projection.data() + training.positive[at] * n_values
            for k in range(n_values):
                projected[k] += vector_of[k]
        for at in range(training.unknown_start[row], training.unknown_start[row + 1]):
            vector_of = growth.projection.data() + training.unknown[at] * n_values
            for k in range(n_values):
                projected[k] += vector_of[k] * training.mean[training.unknown[at]]


cdef inline void centre_labels(Growth* growth, const Training* training) noexcept nogil:
    """Take all labels instead of projections."""
    cdef int64_t n_labels = training.n_labels, i, label, at, row
    cdef double* projected
    for i in range(training.n_sampled):
        row = growth.rows[i]
        projected = growth.projected.data() + i * n_labels
        for label in range(n_labels):
            projected[label] = -training.mean[label]
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            projected[training.positive[at]] += 1
        for at in range(training.unknown_start[row], training.unknown_start[row + 1]):
            projected[training.unknown[at]] = 0


cdef inline void round_values(Growth* growth, const Training* training) noexcept nogil:
    """Put the rows' values, and their weights if any, on the finest grid with sums of 32 bits."""
    cdef int64_t n_values = growth.n_values, width = growth.width, n = training.n_sampled, i, k
    cdef double largest = 0, total, total_weight = 0, scale, weight_scale, weight = 1
    for k in range(n_values):
        total = 0
        for i in range(n):
            if training.weight != NULL:
                weight = training.weight[growth.rows[i]]
            total += fabs(growth.projected[i * n_values + k]) * weight
        largest = max(largest, total)
    scale = (LARGEST - <double>n) / largest if largest > 0 else 0
    if training.weight != NULL:
        for i in range(n):
            total_weight += training.weight[growth.rows[i]]
    weight_scale = (LARGEST - <double>n) / total_weight if total_weight > 0 else 0
    for i in range(n):
        if training.weight != NULL:
            weight = training.weight[growth.rows[i]]
            growth.value[i * width + n_values] = max(
                <int32_t>floor(weight * weight_scale + 0.5), 1
            )
        for k in range(n_values):
            growth.value[i * width + k] = <int32_t>floor(
                growth.projected[i * n_values + k] * weight * scale + 0.5
            )


# ---------------------------------------------------------------------------- sparse features


cdef inline bint is_on(
    const Growth* growth, int64_t feature, float value
) noexcept nogil:
    """Whether a value of a sparse feature is on the other side of the threshold than 0."""
    cdef float threshold = growth.threshold[feature]
    cdef bint goes_right = growth.missing_right[feature] if isnan(value) else value > threshold
    return goes_right != (threshold < 0)


cdef inline void draw_sparse_thresholds(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw the tree's thresholds of sparse features, and list what is on in each row."""
    cdef int64_t feature, at, row
    growth.threshold.resize(training.n_sparse)
    growth.missing_right.assign(training.n_sparse, 0)
    for feature in range(training.n_sparse):
        growth.threshold[feature] = draw_threshold(
            training.least[feature], training.largest[feature], random
        )
        if training.has_missing[training.n_dense + feature]:
            growth.missing_right[feature] = draw_uniform(random) < 0.5
    growth.on_start = training.row_start
    growth.on_feature = training.row_feature
    if training.is_binary:
        return
    growth.own_start.assign(1, 0)
    growth.own_feature.clear()
    for row in range(training.n_rows):
        for at in range(training.row_start[row], training.row_start[row + 1]):
            if is_on(growth, training.row_feature[at], training.row_value[at]):
                growth.own_feature.push_back(training.row_feature[at])
        growth.own_start.push_back(<int64_t>growth.own_feature.size())
    growth.on_start = growth.own_start.data()
    growth.on_feature = growth.own_feature.data()


cdef inline int32_t take_slot(Growth* growth, const Training* training) noexcept nogil:
    """Reserve memory for the sums of a node."""
    cdef int32_t slot
    if growth.free_slots.empty():
        growth.sums.resize(growth.sums.size() + 1)
        growth.sums.back().resize(training.n_sparse * (1 + growth.width))
        growth.varied.resize(growth.sums.size())
        return <int32_t>growth.sums.size() - 1
    slot = growth.free_slots.back()
    growth.free_slots.pop_back()
    return slot


cdef inline void add_rows(
    const Growth* growth, int32_t* sums, int64_t begin, int64_t end, int32_t sign, int64_t width
) noexcept nogil:
    """Add rows to the sums of the features that are on in them, or subtract them."""
    cdef int64_t i, at, k
    cdef int32_t row
    cdef int32_t* of_feature
    cdef const int32_t* value
    for i in range(begin, end):
        row = growth.rows[i]
        value = growth.value.data() + i * width
        for at in range(growth.on_start[row], growth.on_start[row + 1]):
            of_feature = sums + growth.on_feature[at] * (1 + width)
            of_feature[0] += sign
            for k in range(width):
                of_feature[1 + k] += sign * value[k]


cdef inline size_t keep_varied(
    int32_t* kept, const int32_t* varied, size_t n_varied, const int32_t* sums, int64_t n_rows,
    int64_t width,
) noexcept nogil:
    """Keep the features that are not constant; return their number."""
    cdef size_t i, n_kept = 0
    cdef int32_t feature
    for i in range(n_varied):
        feature = varied[i]
        kept[n_kept] = feature
        n_kept += 0 < sums[feature * (1 + width)] < n_rows
    return n_kept


cdef inline size_t subtract_sums(
    int32_t* large, const int32_t* small, int32_t* varied, size_t n_varied, int64_t n_large,
    int64_t width,
) noexcept nogil:
    """Make the sums of a node those of its larger child, and keep what varies there."""
    cdef size_t i, n_kept = 0
    cdef int64_t k, at
    cdef int32_t feature
    for i in range(n_varied):
        feature = varied[i]
        at = feature * (1 + width)
        for k in range(1 + width):
            large[at + k] -= small[at + k]
        varied[n_kept] = feature
        n_kept += 0 < large[at] < n_large
    return n_kept


cdef inline void clear_sums(
    int32_t* sums, const int32_t* varied, size_t n_varied, int64_t width
) noexcept nogil:
    """Set the sums of some features to zero."""
    cdef size_t i
    cdef int64_t k
    for i in range(n_varied):
        for k in range(1 + width):
            sums[varied[i] * (1 + width) + k] = 0


cdef inline int32_t open_root(
    Growth* growth, const Training* training, int64_t width
) noexcept nogil:
    """Sum up the sparse features over all rows."""
    cdef int32_t slot = take_slot(growth, training), feature
    cdef int32_t* sums = growth.sums[slot].data()
    growth.sums[slot].assign(training.n_sparse * (1 + width), 0)
    add_rows(growth, sums, 0, training.n_sampled, 1, width)
    growth.varied[slot].clear()
    for feature in range(<int32_t>training.n_sparse):
        if 0 < sums[feature * (1 + width)] < training.n_sampled:
            growth.varied[slot].push_back(feature)
    return slot


cdef inline void open_children(
    Growth* growth, const Training* training, OpenNode* small, OpenNode* large, int32_t slot,
    int64_t width,
) noexcept nogil:
    """Sum up the sparse features over the children of a node, whose slot is used again."""
    cdef int64_t n_small = small.end - small.begin, n_large = large.end - large.begin
    cdef size_t n_varied = growth.varied[slot].size()
    cdef int32_t* sums = growth.sums[slot].data()
    cdef int32_t* varied = growth.varied[slot].data()
    cdef int32_t* small_sums
    small.slot = -1
    large.slot = -1
    if small.is_leaf:
        if large.is_leaf:
            growth.free_slots.push_back(slot)
            return
        large.slot = slot
        add_rows(growth, sums, small.begin, small.end, -1, width)
        growth.varied[slot].resize(keep_varied(varied, varied, n_varied, sums, n_large, width))
        return
    if large.is_leaf:
        small.slot = slot
    else:
        small.slot = take_slot(growth, training)
        growth.varied[small.slot].resize(n_varied)
        sums = growth.sums[slot].data()
        varied = growth.varied[slot].data()
    # Other features are constant in the children, too: what is added to them is never read.
    small_sums = growth.sums[small.slot].data()
    clear_sums(small_sums, varied, n_varied, width)
    add_rows(growth, small_sums, small.begin, small.end, 1, width)
    growth.varied[small.slot].resize(
        keep_varied(
            growth.varied[small.slot].data(), varied, n_varied, small_sums, n_small, width
        )
    )
    if not large.is_leaf:
        large.slot = slot
        growth.varied[slot].resize(
            subtract_sums(sums, small_sums, varied, n_varied, n_large, width)
        )


cdef inline void open_both(
    Growth* growth, const Training* training, OpenNode* small, OpenNode* large, int32_t slot
) noexcept nogil:
    """Call `open_children` with a constant where the compiler can make use of it."""
    if growth.width == 1:
        open_children(growth, training, small, large, slot, 1)
    elif growth.width == 2:
        open_children(growth, training, small, large, slot, 2)
    elif growth.width == 4:
        open_children(growth, training, small, large, slot, 4)
    else:
        open_children(growth, training, small, large, slot, growth.width)


# ------------------------------------------------------------------------- which split a node gets


cdef inline double score_of(
    const Growth* growth, const int32_t* right, int64_t n_right, int64_t n_rows
) noexcept nogil:
    """Sum of squares between the children, which is largest where they vary least within."""
    cdef int64_t n_values = growth.n_values, k
    cdef double weight_right = <double>n_right, weight_left = <double>(n_rows - n_right)
    cdef double score = 0, sum_right, sum_left
    if growth.width > n_values:
        weight_right = right[n_values]
        weight_left = growth.total[n_values] - right[n_values]
    for k in range(n_values):
        sum_right = right[k]
        sum_left = growth.total[k] - right[k]
        score += sum_right * sum_right / weight_right + sum_left * sum_left / weight_left
    return score


cdef inline void try_sparse(
    Split* best, const Growth* growth, const Training* training, int32_t slot, int32_t feature,
    int64_t n_rows,
) noexcept nogil:
    """Take the split of a sparse feature if it is better."""
    cdef const int32_t* sums = growth.sums[slot].data() + feature * (1 + growth.width)
    cdef int64_t n_on = sums[0]
    cdef double score
    if n_on < training.min_samples_leaf or n_rows - n_on < training.min_samples_leaf:
        return
    score = score_of(growth, sums + 1, n_on, n_rows)
    if best.feature < 0 or score > best.score:
        best.feature = training.n_dense + feature
        best.score = score


cdef inline int64_t sum_four(
    int32_t* right, const uint8_t* bins, uint8_t cut, const int32_t* value, int64_t n
) noexcept nogil:
    """Do as `sum_right` for four values of a row, in registers."""
    cdef int64_t i
    cdef int32_t n_right = 0, mask, first = 0, second = 0, third = 0, fourth = 0
    for i in range(n):
        mask = -<int32_t>(bins[i] > cut)
        n_right -= mask
        first += value[4 * i] & mask
        second += value[4 * i + 1] & mask
        third += value[4 * i + 2] & mask
        fourth += value[4 * i + 3] & mask
    right[0] = first
    right[1] = second
    right[2] = third
    right[3] = fourth
    return n_right


cdef inline int64_t sum_right(
    int32_t* right, const uint8_t* bins, uint8_t cut, const int32_t* value, int64_t n,
    int64_t width,
) noexcept nogil:
    """Count the rows of larger bins than `cut`, and sum up their values."""
    cdef int64_t i, k
    cdef int32_t n_right = 0, mask, sum_of
    if width == 1:
        sum_of = 0
        for i in range(n):
            mask = -<int32_t>(bins[i] > cut)
            sum_of += value[i] & mask
            n_right -= mask
        right[0] = sum_of
        return n_right
    if width == 4:
        return sum_four(right, bins, cut, value, n)
    for k in range(width):
        right[k] = 0
    for i in range(n):
        mask = -<int32_t>(bins[i] > cut)
        n_right -= mask
        for k in range(width):
            right[k] += value[i * width + k] & mask
    return n_right


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


cdef inline bint try_dense(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t feature, uint64_t* random,
) noexcept nogil:
    """Draw a split of a dense feature, take it if it is better; false if it is constant."""
    cdef int64_t n = open_node.end - open_node.begin, i
    cdef const uint8_t* column = training.dense + feature * training.n_rows
    cdef const int32_t* rows = growth.rows.data() + open_node.begin
    cdef uint8_t* bins = growth.bins.data()
    cdef uint8_t least = MISSING, largest = 0
    cdef Split split
    for i in range(n):
        bins[i] = column[rows[i]]
    split.has_missing = False
    if training.is_category[feature]:
        if not draw_categories(&split, bins, n, random):
            return False
    elif training.has_missing[feature]:
        if not cut_with_missing(&split, bins, n, random):
            return False
    else:
        for i in range(n):
            least = min(least, bins[i])
            largest = max(largest, bins[i])
        if least == largest:
            return False
        split.cut = least + <uint8_t>draw_below(random, largest - least)
    split.n_right = sum_right(
        growth.right.data(), bins, split.cut,
        growth.value.data() + open_node.begin * growth.width, n, growth.width,
    )
    if (
        split.n_right < training.min_samples_leaf
        or n - split.n_right < training.min_samples_leaf
    ):
        return True
    split.score = score_of(growth, growth.right.data(), split.n_right, n)
    if best.feature < 0 or split.score > best.score:
        split.feature = feature
        best[0] = split
        growth.bins.swap(growth.best_bins)
    return True


cdef inline void find_split(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    uint64_t* random,
) noexcept nogil:
    """Draw features and a split of each; keep the best.

    Of the sparse features that are not constant a share is drawn, one from each of as many equal
    parts of their list. Of the dense ones a number is drawn, constant ones among them, and more if
    all that were drawn are constant. Two rows are divided by the first feature that can.
    """
    cdef int64_t n = open_node.end - open_node.begin, width = growth.width, i, k, other
    cdef int64_t n_varied = 0, n_drawn = 0, n_varied_sparse = 0
    cdef const int32_t* value = growth.value.data() + open_node.begin * width
    cdef const int32_t* varied = NULL
    cdef int32_t feature
    cdef double step
    best.feature = -1
    for k in range(width):
        growth.total[k] = 0
    for i in range(n):
        for k in range(width):
            growth.total[k] += value[i * width + k]
    if open_node.slot >= 0:
        varied = growth.varied[open_node.slot].data()
        n_varied_sparse = <int64_t>growth.varied[open_node.slot].size()
        n_drawn = <int64_t>(
            n_varied_sparse * training.sparse_share + draw_uniform(random)
        )
    for i in range(n_drawn):
        step = <double>n_varied_sparse / <double>n_drawn
        other = <int64_t>((i + draw_uniform(random)) * step)
        try_sparse(
            best, growth, training, open_node.slot, varied[min(other, n_varied_sparse - 1)], n
        )
        n_varied += 1
        if n == 2:
            return
    for i in range(training.n_dense):
        if (i >= training.n_drawn_dense and n_varied > 0) or (n == 2 and best.feature >= 0):
            return
        other = i + draw_below(random, training.n_dense - i)
        feature = growth.order[other]
        growth.order[other] = growth.order[i]
        growth.order[i] = feature
        n_varied += try_dense(best, growth, training, open_node, feature, random)
    if n_varied == 0 and n_varied_sparse > 0:
        try_sparse(
            best, growth, training, open_node.slot, varied[draw_below(random, n_varied_sparse)], n
        )


# ---------------------------------------------------------------------------- how a node is divided


cdef inline void settle_sparse_split(
    Split* split, Growth* growth, const Training* training, const OpenNode* open_node
) noexcept nogil:
    """Find out which rows go right."""
    cdef int64_t n = open_node.end - open_node.begin, i, at, end
    cdef int64_t feature = split.feature - training.n_dense
    cdef int64_t begin = training.column_start[feature]
    cdef bint zero_right = growth.threshold[feature] < 0
    cdef uint8_t* right = growth.best_bins.data()
    cdef const int32_t* rows = growth.rows.data() + open_node.begin
    cdef int32_t row
    split.cut = 0
    split.n_right = 0
    split.threshold = growth.threshold[feature]
    split.has_missing = training.has_missing[split.feature]
    split.missing_right = growth.missing_right[feature]
    if 8 * n < training.column_start[feature + 1] - begin:
        for i in range(n):
            row = rows[i]
            end = growth.on_start[row + 1]
            at = first_at_least(growth.on_feature, growth.on_start[row], end, <int32_t>feature)
            right[i] = (at < end and growth.on_feature[at] == feature) != zero_right
            split.n_right += right[i]
        return
    for at in range(begin, training.column_start[feature + 1]):
        growth.is_on[training.column_row[at]] = is_on(growth, feature, training.column_value[at])
    for i in range(n):
        right[i] = growth.is_on[rows[i]] != zero_right
        split.n_right += right[i]
    for at in range(begin, training.column_start[feature + 1]):
        growth.is_on[training.column_row[at]] = 0


cdef inline bint must_be_leaf(
    const Growth* growth, const Training* training, int64_t begin, int64_t end
) noexcept nogil:
    """Whether a node has too few rows, or all of them have the same projections."""
    cdef int64_t width = growth.width, i
    cdef const int32_t* value = growth.value.data()
    if end - begin < 2 * training.min_samples_leaf:
        return True
    for i in range((begin + 1) * width, end * width):
        if value[i] != value[i - width]:
            return False
    return True


cdef inline float threshold_of(
    const Training* training, int64_t feature, uint8_t cut
) noexcept nogil:
    """The edge above a bin; above the last one there are missing values only."""
    cdef int64_t at = training.edge_start[feature] + cut
    return training.edge[at] if at < training.edge_start[feature + 1] else FLT_MAX


cdef inline void set_test(
    GrownTree* tree, const Split* split, const Training* training, const OpenNode* open_node
) noexcept nogil:
    """Make a node a test; a missing value that training rows did not have goes with most rows."""
    cdef int64_t k
    cdef int32_t node = open_node.node
    cdef bint missing_right = split.missing_right
    cdef uint64_t words[SET_WORDS]
    if not split.has_missing:
        missing_right = 2 * split.n_right > open_node.end - open_node.begin
    tree.feature[node] = training.feature[split.feature]
    tree.child[node] = <int32_t>tree.kind.size()
    if split.feature < training.n_dense and training.is_category[split.feature]:
        tree.kind[node] = CATEGORIES
        for k in range(SET_WORDS):
            words[k] = split.category_set[k]
        if not split.has_missing:
            words[MISSING >> 6] &= ~(<uint64_t>1 << (MISSING & 63))
            words[MISSING >> 6] |= <uint64_t>missing_right << (MISSING & 63)
        for k in range(SET_WORDS):
            tree.category_set.push_back(words[k])
    else:
        tree.kind[node] = NUMERIC
        tree.missing[node] = missing_right
        tree.threshold[node] = split.threshold
        if split.feature < training.n_dense:
            tree.threshold[node] = threshold_of(training, split.feature, split.cut)


cdef inline void divide(
    GrownTree* tree, Growth* growth, const Training* training, const Split* split,
    const OpenNode* parent,
) noexcept nogil:
    """Send the rows of a node left and right, keeping their order; the smaller child grows next."""
    cdef int64_t width = growth.width, n = parent.end - parent.begin, i, k
    cdef int64_t n_left = 0, n_right = 0
    cdef int32_t* rows = growth.rows.data() + parent.begin
    cdef int32_t* value = growth.value.data() + parent.begin * width
    cdef const uint8_t* bins = growth.best_bins.data()
    cdef OpenNode left, right
    for i in range(n):
        if bins[i] > split.cut:
            growth.rows_right[n_right] = rows[i]
            for k in range(width):
                growth.value_right[n_right * width + k] = value[i * width + k]
            n_right += 1
        else:
            rows[n_left] = rows[i]
            for k in range(width):
                value[n_left * width + k] = value[i * width + k]
            n_left += 1
    memcpy(rows + n_left, growth.rows_right.data(), n_right * sizeof(int32_t))
    memcpy(value + n_left * width, growth.value_right.data(), n_right * width * sizeof(int32_t))
    left.node = <int32_t>tree.kind.size()
    left.begin = parent.begin
    left.end = parent.begin + n_left
    left.slot = -1
    left.is_leaf = must_be_leaf(growth, training, left.begin, left.end)
    right.node = left.node + 1
    right.begin = left.end
    right.end = parent.end
    right.slot = -1
    right.is_leaf = must_be_leaf(growth, training, right.begin, right.end)
    add_node(tree)
    add_node(tree)
    if n_right < n_left:
        if parent.slot >= 0:
            open_both(growth, training, &right, &left, parent.slot)
        growth.stack.push_back(left)
        growth.stack.push_back(right)
    else:
        if parent.slot >= 0:
            open_both(growth, training, &left, &right, parent.slot)
        growth.stack.push_back(right)
        growth.stack.push_back(left)


# ------------------------------------------------------------------------------------------ leaves


cdef inline bint add_shares(
    GrownTree* tree, Growth* growth, const Training* training, const OpenNode* leaf
) noexcept nogil:
    """Write the shares of a leaf's labels if that takes less memory than a list of its rows."""
    cdef int64_t i, at, row, n = leaf.end - leaf.begin
    cdef size_t k
    cdef double weight = 1, total = 0
    cdef bint is_less = True
    cdef int32_t label
    growth.seen.clear()
    for i in range(leaf.begin, leaf.end):
        row = growth.rows[i]
        if training.unknown_start[row] < training.unknown_start[row + 1]:
            is_less = False
            break
        if training.weight != NULL:
            weight = training.weight[row]
        total += weight
        for at in range(training.positive_start[row], training.positive_start[row + 1]):
            label = training.positive[at]
            if growth.count[label] == 0:
                growth.seen.push_back(label)
            growth.count[label] += weight
        if 2 * <int64_t>growth.seen.size() >= n:
            is_less = False
            break
    for k in range(growth.seen.size()):
        label = growth.seen[k]
        if is_less:
            tree.label.push_back(label)
            tree.share.push_back(<float>(growth.count[label] / total))
        growth.count[label] = 0
    return is_less


cdef inline void write_leaf(
    GrownTree* tree, Growth* growth, const Training* training, const OpenNode* leaf
) noexcept nogil:
    """Make a node a leaf."""
    cdef int64_t i
    cdef double weight = <double>(leaf.end - leaf.begin)
    if training.weight != NULL:
        weight = 0
        for i in range(leaf.begin, leaf.end):
            weight += training.weight[growth.rows[i]]
    tree.leaf_weight.push_back(weight)
    tree.child[leaf.node] = <int32_t>tree.row_end.size()
    if not add_shares(tree, growth, training, leaf):
        for i in range(leaf.begin, leaf.end):
            tree.row.push_back(growth.rows[i])
    tree.row_end.push_back(<int64_t>tree.row.size())
    tree.label_end.push_back(<int64_t>tree.label.size())


cdef inline void start_tree(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw what a tree has of its own: rows, projections, cuts of sparse features."""
    cdef int64_t n = training.n_sampled, i
    growth.n_values = training.sketch_size if training.sketch_size else training.n_labels
    growth.width = growth.n_values + (training.weight != NULL)
    growth.value.resize(n * growth.width)
    growth.value_right.resize(n * growth.width)
    growth.rows_right.resize(n)
    growth.projected.resize(n * growth.n_values)
    growth.total.resize(growth.width)
    growth.right.resize(growth.width)
    growth.bins.resize(n)
    growth.best_bins.resize(n)
    growth.is_on.resize(training.n_rows)
    growth.count.resize(training.n_labels)
    growth.order.resize(training.n_dense)
    for i in range(training.n_dense):
        growth.order[i] = <int32_t>i
    sample_rows(growth, training, random)
    if training.sketch_size:
        project(growth, training, random)
    else:
        centre_labels(growth, training)
    round_values(growth, training)
    draw_sparse_thresholds(growth, training, random)


cdef inline void grow_tree(
    GrownTree* tree, Growth* growth, const Training* training, uint64_t seed
) noexcept nogil:
    """Grow a tree; all that is random comes from its seed."""
    cdef uint64_t random = seed
    cdef OpenNode open_node
    cdef Split split
    start_tree(growth, training, &random)
    open_node.node = 0
    open_node.begin = 0
    open_node.end = training.n_sampled
    open_node.is_leaf = must_be_leaf(growth, training, 0, open_node.end)
    open_node.slot = -1
    if training.n_sparse and not open_node.is_leaf:
        open_node.slot = open_root(growth, training, growth.width)
    add_node(tree)
    growth.stack.push_back(open_node)
    while not growth.stack.empty():
        open_node = growth.stack.back()
        growth.stack.pop_back()
        if not open_node.is_leaf:
            find_split(&split, growth, training, &open_node, &random)
            if split.feature >= 0:
                if split.feature >= training.n_dense:
                    settle_sparse_split(&split, growth, training, &open_node)
                set_test(tree, &split, training, &open_node)
                divide(tree, growth, training, &split, &open_node)
                continue
            if open_node.slot >= 0:
                growth.free_slots.push_back(open_node.slot)
        write_leaf(tree, growth, training, &open_node)


# ---------------------------------------------------------------------------------------- forests


cdef struct Growing:
    # Trees that grow, which threads share.
    const Training* training
    GrownTree* tree                # [n_trees]
    Growth* growth                 # [n_threads]
    const uint64_t* seed           # [n_trees]


cdef void grow_numbered(void* data, int64_t i, int thread) noexcept nogil:
    cdef const Growing* growing = <const Growing*>data
    grow_tree(growing.tree + i, growing.growth + thread, growing.training, growing.seed[i])


cdef Training training_of(columns, labels, shape):
    """Point into arrays, which have to stay alive."""
    cdef Training training
    training.n_rows = len(labels.positive_start) - 1
    training.n_dense = len(columns.dense)
    training.n_sparse = len(columns.least)
    training.dense = elements[uint8_t](columns.dense.reshape(-1))
    training.edge = elements[float](columns.edge)
    training.edge_start = elements[int64_t](columns.edge_start)
    training.is_category = elements[uint8_t](columns.is_category)
    training.has_missing = elements[uint8_t](columns.has_missing)
    training.feature = elements[int32_t](columns.feature)
    training.least = elements[float](columns.least)
    training.largest = elements[float](columns.largest)
    training.row_start = elements[int64_t](columns.row_start)
    training.row_feature = elements[int32_t](columns.row_feature)
    training.row_value = elements[float](columns.row_value)
    training.column_start = elements[int64_t](columns.column_start)
    training.column_row = elements[int32_t](columns.column_row)
    training.column_value = elements[float](columns.column_value)
    training.is_binary = columns.is_binary
    training.n_labels = labels.n_labels
    training.positive_start = elements[int64_t](labels.positive_start)
    training.positive = elements[int32_t](labels.positive)
    training.unknown_start = elements[int64_t](labels.unknown_start)
    training.unknown = elements[int32_t](labels.unknown)
    training.mean = elements[double](labels.mean)
    training.weight = elements[float](labels.weight)
    training.n_sampled = shape.n_sampled
    training.n_drawn_dense = shape.n_drawn_dense
    training.sparse_share = shape.sparse_share
    training.min_samples_leaf = shape.min_samples_leaf
    training.sketch_size = shape.sketch_size
    return training


def grow(columns, labels, shape, seeds, n_threads):
    """Grow one tree per seed; see ``_sketched_growing.pyi``."""
    cdef Training training = training_of(columns, labels, shape)
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t n_trees = seed.shape[0]
    cdef int threads = n_threads
    cdef vector[GrownTree] trees
    cdef vector[Growth] growths
    trees.resize(n_trees)
    growths.resize(threads)
    cdef Growing growing
    growing.training = &training
    growing.tree = trees.data()
    growing.growth = growths.data()
    growing.seed = &seed[0]
    with nogil:
        run_loop(n_trees, 1, threads, grow_numbered, &growing)
    _move_references(trees)
    return _joined(trees)


def samples(n_rows, n_sampled, seeds):
    """Which rows trees have; see ``_sketched_growing.pyi``."""
    cdef Training training
    cdef Growth growth
    cdef uint64_t random
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t tree
    cdef size_t i
    training.n_rows = n_rows
    training.n_sampled = n_sampled
    in_sample = np.zeros((seed.shape[0], n_rows), np.uint8)
    cdef uint8_t[:, ::1] view = in_sample
    for tree in range(seed.shape[0]):
        random = seed[tree]
        sample_rows(&growth, &training, &random)
        for i in range(growth.rows.size()):
            view[tree, growth.rows[i]] = 1
    return in_sample


cdef _move_references(vector[GrownTree]& trees):
    """Let every tree refer to where it will be behind those before it."""
    cdef size_t i, k, n_nodes = 0
    cdef int64_t first_row = 0, first_label = 0
    cdef int32_t first_node = 0, first_leaf = 0
    cdef GrownTree* tree
    for i in range(trees.size()):
        n_nodes += trees[i].kind.size()
    if n_nodes > <size_t>MAX_NODES:
        raise ValueError(
            f"The trees have {n_nodes} nodes together; no more than {MAX_NODES} can be numbered. "
            "Take fewer trees or a larger min_samples_leaf."
        )
    for i in range(trees.size()):
        tree = &trees[i]
        for k in range(tree.kind.size()):
            tree.child[k] += first_leaf if tree.kind[k] == LEAF else first_node
        for k in range(tree.row_end.size()):
            tree.row_end[k] += first_row
            tree.label_end[k] += first_label
        first_node += <int32_t>tree.kind.size()
        first_leaf += <int32_t>tree.row_end.size()
        first_row += <int64_t>tree.row.size()
        first_label += <int64_t>tree.label.size()


cdef dict _joined(vector[GrownTree]& trees):
    """Join array by array: little more memory than that of the trees and the forest is needed."""
    cdef GrownTree* tree = trees.data()
    cdef size_t i, n = trees.size()
    zero = np.zeros(1, np.int64)
    return {
        "start": np.cumsum([0] + [tree[i].kind.size() for i in range(n)], dtype=np.int64),
        "kind": np.concatenate([as_array[int8_t](tree[i].kind) for i in range(n)]),
        "missing": np.concatenate([as_array[int8_t](tree[i].missing) for i in range(n)]),
        "feature": np.concatenate([as_array[int32_t](tree[i].feature) for i in range(n)]),
        "threshold": np.concatenate([as_array[float](tree[i].threshold) for i in range(n)]),
        "child": np.concatenate([as_array[int32_t](tree[i].child) for i in range(n)]),
        "category_set": np.concatenate(
            [as_array[uint64_t](tree[i].category_set) for i in range(n)]
        ),
        "leaf_weight": np.concatenate([as_array[double](tree[i].leaf_weight) for i in range(n)]),
        "row_start": np.concatenate(
            [zero] + [as_array[int64_t](tree[i].row_end) for i in range(n)]
        ),
        "row": np.concatenate([as_array[int32_t](tree[i].row) for i in range(n)]),
        "label_start": np.concatenate(
            [zero] + [as_array[int64_t](tree[i].label_end) for i in range(n)]
        ),
        "label": np.concatenate([as_array[int32_t](tree[i].label) for i in range(n)]),
        "share": np.concatenate([as_array[float](tree[i].share) for i in range(n)]),
    }
