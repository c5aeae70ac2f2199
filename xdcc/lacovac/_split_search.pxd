"""The search for the best horizontal split of a node, over all features or drawn ones."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from xdcc.lacovac._node cimport Branches, FeatureValues, NodeFeatures, NodeLabels
from xdcc.lacovac._training cimport Training


cdef cppclass MovingSide:
    """One side of a horizontal split, which grows row by row; the others are the rest."""
    double n_rows
    double sum_count               # Σ m_j: rows of the moving side with label j
    double sum_square              # Σ m_j²
    double sum_pairs               # Σ m_jk over pairs
    double cross                   # Σ c_j m_j, c_j being the node's
    vector[double] count           # [n_varying]: m_j
    vector[int32_t] pair_count     # [at least n_varying²]: m_jk where j < k, 0 between scans
    vector[double] rest_count      # [n_varying]: memory for c_j - m_j


cdef struct Split:
    bint is_valid
    int8_t kind                    # NUMERIC or NOMINAL
    bint missing_right             # where a numeric split sends rows without a value
    int32_t feature
    int32_t at                     # position of the feature among the node's
    float threshold
    double score                   # the lower the better
    double gain                    # by the gain ratio only
    double gain_ratio


cdef cppclass Scan:
    """A thread's way through features of a node."""
    const Training* training
    const NodeLabels* node
    bint by_covariance
    double node_entropy
    double limit                   # score of the best split so far
    FeatureValues values
    Branches branches
    MovingSide side


cdef cppclass SplitSearch:
    """What searches keep while a tree grows."""
    const Training* training
    uint64_t random_state
    NodeFeatures features
    vector[Split] splits           # the best one on each feature
    vector[Scan] scans             # [n_threads]


cdef const Split* find_split(SplitSearch* search, const NodeLabels* node) noexcept nogil
