"""Scores of a horizontal split into the moving side and the rest; the lower, the better.

``covariance`` (LaCovaC's and LaCova's): over both sides, the smaller one of the labels' summed
variances and their summed absolute covariances, each a sample estimate times the side's rows.
Sums of covariances need all pairs; they are added label by label, and a split is dropped as soon
as what it has reached is worse than the best one. ``variance`` is the first sum alone, and the
``gain ratio`` of ML-C4.5 follows from entropies, of which a table gives n log2(n).
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from xdcc.lacovac._covariances cimport absolute_covariances, absolute_covariances_of_rest
from xdcc.lacovac._moving_side cimport MovingSide
from xdcc.lacovac._node_labels cimport NodeLabels


cdef inline double per_side(double total, double n_rows) noexcept nogil:
    """n times the sum of sample (co)variances, from n² times that of the plain ones."""
    return total / (n_rows - 1) if n_rows > 1 else 0


# ------------------------------------------------------------------------------------- variances


cdef inline double variances_of_moved(const MovingSide* side) noexcept nogil:
    """n² times the labels' summed variances."""
    return side.n_rows * side.sum_count - side.sum_square


cdef inline double variances_of_rest(const MovingSide* side, const NodeLabels* node
                                     ) noexcept nogil:
    cdef double n_rest = <double>node.n_rows - side.n_rows
    cdef double rest_square = node.sum_square - 2 * side.cross + side.sum_square
    return n_rest * (node.sum_count - side.sum_count) - rest_square


cdef inline double variance_score(const MovingSide* side, const NodeLabels* node) noexcept nogil:
    return per_side(variances_of_moved(side), side.n_rows) + per_side(
        variances_of_rest(side, node), <double>node.n_rows - side.n_rows
    )


# ----------------------------------------------------------------------------------- covariances


cdef inline double covariance_score(MovingSide* side, const NodeLabels* node, double limit
                                    ) noexcept nogil:
    """Score by covariances; something above `limit` if the score is above it."""
    cdef double n_moved = side.n_rows, n_rest = <double>node.n_rows - side.n_rows
    cdef double moved_variance = variances_of_moved(side)
    cdef double rest_variance = variances_of_rest(side, node)
    cdef double rest_total = node.sum_count - side.sum_count
    cdef double rest_square = node.sum_square - 2 * side.cross + side.sum_square
    # The absolute sum of the covariances is a lower bound for the sum of absolute ones.
    cdef double moved_bound = fabs(
        n_moved * side.sum_pairs - (side.sum_count ** 2 - side.sum_square) / 2
    )
    cdef double rest_bound = fabs(
        n_rest * (node.sum_pairs - side.sum_pairs) - (rest_total ** 2 - rest_square) / 2
    )
    # Open: the sum of covariances may still turn out to be the smaller one.
    cdef bint moved_open = moved_bound < moved_variance, rest_open = rest_bound < rest_variance
    cdef double moved_sum = 0, rest_sum = 0, count
    cdef int64_t label, to_pairs, n_varying = node.n_varying
    cdef double bound = (per_side(moved_bound if moved_open else moved_variance, n_moved)
                         + per_side(rest_bound if rest_open else rest_variance, n_rest))
    if bound > limit or not (moved_open or rest_open):
        return bound
    if rest_open:
        for label in range(n_varying):
            side.rest_count[label] = node.count[label] - side.count[label]
    for label in range(n_varying - 1):
        to_pairs = label * n_varying + label + 1
        if moved_open:
            count = side.count[label]
            if 0 < count < n_moved:
                moved_sum += absolute_covariances(
                    n_moved, count, side.pair_count.data() + to_pairs,
                    side.count.data() + label + 1, n_varying - label - 1,
                )
            moved_open = moved_sum < moved_variance
        if rest_open:
            count = side.rest_count[label]
            if 0 < count < n_rest:
                rest_sum += absolute_covariances_of_rest(
                    n_rest, count, node.pair_count.data() + to_pairs,
                    side.pair_count.data() + to_pairs,
                    side.rest_count.data() + label + 1, n_varying - label - 1,
                )
            rest_open = rest_sum < rest_variance
        # What was found so far is a lower bound, and so is what was found before.
        bound = (per_side(max(moved_bound, moved_sum) if moved_open else moved_variance, n_moved)
                 + per_side(max(rest_bound, rest_sum) if rest_open else rest_variance, n_rest))
        if bound > limit or not (moved_open or rest_open):
            return bound
    return (per_side(moved_sum if moved_open else moved_variance, n_moved)
            + per_side(rest_sum if rest_open else rest_variance, n_rest))


cdef inline double covariance_of_moved(const MovingSide* side, const NodeLabels* node
                                       ) noexcept nogil:
    """The moving side's part of the score: one branch of a nominal split."""
    cdef double variance = variances_of_moved(side), total = 0
    cdef int64_t label, n_varying = node.n_varying
    for label in range(n_varying - 1):
        if total >= variance:
            break
        if 0 < side.count[label] < side.n_rows:
            total += absolute_covariances(
                side.n_rows, side.count[label],
                side.pair_count.data() + label * n_varying + label + 1,
                side.count.data() + label + 1, n_varying - label - 1,
            )
    return per_side(min(total, variance), side.n_rows)


# ------------------------------------------------------------------------------------- entropies


cdef inline double entropy(const double* nlogn, int64_t n_rows, int64_t count) noexcept nogil:
    """n times the entropy of a label that `count` of n rows have."""
    return nlogn[n_rows] - nlogn[count] - nlogn[n_rows - count]


cdef inline double entropies_of_node(const NodeLabels* node, const double* nlogn) noexcept nogil:
    cdef int64_t label
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, node.n_rows, <int64_t>node.count[label])
    return total


cdef inline double entropies_of_moved(
    const MovingSide* side, const NodeLabels* node, const double* nlogn
) noexcept nogil:
    cdef int64_t label
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, <int64_t>side.n_rows, <int64_t>side.count[label])
    return total


cdef inline double entropies_of_rest(
    const MovingSide* side, const NodeLabels* node, const double* nlogn
) noexcept nogil:
    cdef int64_t label, n_rest = node.n_rows - <int64_t>side.n_rows
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, n_rest, <int64_t>(node.count[label] - side.count[label]))
    return total
