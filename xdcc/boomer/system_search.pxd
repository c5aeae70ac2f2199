"""Search on an attribute where the gain of a candidate takes a linear system: bounds first.

Heads of all labels with the example-wise logistic loss need it. A first pass over the steps reads
an upper bound of each side's gain off the running sums (``sum_search.pxd``). A second one gathers
the steps with a bound that reaches the best gain so far into blocks (``step_blocks.pxd``), which
lower the bounds. Few candidates are left to be solved exactly.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from xdcc.boomer.candidates cimport LINEAR_SYSTEM, Candidate, Node, narrows
from xdcc.boomer.row_sums cimport Hessian, add_hessians, add_row
from xdcc.boomer.step_blocks cimport (
    BlockSearch, SystemScratch, add_step, finish_block, hessian_of,
)
from xdcc.boomer.steps cimport (
    Step, Values, before_first_step, n_before, next_step, position_of, starts_anew,
)
from xdcc.boomer.sum_search cimport add_rows, read_gains
from xdcc.boomer.tolerances cimport SLACK
from xdcc.boomer.waiting_systems cimport solve_waiting


cdef inline double _bound_steps(
    const Node* node, const Values* values, const double* total, double* sums, double* bounds
) noexcept nogil:
    """Bound the gains of all steps, -1 for sides that are no candidates; returns the largest."""
    cdef double largest = 0
    cdef double* bound
    cdef int side
    cdef Step step = before_first_step()
    while next_step(values, &step):
        bound = bounds + 2 * position_of(&step)
        add_rows(node, values, &step, sums)
        read_gains(node, LINEAR_SYSTEM, sums, total, bound)
        for side in range(2):
            bound[side] *= SLACK
            if not narrows(node, values, &step, side):
                bound[side] = -1
            largest = max(largest, bound[side])
    return largest


cdef inline Hessian _known_hessian(
    const Node* node, const Values* values, SystemScratch* scratch
) noexcept nogil:
    """Hessian of the rows whose value is known."""
    cdef int64_t i, n_padded = node.statistics.n_padded
    cdef Hessian known = hessian_of(&scratch.known)
    if values.n_missing == 0:
        return node.hessian
    memcpy(known.products, node.hessian.products, n_padded * n_padded * sizeof(double))
    memcpy(known.spread, node.hessian.spread, n_padded * sizeof(double))
    for i in range(values.n_missing):
        if node.inside[values.missing[i]]:
            add_hessians(&node.statistics, values.missing + i, 1, -1, known)
    return known


cdef inline void search_systems(
    const Node* node, const Values* values, const double* total, double* sums,
    SystemScratch* scratch, Candidate* best,
) noexcept nogil:
    """Find the best condition for all labels together.

    `total` [2 n_padded] is over the rows whose value is known, `sums` [2 n_padded] working memory.
    `best` is changed if its gain is exceeded, at the latest by `finish_systems`.
    """
    cdef int64_t at, n_added, n_padded = node.statistics.n_padded
    cdef int32_t row
    cdef double* bounds = scratch.bounds.data()
    cdef double largest = _bound_steps(node, values, total, sums, bounds)
    cdef BlockSearch search
    cdef Step step = before_first_step()
    if largest < scratch.systems.best_gain or largest <= 0:
        return
    search.node = node
    search.values = values
    search.total = total
    search.total_hessian = _known_hessian(node, values, scratch)
    search.sums = sums
    search.scratch = scratch
    search.best = best
    while next_step(values, &step):
        if starts_anew(&step):
            finish_block(&search)
            scratch.n_summed = 0
            memset(sums, 0, n_padded * sizeof(double))
        at = step.previous
        n_added = n_before(&step)
        while at != step.number:
            at += step.direction
            row = values.row[at]
            scratch.order[n_added] = row
            n_added += 1
            add_row(&node.statistics, row, n_padded, sums)
        add_step(&search, &step, bounds + 2 * position_of(&step))
    finish_block(&search)


cdef inline void finish_systems(const Node* node, SystemScratch* scratch) noexcept nogil:
    """Solve what a thread's searches have left."""
    solve_waiting(node, &scratch.systems)
