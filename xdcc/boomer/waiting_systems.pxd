"""Linear systems of candidates: each waits until there are eight, which are solved together.

What a candidate is worth is known a little later than it could be. As ties go to the lower
position in the search, that does not change which one is best.
"""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from xdcc.boomer.candidates cimport Candidate, Node
from xdcc.boomer.label_bins cimport BinMemory, solve_bins
from xdcc.boomer.lanes cimport LANES, Eight
from xdcc.boomer.linear_systems cimport System, eliminate


cdef struct Waiting:
    Candidate candidate
    Candidate* best         # of its attribute


cdef cppclass WaitingSystems:
    Waiting waiting[LANES]
    int64_t n_waiting
    vector[double] matrix   # [n_labels (n_labels + 1) / 2, LANES]
    vector[double] gradient # [n_labels, LANES]
    BinMemory bins
    double best_gain        # of all that a thread has solved


cdef inline void _rate(
    Candidate* candidate, double gain, Candidate* best, WaitingSystems* systems
) noexcept nogil:
    candidate.gain = gain
    if gain > best.gain or (gain == best.gain and candidate.order < best.order):
        best[0] = candidate[0]
    systems.best_gain = max(systems.best_gain, gain)


cdef inline void solve_waiting(const Node* node, WaitingSystems* systems) noexcept nogil:
    """Solve the systems that wait."""
    cdef int64_t n_labels = node.statistics.n_labels, n_waiting = systems.n_waiting, lane, k
    cdef double* matrix = systems.matrix.data()
    cdef double* gradient = systems.gradient.data()
    cdef double gain[LANES]
    if n_waiting == 0:
        return
    for lane in range(n_waiting, LANES):
        for k in range(n_labels * (n_labels + 1) // 2):
            matrix[k * LANES + lane] = matrix[k * LANES]
        for k in range(n_labels):
            gradient[k * LANES + lane] = gradient[k * LANES]
    eliminate(<Eight*>matrix, <Eight*>gradient, n_labels, gain)
    for lane in range(n_waiting):
        _rate(&systems.waiting[lane].candidate, gain[lane], systems.waiting[lane].best, systems)
    systems.n_waiting = 0


cdef inline void add_candidate(
    const Node* node, const System* system, Candidate* candidate, Candidate* best,
    WaitingSystems* systems,
) noexcept nogil:
    """Let a candidate's system wait, or solve it at once if its labels are binned."""
    cdef int64_t lane = systems.n_waiting, label, other
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
        # The last one is on the diagonal.
        (entry - LANES)[0] += system.l2 + (
            system.total.spread[label] - system.hessian.spread[label] if system.of_rest
            else system.hessian.spread[label]
        )
        systems.gradient[label * LANES + lane] = system.gradient[label]
    systems.waiting[lane].candidate = candidate[0]
    systems.waiting[lane].best = best
    systems.n_waiting += 1
    if systems.n_waiting == LANES:
        solve_waiting(node, systems)
