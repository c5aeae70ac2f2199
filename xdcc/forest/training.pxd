"""Training data of a forest, and the shape that trees have."""

from libc.stdint cimport int32_t, int64_t, uint8_t


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
    bint is_plain                  # are dense features all numeric, without missing values?
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
    const float* positive_share    # of each positive label; NULL: all are 1
    const float* unknown_share     # of each unknown one
    int64_t n_sampled              # rows of a tree
    int64_t n_drawn_dense          # features that a node draws
    double sparse_share            # share of the sparse features that it draws
    int64_t min_samples_leaf
    int64_t sketch_size            # 0: all labels
