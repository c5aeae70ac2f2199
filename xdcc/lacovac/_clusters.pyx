"""Clustering of a node's varying labels by their counts.

LaCovaC links two labels whose absolute correlation is above a threshold; single linkage that is
cut there is what it amounts to, the connected components, found here by union and find. LaCova
asks one question about all labels and keeps or parts them all. ``clustering.py`` does the first
in NumPy.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.lacovac._covariances cimport absolute_covariances
from xdcc.lacovac._node_labels cimport NodeLabels
from xdcc.lacovac._rules cimport ALL_OR_NONE

cdef double Z = 1.96                              # two-sided 95 % of the normal distribution
cdef double FOLDED_MEAN = 0.7978845608028654      # of |N(0, 1)|: sqrt(2 / pi)
cdef double FOLDED_VARIANCE = 0.3633802276324186  # 1 - 2 / pi
cdef double INFINITE = float("inf")


cdef bint find_clusters(const NodeLabels* node, int clustering, double n_rows,
                        vector[int32_t]* cluster) noexcept nogil:
    """Find the first label of each varying label's cluster, both by number.

    The thresholds follow from `n_rows`. False if LaCova keeps all labels together.
    """
    cdef int32_t label
    if clustering == ALL_OR_NONE and are_dependent(node, n_rows):
        return False
    cluster.resize(node.n_varying)
    for label in range(<int32_t>node.n_varying):
        cluster[0][label] = label
    if clustering != ALL_OR_NONE:
        link_correlated(node, n_rows, cluster.data())
    return True


cdef bint are_dependent(const NodeLabels* node, double n_rows) noexcept nogil:
    """LaCova: is the sum of absolute covariances larger than independence would have it?

    A covariance of independent labels has mean 0 and variance v_j v_k / (n - 1); the sum of
    absolute values is taken as normal.
    """
    cdef double total = 0, mean = 0, variance = 0, scale
    cdef int64_t one, other, n_varying = node.n_varying
    if n_rows <= 1:
        return False
    for one in range(n_varying):
        total += absolute_covariances(
            <double>node.n_rows, node.count[one],
            node.pair_count.data() + one * n_varying + one + 1,
            node.count.data() + one + 1, n_varying - one - 1,
        )
        for other in range(one + 1, n_varying):
            scale = node.variance[one] * node.variance[other] / (n_rows - 1)
            mean += sqrt(scale)
            variance += scale
    return total > FOLDED_MEAN * mean + Z * sqrt(FOLDED_VARIANCE * variance)


cdef void link_correlated(const NodeLabels* node, double n_rows, int32_t* cluster
                          ) noexcept nogil:
    """LaCovaC: join the clusters of labels whose absolute correlation is above λ (equation 2)."""
    cdef double threshold = Z / sqrt(n_rows - 1) if n_rows > 1 else INFINITE
    cdef double covariance
    cdef int32_t one, other, first_of_one, first_of_other, n_varying = <int32_t>node.n_varying
    for one in range(n_varying):
        for other in range(one + 1, n_varying):
            covariance = fabs(
                <double>node.n_rows * node.pair_count[one * node.n_varying + other]
                - node.count[one] * node.count[other]
            )
            if covariance / sqrt(node.variance[one] * node.variance[other]) > threshold:
                first_of_one = first_of_cluster(cluster, one)
                first_of_other = first_of_cluster(cluster, other)
                if first_of_one < first_of_other:
                    cluster[first_of_other] = first_of_one
                else:
                    cluster[first_of_one] = first_of_other
    for one in range(n_varying):
        cluster[one] = first_of_cluster(cluster, one)


cdef int32_t first_of_cluster(int32_t* cluster, int32_t label) noexcept nogil:
    while cluster[label] != label:
        cluster[label] = cluster[cluster[label]]
        label = cluster[label]
    return label
