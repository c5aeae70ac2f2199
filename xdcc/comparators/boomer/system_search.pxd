"""Find the best condition on an attribute if gains need a linear system: branch and bound.

Complete heads with the example-wise logistic loss need it. A first pass over the steps computes an
upper bound of each gain from running sums (``candidates.pxd``). A second pass collects the steps
whose bounds reach the best gain so far into blocks, and tightens their bounds. Only the few
remaining candidates are solved exactly.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from xdcc.comparators.boomer.candidates cimport (
    CLOSE, LINEAR_SYSTEM, ROUNDING, SLACK, Candidate, Node, add_rows, compute_gains, narrows,
    set_condition,
)
from xdcc.comparators.boomer.conditions cimport (
    Step, Values, before_first_step, n_before, n_inside, next_step, position_of, starts_anew,
)
from xdcc.comparators.boomer.derivatives cimport Hessian, add_hessians, add_row, clear_hessian
from xdcc.comparators.boomer.lanes cimport LANES, Eight
from xdcc.comparators.boomer.linear_systems cimport (
    BinMemory, System, eliminate, factorise, solve_bins, solve_factorised,
)


# -------------------------------------------------------------------------------- pending systems

# The linear systems of eight candidates are solved together, so gains become known with a delay.
# This does not change the best candidate: ties go to the lower position in the search.


cdef struct Pending:
    Candidate candidate
    Candidate* best         # best candidate of the attribute


cdef cppclass PendingSystems:
    Pending pending[LANES]
    int64_t n_pending
    vector[double] matrix   # [n_labels (n_labels + 1) / 2, LANES]
    vector[double] gradient # [n_labels, LANES]
    BinMemory bins
    double best_gain        # of all systems that the thread has solved


cdef inline void _rate(
    Candidate* candidate, double gain, Candidate* best, PendingSystems* systems
) noexcept nogil:
    candidate.gain = gain
    if gain > best.gain or (gain == best.gain and candidate.order < best.order):
        best[0] = candidate[0]
    systems.best_gain = max(systems.best_gain, gain)


cdef inline void solve_pending(const Node* node, PendingSystems* systems) noexcept nogil:
    """Solve the pending systems."""
    cdef int64_t n_labels = node.statistics.n_labels, n_pending = systems.n_pending, lane, k
    cdef double* matrix = systems.matrix.data()
    cdef double* gradient = systems.gradient.data()
    cdef double gain[LANES]
    if n_pending == 0:
        return
    for lane in range(n_pending, LANES):
        for k in range(n_labels * (n_labels + 1) // 2):
            matrix[k * LANES + lane] = matrix[k * LANES]
        for k in range(n_labels):
            gradient[k * LANES + lane] = gradient[k * LANES]
    eliminate(<Eight*>matrix, <Eight*>gradient, n_labels, gain)
    for lane in range(n_pending):
        _rate(&systems.pending[lane].candidate, gain[lane], systems.pending[lane].best, systems)
    systems.n_pending = 0


cdef inline void add_candidate(
    const Node* node, const System* system, Candidate* candidate, Candidate* best,
    PendingSystems* systems,
) noexcept nogil:
    """Add the system of a candidate to the pending ones; with label bins, solve it at once."""
    cdef int64_t lane = systems.n_pending, label, other
    cdef double gain
    cdef double* entry
    cdef const double* line
    cdef const double* total_line
    if node.bin_share > 0:
        solve_bins(system, node.bin_share, NULL, &gain, &systems.bins)
        _rate(candidate, gain, best, systems)
        return
    entry = systems.matrix.data() + lane
    for label in range(system.n_labels):
        line = system.hessian.products + label * system.n_padded
        total_line = system.total.products + label * system.n_padded
        for other in range(label + 1):
            entry[0] = total_line[other] - line[other] if system.of_rest else line[other]
            entry += LANES
        # The last entry is on the diagonal.
        (entry - LANES)[0] += system.l2 + (
            system.total.spread[label] - system.hessian.spread[label] if system.of_rest
            else system.hessian.spread[label]
        )
        systems.gradient[label * LANES + lane] = system.gradient[label]
    systems.pending[lane].candidate = candidate[0]
    systems.pending[lane].best = best
    systems.n_pending += 1
    if systems.n_pending == LANES:
        solve_pending(node, systems)


# -------------------------------------------------------------------------------- blocks of steps

# The steps of a block share bounds. Along a running sum, the Hessian of the sum grows (as a
# quadratic form) and the Hessian of the rest shrinks. So the gain of a step is at most g' A^-1 g,
# where g is its own gradient and A, the anchor, is the matrix of the first step of the block (for
# the rest: of the last step).

cdef enum:
    BLOCK = 16          # maximum number of steps of a block
    SMALLEST_BLOCK = 4  # minimum number of steps that is worth an anchor


cdef struct BlockStep:
    Step step
    double bound[2]     # on both sides


cdef cppclass HessianMemory:
    vector[double] products     # [n_padded, n_padded]
    vector[double] spread       # [n_padded]


cdef cppclass SystemScratch:
    # A thread's working memory.
    vector[double] bounds       # [n_rows + 1, 2] by the positions of steps
    vector[int32_t] order       # [n_rows] rows in the order of the running sum
    int64_t n_summed            # number of these rows that `running` includes
    HessianMemory running
    HessianMemory solved        # at the first step of the block, then at the steps to solve
    HessianMemory known         # total of the rows with a known value
    BlockStep block[BLOCK]
    int64_t n_in_block
    vector[double] gradients    # [BLOCK / LANES, 2, n_padded, LANES] of both sides of the steps
    vector[double] copied       # [n_padded, LANES]
    vector[double] gradient     # [n_padded] of one side of a step
    vector[double] factor       # [n_padded, n_padded] of an anchor
    PendingSystems systems


cdef struct BlockSearch:
    const Node* node
    const Values* values
    const double* total         # [n_padded] sum of the gradients over rows with a known value
    Hessian total_hessian       # sum of the Hessians over these rows
    double* sums                # [n_padded] running sums
    SystemScratch* scratch
    Candidate* best


cdef inline void _allocate_hessian(HessianMemory* memory, int64_t n_padded) noexcept nogil:
    memory.products.resize(n_padded * n_padded)
    memory.spread.resize(n_padded)


cdef inline Hessian hessian_of(HessianMemory* memory) noexcept nogil:
    """Return pointers to the memory of a sum."""
    cdef Hessian hessian
    hessian.products = memory.products.data()
    hessian.spread = memory.spread.data()
    return hessian


cdef inline void allocate_systems(
    SystemScratch* scratch, int64_t n_rows, int64_t n_labels, int64_t n_padded, bint binned
) noexcept nogil:
    """Allocate all memory; with label bins, no memory for pending systems."""
    scratch.bounds.resize(2 * (n_rows + 1))
    scratch.order.resize(n_rows)
    _allocate_hessian(&scratch.running, n_padded)
    _allocate_hessian(&scratch.solved, n_padded)
    _allocate_hessian(&scratch.known, n_padded)
    scratch.gradients.resize(2 * BLOCK * n_padded)
    scratch.copied.resize(n_padded * LANES)
    scratch.gradient.resize(n_padded)
    scratch.factor.resize(n_padded * n_padded)
    if not binned:
        scratch.systems.matrix.resize(n_labels * (n_labels + 1) // 2 * LANES)
        scratch.systems.gradient.resize(n_labels * LANES)


cdef inline void begin_systems(SystemScratch* scratch, double gain) noexcept nogil:
    """Prepare for a node; only gains above `gain` count."""
    scratch.n_in_block = 0
    scratch.systems.n_pending = 0
    scratch.systems.best_gain = gain


cdef inline double* _gradients(
    const BlockSearch* search, int64_t at, int side
) noexcept nogil:
    """Return the gradients [n_padded, LANES] of a step's side, starting at its lane."""
    cdef int64_t n_padded = search.node.statistics.n_padded
    return search.scratch.gradients.data() + (
        (at // LANES * 2 + side) * n_padded * LANES + at % LANES
    )


cdef inline void _advance(
    const BlockSearch* search, Hessian hessian, int64_t begin, int64_t end
) noexcept nogil:
    """Add the Hessians of rows `begin` to `end` of the running sum."""
    add_hessians(
        &search.node.statistics, search.scratch.order.data() + begin, end - begin, 1, hessian
    )


cdef inline bint _lower_bounds(const BlockSearch* search, int side) noexcept nogil:
    """Tighten the bounds of a side with the anchor in `factor`; return false if it is singular."""
    cdef SystemScratch* scratch = search.scratch
    cdef int64_t n_labels = search.node.statistics.n_labels
    cdef int64_t n_padded = search.node.statistics.n_padded
    cdef int64_t at = 0, lane
    cdef double* factor = scratch.factor.data()
    cdef double* copied = scratch.copied.data()
    cdef double* bound
    cdef Eight gain
    if not factorise(factor, n_padded, n_labels, copied):
        return False
    while at < scratch.n_in_block:
        # A copy, as solving a system needs the gradients again.
        memcpy(copied, _gradients(search, at, side), n_padded * LANES * sizeof(double))
        solve_factorised(factor, n_padded, n_labels, <Eight*>copied, &gain)
        for lane in range(min(<int64_t>LANES, scratch.n_in_block - at)):
            bound = &scratch.block[at + lane].bound[side]
            bound[0] = min(bound[0], gain[lane] * CLOSE)
        at += LANES
    return True


cdef inline void _set_up_anchor(const BlockSearch* search, int side) noexcept nogil:
    """Set `factor` to A at the first step of the block, or to A of the rest at its last step."""
    cdef SystemScratch* scratch = search.scratch
    cdef int64_t n_padded = search.node.statistics.n_padded, label, other
    cdef double l2 = search.node.l2
    cdef Hessian total = search.total_hessian
    cdef Hessian first = hessian_of(&scratch.solved), last = hessian_of(&scratch.running)
    cdef double* factor = scratch.factor.data()
    for label in range(search.node.statistics.n_labels):
        if side == 0:
            for other in range(label + 1):
                factor[label * n_padded + other] = first.products[label * n_padded + other]
            factor[label * n_padded + label] += first.spread[label] + l2
        else:
            for other in range(label + 1):
                factor[label * n_padded + other] = (
                    total.products[label * n_padded + other]
                    - last.products[label * n_padded + other]
                )
            factor[label * n_padded + label] += (
                total.spread[label] * (1 - ROUNDING) - last.spread[label] + l2
            )


cdef inline void _solve_block(const BlockSearch* search) noexcept nogil:
    """Add the systems of the candidates whose bounds still reach the best gain."""
    cdef SystemScratch* scratch = search.scratch
    cdef const Node* node = search.node
    cdef int64_t n_labels = node.statistics.n_labels, at, label
    cdef int64_t n_summed = n_inside(&scratch.block[0].step)
    cdef int side
    cdef const BlockStep* it
    cdef const double* gradients
    cdef System system
    cdef Candidate candidate
    system.n_labels = n_labels
    system.n_padded = node.statistics.n_padded
    system.hessian = hessian_of(&scratch.solved)
    system.total = search.total_hessian
    system.gradient = scratch.gradient.data()
    system.l2 = node.l2
    candidate.label = -1
    for at in range(scratch.n_in_block):
        it = &scratch.block[at]
        for side in range(2):
            if it.bound[side] < scratch.systems.best_gain or it.bound[side] <= 0:
                continue
            _advance(search, system.hessian, n_summed, n_inside(&it.step))
            n_summed = n_inside(&it.step)
            gradients = _gradients(search, at, side)
            for label in range(n_labels):
                scratch.gradient[label] = gradients[label * LANES]
            system.of_rest = side == 1
            candidate.order = 2 * position_of(&it.step) + side
            set_condition(search.values, &it.step, side, &candidate)
            add_candidate(node, &system, &candidate, search.best, &scratch.systems)


cdef inline void finish_block(const BlockSearch* search) noexcept nogil:
    """Tighten the bounds of a block and add the systems of the remaining candidates."""
    cdef SystemScratch* scratch = search.scratch
    cdef int64_t n_padded = search.node.statistics.n_padded, n_first, n_last
    cdef Hessian running = hessian_of(&scratch.running), solved = hessian_of(&scratch.solved)
    if scratch.n_in_block == 0:
        return
    if scratch.n_summed == 0:
        clear_hessian(running, n_padded)
    n_first = n_inside(&scratch.block[0].step)
    n_last = n_inside(&scratch.block[scratch.n_in_block - 1].step)
    _advance(search, running, scratch.n_summed, n_first)
    memcpy(solved.products, running.products, n_padded * n_padded * sizeof(double))
    memcpy(solved.spread, running.spread, n_padded * sizeof(double))
    _advance(search, running, n_first, n_last)
    scratch.n_summed = n_last
    # With label bins, solving a system is less expensive than an anchor.
    if scratch.n_in_block >= SMALLEST_BLOCK and search.node.bin_share == 0:
        _set_up_anchor(search, 0)
        # The anchor is the matrix of the first step: its bound is its gain, up to rounding.
        if _lower_bounds(search, 0):
            scratch.systems.best_gain = max(
                scratch.systems.best_gain, scratch.block[0].bound[0] / (CLOSE * CLOSE)
            )
        _set_up_anchor(search, 1)
        _lower_bounds(search, 1)
    _solve_block(search)
    scratch.n_in_block = 0


cdef inline void add_step(
    const BlockSearch* search, const Step* step, const double* bound
) noexcept nogil:
    """Add a step to the block if the bound of a side reaches the best gain."""
    cdef SystemScratch* scratch = search.scratch
    cdef int64_t label, at = scratch.n_in_block
    cdef double* inside
    cdef double* rest
    if bound[0] < scratch.systems.best_gain and bound[1] < scratch.systems.best_gain:
        return
    inside = _gradients(search, at, 0)
    rest = _gradients(search, at, 1)
    for label in range(search.node.statistics.n_labels):
        inside[label * LANES] = search.sums[label]
        rest[label * LANES] = search.total[label] - search.sums[label]
    scratch.block[at].step = step[0]
    scratch.block[at].bound[0] = bound[0]
    scratch.block[at].bound[1] = bound[1]
    scratch.n_in_block = at + 1
    if scratch.n_in_block == BLOCK:
        finish_block(search)


# ----------------------------------------------------------------------------------------- search


cdef inline double _bound_steps(
    const Node* node, const Values* values, const double* total, double* sums, double* bounds
) noexcept nogil:
    """Bound the gains of all steps, -1 for sides that are not candidates; return the largest."""
    cdef double largest = 0
    cdef double* bound
    cdef int side
    cdef Step step = before_first_step()
    while next_step(values, &step):
        bound = bounds + 2 * position_of(&step)
        add_rows(node, values, &step, sums)
        compute_gains(node, LINEAR_SYSTEM, sums, total, bound)
        for side in range(2):
            bound[side] *= SLACK
            if not narrows(node, values, &step, side):
                bound[side] = -1
            largest = max(largest, bound[side])
    return largest


cdef inline Hessian _known_hessian(
    const Node* node, const Values* values, SystemScratch* scratch
) noexcept nogil:
    """Return the Hessian of the rows with a known value."""
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
    """Find the best condition for all labels jointly.

    `total` [2 n_padded] is the sum over the rows with a known value, `sums` [2 n_padded] working
    memory. Updates `best` if a gain exceeds it, at the latest in `finish_systems`.
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
    """Solve the pending systems of a thread."""
    solve_pending(node, &scratch.systems)
