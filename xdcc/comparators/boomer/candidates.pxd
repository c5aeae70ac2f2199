"""Candidates for the next condition of a rule, and their gains from running sums.

The gain of a candidate is g' (H + l2 I)^-1 g, where g and H are the sums of the gradients and
Hessians over the rows that the rule would cover. It is twice the decrease of equation 14.

For heads of one label and for losses that are sums over labels, running sums give the gain. For
linear systems, the same formula gives an upper bound: the p of a row sum to 1 - p0, so its Hessian
diag(p) - g g' is at least p0 diag(p) (the difference is symmetric and diagonally dominant), and
g' (diag(sum p0 p) + l2 I)^-1 g is at least the gain.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from xdcc.comparators.boomer.conditions cimport (
    Relation, Step, Values, before_first_step, n_inside, next_step, opposite, starts_anew,
    threshold_of,
)
from xdcc.comparators.boomer.derivatives cimport Hessian, Statistics, add_row
from xdcc.comparators.boomer.lanes cimport Four, take_larger

# Tolerances, so that rounding never discards the best candidate.
cdef extern from *:
    """
    #define XDCC_SLACK (1 + 1e-9)
    #define XDCC_ROUNDING 1e-11
    #define XDCC_CLOSE (1 + 1e-5)
    """
    # Factor by which bounds are enlarged.
    const double SLACK "XDCC_SLACK"
    # Error of a difference from a total, as a share of the total.
    const double ROUNDING "XDCC_ROUNDING"
    # Bound of the ratio of two solutions of one system, even if it is nearly singular.
    const double CLOSE "XDCC_CLOSE"

cdef enum Quality:
    # How the gain of a candidate is computed.
    ONE_LABEL       # for the label that the rule predicts
    BEST_LABEL      # for the best label of the candidate
    SUM_OF_LABELS   # summed over labels
    LINEAR_SYSTEM   # for all labels jointly


cdef struct Node:
    # The rows that a rule covers so far, and the settings of the search.
    Quality quality
    Statistics statistics
    const uint8_t* inside   # [n_rows] whether a row is covered
    int64_t n_inside
    int64_t min_coverage    # fewest rows that a rule must cover
    const double* total     # [2 n_padded] sums of the statistics of the rows inside
    Hessian hessian         # sum of the Hessians of the rows inside, for linear systems
    double l2               # positive
    double bin_share        # label bins per label of the same sign, 0 for no bins


cdef struct Candidate:
    double gain
    int64_t order           # position in the search; the lower one wins ties of linear systems
    int32_t label           # of a single-label head, else -1
    float threshold
    Relation relation


cdef inline bint narrows(
    const Node* node, const Values* values, const Step* step, int side
) noexcept nogil:
    """Whether a side of a step has enough rows, but fewer than were covered before.

    Side 0 holds the rows inside the sum, side 1 the rest.
    """
    cdef int64_t n_covered = n_inside(step)
    if side == 1:
        n_covered = values.n + values.n_zero - n_covered
    return node.min_coverage <= n_covered < node.n_inside


cdef inline void set_condition(
    const Values* values, const Step* step, int side, Candidate* candidate
) noexcept nogil:
    """Set the condition that covers a side of a step."""
    candidate.relation = step.relation if side == 0 else opposite(step.relation)
    candidate.threshold = threshold_of(values, step)


cdef inline bint take_if_better(
    const Node* node, const Values* values, const Step* step, int side, double gain,
    Candidate* best,
) noexcept nogil:
    """Make a side of a step the best candidate if its gain is higher; return whether it is."""
    if not gain > best.gain or not narrows(node, values, step, side):
        return False
    best.gain = gain
    set_condition(values, step, side, best)
    return True


# ------------------------------------------------------------------------- search by running sums


cdef inline void add_rows(
    const Node* node, const Values* values, const Step* step, double* sums
) noexcept nogil:
    """Advance the running sums [2 n_padded] to a step."""
    cdef int64_t at = step.previous, width = 2 * node.statistics.n_padded
    if starts_anew(step):
        memset(sums, 0, width * sizeof(double))
    while at != step.number:
        at += step.direction
        add_row(&node.statistics, values.row[at], width, sums)


cdef inline void compute_gains(
    const Node* node, Quality quality, const double* sums, const double* total, double* gain
) noexcept nogil:
    """Compute the gains of both sides of a step, or bounds of them, from sums [2 n_padded]."""
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
    """Find the label with the largest gain on a side of a step."""
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
    """Find the best condition for the best label, or for the sum over labels.

    `total` [2 n_padded] is the sum over the rows with a known value, `sums` [2 n_padded] working
    memory. Updates `best` if a gain exceeds it.
    """
    cdef double gain[2]
    cdef int side
    cdef Step step = before_first_step()
    while next_step(values, &step):
        add_rows(node, values, &step, sums)
        compute_gains(node, quality, sums, total, gain)
        for side in range(2):
            if (
                take_if_better(node, values, &step, side, gain[side], best)
                and quality == BEST_LABEL
            ):
                best.label = _best_label(node, sums, total, side)


cdef inline void search_one_label(
    const Node* node, const Values* values, const double* total, Candidate* best
) noexcept nogil:
    """Find the best condition for a single label; see `search_all_labels`."""
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
