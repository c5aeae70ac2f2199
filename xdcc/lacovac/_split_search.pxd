"""The search for the best horizontal split of a node, over all features or drawn ones."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from xdcc.lacovac._branches cimport Branches
from xdcc.lacovac._feature_values cimport FeatureValues, NodeFeatures
from xdcc.lacovac._moving_side cimport MovingSide
from xdcc.lacovac._node_labels cimport NodeLabels
from xdcc.lacovac._training cimport Training


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
