"""What a rule covers so far, and the candidates for its next condition.

The gain of a candidate is g' (H + l2 I)^-1 g, with g and H the sums of the gradients and Hessians
over the rows that the rule then covers: twice what equation 14 of the paper falls by.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from xdcc.boomer.conditions cimport Relation, opposite
from xdcc.boomer.row_sums cimport Hessian, Statistics
from xdcc.boomer.steps cimport Step, Values, n_inside, threshold_of

cdef enum Quality:
    # What the gain of a candidate is.
    ONE_LABEL       # of the one label that the rule predicts for
    BEST_LABEL      # of its best label
    SUM_OF_LABELS   # summed over labels
    LINEAR_SYSTEM   # of all labels together


cdef struct Node:
    # The rows that a rule covers so far, and what is asked of them.
    Quality quality
    Statistics statistics
    const uint8_t* inside   # [n_rows] whether a row is covered
    int64_t n_inside
    int64_t min_coverage    # rows that a rule has to cover
    const double* total     # [2 n_padded] sums of the statistics of the rows inside
    Hessian hessian         # their sum, with linear systems
    double l2               # positive
    double bin_share        # bins per label that is raised or lowered, 0: no bins


cdef struct Candidate:
    double gain
    int64_t order           # position in the search; lower ones win ties of linear systems
    int32_t label           # of a single-label head, else -1
    float threshold
    Relation relation


cdef inline bint narrows(
    const Node* node, const Values* values, const Step* step, int side
) noexcept nogil:
    """Whether a side of a step has enough rows, and not all that were covered before.

    Side 0 are the rows inside the sum, side 1 are the rest.
    """
    cdef int64_t n_covered = n_inside(step)
    if side == 1:
        n_covered = values.n + values.n_zero - n_covered
    return node.min_coverage <= n_covered < node.n_inside


cdef inline void set_condition(
    const Values* values, const Step* step, int side, Candidate* candidate
) noexcept nogil:
    """Write the condition that covers a side of a step."""
    candidate.relation = step.relation if side == 0 else opposite(step.relation)
    candidate.threshold = threshold_of(values, step)


cdef inline bint take_if_better(
    const Node* node, const Values* values, const Step* step, int side, double gain,
    Candidate* best,
) noexcept nogil:
    """Make a side of a step the best candidate if its gain is higher; whether it was."""
    if not gain > best.gain or not narrows(node, values, step, side):
        return False
    best.gain = gain
    set_condition(values, step, side, best)
    return True
