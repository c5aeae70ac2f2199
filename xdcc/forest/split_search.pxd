"""Which split a node gets, and which of its rows go right."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from xdcc.forest.dense_splits cimport search_dense, send_by_dense
from xdcc.forest.growth cimport Growth, OpenNode, Split
from xdcc.forest.sparse_masks cimport count_bits, sum_members
from xdcc.forest.sparse_sums cimport is_on
from xdcc.forest.split_score cimport take_better
from xdcc.forest.training cimport Training
from xdcc.kernels.arrays cimport first_at_least
from xdcc.kernels.random cimport draw_below, draw_uniform

cdef enum:
    FEW = 16  # rows of a node for each one that is looked up in it


cdef inline int64_t n_varied_sparse(
    const Growth* growth, const OpenNode* open_node
) noexcept nogil:
    """Count the sparse features that vary in a node."""
    if open_node.members:
        return open_node.listed_end - open_node.listed
    return <int64_t>growth.varied[open_node.slot].size() if open_node.slot >= 0 else 0


cdef inline void try_sparse(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    int64_t number, int64_t width,
) noexcept nogil:
    """Take the split of a varied sparse feature if it is better."""
    cdef int64_t feature
    cdef const int32_t* sums
    cdef Split split
    if open_node.members:
        feature = growth.listed_feature[open_node.listed + number]
        sums = growth.right.data()
        split.n_right = sum_members(
            growth.right.data(), growth, growth.listed_mask[open_node.listed + number],
            open_node.members, width,
        )
    else:
        feature = growth.varied[open_node.slot][number]
        sums = growth.sums[open_node.slot].data() + feature * (1 + width)
        split.n_right = sums[0]
        sums += 1
    split.feature = training.n_dense + feature
    take_better(best, &split, growth, sums, open_node.end - open_node.begin, training, width)


cdef inline void find_split(
    Split* best, Growth* growth, const Training* training, const OpenNode* open_node,
    uint64_t* random, int64_t width,
) noexcept nogil:
    """Draw features and a split of each; keep the best.

    A share of the sparse features that are not constant is drawn, one from each of as many equal
    parts of their list. A fixed number of dense features is drawn, which may include constant ones;
    if all of them are constant, more are drawn. Two rows are divided by the first feature that can.
    """
    cdef int64_t i, other, n_varied = 0, n_drawn = 0, n_sparse = n_varied_sparse(growth, open_node)
    cdef double step
    best.feature = -1
    if training.n_sparse:
        n_drawn = <int64_t>(n_sparse * training.sparse_share + draw_uniform(random))
    if n_drawn:
        step = <double>n_sparse / <double>n_drawn
    for i in range(n_drawn):
        other = <int64_t>((i + draw_uniform(random)) * step)
        try_sparse(best, growth, training, open_node, min(other, n_sparse - 1), width)
        n_varied += 1
        if open_node.end - open_node.begin == 2:
            return
    n_varied = search_dense(best, growth, training, open_node, n_varied, random, width)
    if n_varied == 0 and n_sparse > 0:
        try_sparse(best, growth, training, open_node, draw_below(random, n_sparse), width)


cdef inline void list_few(
    Growth* growth, const Training* training, const OpenNode* open_node, int64_t feature
) noexcept nogil:
    """List where in a node the rows are in which a sparse feature is on."""
    cdef int64_t at, place = open_node.begin
    cdef const int32_t* rows = growth.rows.data()
    for at in range(training.column_start[feature], training.column_start[feature + 1]):
        if is_on(growth, feature, training.column_value[at]):
            place = first_at_least(rows, place, open_node.end, training.column_row[at])
            if place < open_node.end and rows[place] == training.column_row[at]:
                growth.few.push_back(<int32_t>(place - open_node.begin))


cdef inline void send_by_sparse(
    Growth* growth, const Training* training, const OpenNode* open_node, int64_t feature
) noexcept nogil:
    """Mark the rows of a node that go right by a sparse feature, or list them if they are few."""
    cdef int64_t n = open_node.end - open_node.begin, i, at, end
    cdef int64_t begin = training.column_start[feature]
    cdef int64_t n_stored = training.column_start[feature + 1] - begin
    cdef bint zero_right = growth.threshold[feature] < 0
    cdef uint8_t* right = growth.goes_right.data()
    cdef const int32_t* rows = growth.rows.data() + open_node.begin
    cdef uint64_t members = open_node.members, mask = 0
    cdef int32_t row
    if members:
        at = first_at_least(
            growth.listed_feature.data(), open_node.listed, open_node.listed_end, <int32_t>feature
        )
        mask = growth.listed_mask[at]
        for i in range(n):
            right[i] = (mask & members & -members != 0) != zero_right
            members &= members - 1
        return
    if not zero_right and FEW * n_stored < n:
        list_few(growth, training, open_node, feature)
        return
    if 8 * n < n_stored:
        for i in range(n):
            row = rows[i]
            end = growth.on_start[row + 1]
            at = first_at_least(growth.on_feature, growth.on_start[row], end, <int32_t>feature)
            right[i] = (at < end and growth.on_feature[at] == feature) != zero_right
        return
    for at in range(begin, training.column_start[feature + 1]):
        growth.is_on[training.column_row[at]] = is_on(growth, feature, training.column_value[at])
    for i in range(n):
        right[i] = growth.is_on[rows[i]] != zero_right
    for at in range(begin, training.column_start[feature + 1]):
        growth.is_on[training.column_row[at]] = 0


cdef inline void settle_split(
    Split* split, Growth* growth, const Training* training, const OpenNode* open_node
) noexcept nogil:
    """Determine the rows that go right, and the test of a sparse feature."""
    cdef int64_t n = open_node.end - open_node.begin, feature = split.feature - training.n_dense
    growth.few.clear()
    if feature < 0:
        send_by_dense(split, growth, training, open_node)
    else:
        send_by_sparse(growth, training, open_node, feature)
        split.threshold = growth.threshold[feature]
        split.has_missing = training.has_missing[split.feature]
        split.missing_right = growth.missing_right[feature]
        if split.threshold < 0:
            split.n_right = n - split.n_right
