"""Working memory of a thread while it grows trees."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.forest._node cimport SET_WORDS


cdef struct OpenNode:
    int32_t node
    int64_t begin                  # its rows are rows[begin:end]
    int64_t end
    int32_t slot                   # of the sums of its sparse features; -1: none
    uint64_t members               # its rows among those of the small subtree; 0: not in one
    int64_t listed                 # its parent's varied features in the subtree's lists
    int64_t listed_end
    bint is_leaf


cdef struct Split:
    int64_t feature                # -1: none
    double score
    uint8_t cut                    # rows of larger bins go right
    float threshold
    bint has_missing               # are there missing values in the node?
    bint missing_right
    uint64_t category_set[SET_WORDS]
    int64_t n_right                # until it is settled, of a sparse feature: rows that are on


cdef cppclass Growth:
    int64_t width                  # integers of a row: its projections, and its weight if any
    int64_t n_values               # how many of them are projections
    vector[int32_t] rows           # [n_sampled]: of the open nodes and leaves, one after the other
    vector[int32_t] value          # [n_sampled, width]: of these rows
    vector[int32_t] rows_right     # of a node that is divided
    vector[int32_t] value_right
    vector[uint8_t] goes_right     # [n_sampled]: whether a row of the node does
    vector[int32_t] few            # where in the node these rows are; empty: they are marked above
    vector[int32_t] total          # [width]: sum over a node
    vector[int32_t] totals         # the same for the nodes in the stack
    vector[int32_t] right          # [width]: sum over the rows that go right
    vector[int32_t] right_lanes    # [width, LANES]: the same for a batch of features
    vector[uint8_t] bins           # [n_sampled, LANES]: of a node's rows
    vector[int32_t] order          # [n_dense]: features, those that were drawn first
    vector[OpenNode] stack
    # Sparse features in large nodes.
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
    # Sparse features in a small subtree.
    vector[uint64_t] mask_of       # [n_sparse]: zero but while the subtree's root is listed
    vector[uint64_t] present       # a bit for each sparse feature; the same
    vector[int32_t] listed_feature # lists of varied features, of a node and those above it
    vector[uint64_t] listed_mask   # members of the node in which they are on
    vector[int32_t] member_value   # [SMALL, width]: of the rows of the subtree's root
    # Labels.
    vector[double] projection      # [n_labels, sketch_size]
    vector[double] centre          # [n_values]
    vector[double] projected       # [n_sampled, n_values]
    vector[double] count           # [n_labels]: in a leaf; zero between leaves
    vector[int32_t] seen           # labels of a leaf
