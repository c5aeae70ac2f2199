"""Search for the best horizontal split of a node, over all features or a random subset."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from xdcc.comparators.lacovac._node cimport Branches, FeatureValues, NodeFeatures, NodeLabels
from xdcc.comparators.lacovac._training cimport Training


cdef cppclass MovingSide:
    """The side of a horizontal split to which rows move; the other rows are the rest."""
    double n_rows
    double sum_count               # Σ m_j, where m_j rows of the moving side have label j
    double sum_square              # Σ m_j²
    double sum_pairs               # Σ m_jk over pairs
    double cross                   # Σ c_j m_j, where c_j rows of the node have label j
    vector[double] count           # [n_varying] m_j
    vector[int32_t] pair_count     # [at least n_varying²] m_jk for j < k; 0 between scans
    vector[double] rest_count      # [n_varying] working memory for c_j - m_j


cdef struct Split:
    bint is_valid
    int8_t kind                    # NUMERIC or NOMINAL
    bint missing_right             # whether a numeric split sends missing values to the right
    int32_t feature
    int32_t at                     # position of the feature in the list of the node
    float threshold
    double score                   # lower is better
    double gain                    # for the gain ratio only
    double gain_ratio


cdef cppclass Scan:
    """Working memory of a thread for scanning the features of a node."""
    const Training* training
    const NodeLabels* node
    bint by_covariance
    double node_entropy
    double limit                   # score of the best split so far
    FeatureValues values
    Branches branches
    MovingSide side


cdef cppclass SplitSearch:
    """Working memory of the searches for a tree."""
    const Training* training
    uint64_t random_state
    NodeFeatures features
    vector[Split] splits           # the best split on each feature
    vector[Scan] scans             # [n_threads]


cdef const Split* find_split(SplitSearch* search, const NodeLabels* node) noexcept nogil
