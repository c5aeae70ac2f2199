"""Find the best condition on one attribute.

The rows are sorted by the attribute's value (``training.py``). ``conditions.pxd`` iterates over the
steps between values; the two sides of each step are candidates, evaluated by ``candidates.pxd`` or
``system_search.pxd``. Sums are added in a fixed order, so results do not depend on the number of
threads.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.comparators.boomer.candidates cimport (
    BEST_LABEL, LINEAR_SYSTEM, ONE_LABEL, SUM_OF_LABELS, Candidate, Node, search_all_labels,
    search_one_label,
)
from xdcc.comparators.boomer.conditions cimport Values
from xdcc.comparators.boomer.system_search cimport (
    SystemScratch, allocate_systems, begin_systems, finish_systems, search_systems,
)
from xdcc.kernels.multiversion cimport vectorised


cdef struct Column:
    # The values of an attribute in sorted order, missing values last.
    const int32_t* row      # [n_stored + n_missing]
    const float* value      # [n_stored] not 0
    int64_t n_stored
    int64_t n_missing
    bint nominal


cdef cppclass Scratch:
    # A thread's working memory.
    vector[int32_t] row     # [n_rows + 1] the rows of the column that are inside the node
    vector[float] value     # [n_rows + 1]
    vector[double] total    # [2 n_padded] of the rows whose value is known
    vector[double] sums     # [2 n_padded] running sums
    SystemScratch systems


cdef inline void allocate(
    Scratch* scratch, int64_t n_rows, int64_t n_labels, int64_t n_padded, bint takes_systems,
    bint binned,
) noexcept nogil:
    """Allocate a thread's memory for all searches of a fit."""
    scratch.row.resize(n_rows + 1)
    scratch.value.resize(n_rows + 1)
    scratch.total.resize(2 * n_padded)
    scratch.sums.resize(2 * n_padded)
    if takes_systems:
        allocate_systems(&scratch.systems, n_rows, n_labels, n_padded, binned)


cdef inline Values _select(const Node* node, const Column* column, Scratch* scratch) noexcept nogil:
    """Collect the values of the rows inside the node; set `total` to the sum over known values."""
    cdef int64_t entry, k, n = 0, width = 2 * node.statistics.n_padded
    cdef int32_t* row = scratch.row.data()
    cdef float* value = scratch.value.data()
    cdef double* total = scratch.total.data()
    cdef const double* statistics
    cdef double weight
    cdef Values values
    for entry in range(column.n_stored):
        # Always write, advance if the row is inside: this avoids a branch.
        row[n] = column.row[entry]
        value[n] = column.value[entry]
        n += node.inside[column.row[entry]]
    values.row = row
    values.value = value
    values.n = n
    values.n_negative = 0
    while values.n_negative < n and value[values.n_negative] < 0:
        values.n_negative += 1
    values.n_zero = node.n_inside - n
    values.missing = column.row + column.n_stored
    values.n_missing = column.n_missing
    values.nominal = column.nominal
    for k in range(width):
        total[k] = node.total[k]
    for entry in range(column.n_missing):
        if node.inside[values.missing[entry]]:
            values.n_zero -= 1
            weight = node.statistics.weight[values.missing[entry]]
            statistics = node.statistics.values + width * values.missing[entry]
            for k in range(width):
                total[k] -= weight * statistics[k]
    return values


cdef inline vectorised search_attribute(
    const Node* node, const Column* column, Scratch* scratch, Candidate* best
) noexcept nogil:
    """Find the best condition on an attribute.

    Updates `best` if a gain exceeds it; with linear systems, `finish_search` may do so later.
    """
    cdef Values values = _select(node, column, scratch)
    cdef double* total = scratch.total.data()
    cdef double* sums = scratch.sums.data()
    # If all known values are 0, only "= 0" can split the rows: zeros from missing values.
    if values.n == 0 and not values.nominal:
        return
    if node.quality == ONE_LABEL:
        search_one_label(node, &values, total, best)
    elif node.quality == BEST_LABEL:
        search_all_labels(node, BEST_LABEL, &values, total, sums, best)
    elif node.quality == SUM_OF_LABELS:
        search_all_labels(node, SUM_OF_LABELS, &values, total, sums, best)
    else:
        search_systems(node, &values, total, sums, &scratch.systems, best)


cdef inline void begin_search(Scratch* scratch, double gain) noexcept nogil:
    """Prepare for a node; only gains above `gain` count."""
    begin_systems(&scratch.systems, gain)


cdef inline void finish_search(const Node* node, Scratch* scratch) noexcept nogil:
    """Solve the pending linear systems of a thread's searches."""
    if node.quality == LINEAR_SYSTEM:
        finish_systems(node, &scratch.systems)
