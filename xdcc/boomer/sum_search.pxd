"""Search on an attribute where the gain of a candidate is read off running sums.

That is so for heads of one label and for losses that are sums over labels. For linear systems the
same reading is an upper bound of the gain: the p of a row sum to 1 - p0, so that its Hessian
diag(p) - g g' is at least p0 diag(p) (a symmetric matrix that is diagonally dominant with this
margin), and g' (diag(sum p0 p) + l2 I)^-1 g is at least the gain.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from xdcc.boomer.candidates cimport (
    BEST_LABEL, LINEAR_SYSTEM, Candidate, Node, Quality, take_if_better,
)
from xdcc.boomer.lanes cimport Four, take_larger
from xdcc.boomer.row_sums cimport add_row
from xdcc.boomer.steps cimport Step, Values, before_first_step, next_step, starts_anew
from xdcc.boomer.tolerances cimport ROUNDING


cdef inline void add_rows(
    const Node* node, const Values* values, const Step* step, double* sums
) noexcept nogil:
    """Bring the sums [2 n_padded] to a step."""
    cdef int64_t at = step.previous, width = 2 * node.statistics.n_padded
    if starts_anew(step):
        memset(sums, 0, width * sizeof(double))
    while at != step.number:
        at += step.direction
        add_row(&node.statistics, values.row[at], width, sums)


cdef inline void read_gains(
    const Node* node, Quality quality, const double* sums, const double* total, double* gain
) noexcept nogil:
    """Gains of both sides of a step, or bounds of them, from sums [2 n_padded]."""
    cdef int64_t k, n_padded = node.statistics.n_padded
    cdef double l2 = node.l2
    cdef Four g_inside, h_inside, g_rest, h_rest, gain_inside, gain_rest
    cdef Four sum_inside = Four(), sum_rest = Four(), zero = Four()
    for k in range(0, n_padded, 4):
        g_inside = (<const Four*>(sums + k))[0]
        h_inside = (<const Four*>(sums + n_padded + k))[0]
        g_rest = (<const Four*>(total + k))[0] - g_inside
        h_rest = (<const Four*>(total + n_padded + k))[0] - h_inside
        if quality == LINEAR_SYSTEM:
            h_rest -= (<const Four*>(total + n_padded + k))[0] * ROUNDING
            take_larger(h_rest, zero)
        gain_inside = g_inside * g_inside / (h_inside + l2)
        gain_rest = g_rest * g_rest / (h_rest + l2)
        if quality == BEST_LABEL:
            take_larger(gain_inside, sum_inside)
            take_larger(gain_rest, sum_rest)
            sum_inside = gain_inside
            sum_rest = gain_rest
        else:
            sum_inside += gain_inside
            sum_rest += gain_rest
    if quality == BEST_LABEL:
        gain[0] = max(max(sum_inside[0], sum_inside[1]), max(sum_inside[2], sum_inside[3]))
        gain[1] = max(max(sum_rest[0], sum_rest[1]), max(sum_rest[2], sum_rest[3]))
    else:
        gain[0] = (sum_inside[0] + sum_inside[1]) + (sum_inside[2] + sum_inside[3])
        gain[1] = (sum_rest[0] + sum_rest[1]) + (sum_rest[2] + sum_rest[3])


cdef inline int32_t _best_label(
    const Node* node, const double* sums, const double* total, int side
) noexcept nogil:
    """Label with the largest gain on a side of a step."""
    cdef int64_t label, n_padded = node.statistics.n_padded
    cdef int32_t best = 0
    cdef double g, h, gain, best_gain = -1
    for label in range(node.statistics.n_labels):
        g = sums[label] if side == 0 else total[label] - sums[label]
        h = (
            sums[n_padded + label] if side == 0
            else total[n_padded + label] - sums[n_padded + label]
        )
        gain = g * g / (h + node.l2)
        if gain > best_gain:
            best_gain = gain
            best = <int32_t>label
    return best


cdef inline void search_all_labels(
    const Node* node, Quality quality, const Values* values, const double* total, double* sums,
    Candidate* best,
) noexcept nogil:
    """Find the best condition for the best label, or for all labels if the loss is their sum.

    `total` [2 n_padded] is over the rows whose value is known, `sums` [2 n_padded] working memory.
    `best` is changed if its gain is exceeded.
    """
    cdef double gain[2]
    cdef int side
    cdef Step step = before_first_step()
    while next_step(values, &step):
        add_rows(node, values, &step, sums)
        read_gains(node, quality, sums, total, gain)
        for side in range(2):
            if (
                take_if_better(node, values, &step, side, gain[side], best)
                and quality == BEST_LABEL
            ):
                best.label = _best_label(node, sums, total, side)


cdef inline void search_one_label(
    const Node* node, const Values* values, const double* total, Candidate* best
) noexcept nogil:
    """Find the best condition for the only label there is; see `search_all_labels`."""
    cdef int64_t at
    cdef const double* statistics = node.statistics.values
    cdef const double* weight = node.statistics.weight
    cdef double g_inside = 0, h_inside = 0, g_rest, l2 = node.l2
    cdef double gain[2]
    cdef int32_t row
    cdef int side
    cdef Step step = before_first_step()
    while next_step(values, &step):
        if starts_anew(&step):
            g_inside = 0
            h_inside = 0
        at = step.previous
        while at != step.number:
            at += step.direction
            row = values.row[at]
            g_inside += weight[row] * statistics[2 * row]
            h_inside += weight[row] * statistics[2 * row + 1]
        g_rest = total[0] - g_inside
        gain[0] = g_inside * g_inside / (h_inside + l2)
        gain[1] = g_rest * g_rest / (total[1] - h_inside + l2)
        for side in range(2):
            take_if_better(node, values, &step, side, gain[side], best)
