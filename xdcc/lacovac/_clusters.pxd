"""When the labels of a node belong together: vertical splits (Algorithm 2, and LaCova's rule)."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from xdcc.lacovac._node_labels cimport NodeLabels


cdef bint find_clusters(const NodeLabels* node, int clustering, double n_rows,
                        vector[int32_t]* cluster) noexcept nogil
