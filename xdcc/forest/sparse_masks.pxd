"""Sparse features in small nodes: the rows in which each feature is on, as bits of a word.

A node with at most `SMALL` rows is the root of a small subtree. Its rows are numbered; a node of
the subtree has a bit for each of its rows in `members`, in the order of the rows. It lists the
features that vary among its rows, ascending, each with the mask of the rows in which it is on.
Children select from their parent's list.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from xdcc.forest.growth cimport Growth, OpenNode
from xdcc.forest.training cimport Training

cdef enum:
    SMALL = 64

cdef extern from *:
    int count_bits "__builtin_popcountll"(uint64_t) noexcept nogil
    int first_bit "__builtin_ctzll"(uint64_t) noexcept nogil


cdef inline void reserve_list(Growth* growth, int64_t size) noexcept nogil:
    """Make sure that the lists have a place for this many features."""
    if <int64_t>growth.listed_feature.size() < size:
        growth.listed_feature.resize(2 * size)
        growth.listed_mask.resize(2 * size)


cdef inline void list_root(
    Growth* growth, const Training* training, OpenNode* root, int64_t width
) noexcept nogil:
    """Number the rows of a small subtree, and list the features that vary in its root."""
    cdef int64_t n = root.end - root.begin, n_words = (training.n_sparse + 63) // 64, i, at, row
    cdef int64_t n_listed = 0
    cdef int32_t feature
    cdef uint64_t bit, word, mask
    cdef uint64_t* mask_of = growth.mask_of.data()
    cdef uint64_t* present = growth.present.data()
    root.members = <uint64_t>-1 >> (64 - n)
    for i in range(n * width):
        growth.member_value[i] = growth.value[root.begin * width + i]
    for i in range(n):
        row = growth.rows[root.begin + i]
        bit = <uint64_t>1 << i
        n_listed += growth.on_start[row + 1] - growth.on_start[row]
        for at in range(growth.on_start[row], growth.on_start[row + 1]):
            feature = growth.on_feature[at]
            mask_of[feature] |= bit
            present[feature >> 6] |= <uint64_t>1 << (feature & 63)
    reserve_list(growth, n_listed + 1)
    root.listed = 0
    root.listed_end = 0
    for i in range(n_words):
        word = present[i]
        present[i] = 0
        while word:
            feature = <int32_t>(64 * i + first_bit(word))
            word &= word - 1
            mask = mask_of[feature]
            mask_of[feature] = 0
            growth.listed_feature[root.listed_end] = feature
            growth.listed_mask[root.listed_end] = mask
            root.listed_end += mask != root.members


cdef inline void list_varied(Growth* growth, OpenNode* node) noexcept nogil:
    """List, behind the parent's list, those of its features that vary in a node."""
    cdef int64_t i, at = node.listed_end
    reserve_list(growth, 2 * node.listed_end - node.listed + 1)
    cdef int32_t* feature = growth.listed_feature.data()
    cdef uint64_t* mask = growth.listed_mask.data()
    cdef uint64_t inside, members = node.members
    for i in range(node.listed, node.listed_end):
        inside = mask[i] & members
        feature[at] = feature[i]
        mask[at] = inside
        at += (inside != 0) & (inside != members)
    node.listed = node.listed_end
    node.listed_end = at


cdef inline int64_t sum_members(
    int32_t* sums, const Growth* growth, uint64_t mask, uint64_t members, int64_t width
) noexcept nogil:
    """Count the rows of a mask and sum up their values, or subtract the other rows of the node."""
    cdef int64_t n_on = count_bits(mask), k
    cdef bint is_most = 2 * n_on > count_bits(members)
    cdef uint64_t added = members & ~mask if is_most else mask
    cdef const int32_t* value
    for k in range(width):
        sums[k] = 0
    while added:
        value = growth.member_value.data() + first_bit(added) * width
        added &= added - 1
        for k in range(width):
            sums[k] += value[k]
    if is_most:
        for k in range(width):
            sums[k] = growth.total[k] - sums[k]
    return n_on


cdef inline uint64_t members_right(
    uint64_t members, const unsigned char* goes_right
) noexcept nogil:
    """Members of the right child, for a node whose rows are marked in their order."""
    cdef uint64_t right = 0
    cdef int64_t i = 0
    while members:
        right |= (members & -members) * goes_right[i]
        members &= members - 1
        i += 1
    return right
