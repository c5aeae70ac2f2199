"""Where a drawn test sends the rows of a node.

Every row gets a branch, or none if its value is missing. A numeric test's threshold is the value
of a row drawn at random, so thresholds follow the data. Rows without a branch then go where a row
drawn at random goes.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport category_number, n_categories
from xdcc.kernels.random cimport draw_below
from xdcc.rdt._drawn_test cimport DrawnTest
from xdcc.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, NO_BRANCH
from xdcc.rdt._training cimport Training, feature_value


cdef cppclass Branching:
    """Branches of a node's rows."""
    vector[int32_t] branch         # [n_rows of the data], the first n_rows of the node are used
    vector[float] value            # of the rows, for a numeric test
    vector[int64_t] n_in_branch    # [n_branches]
    int64_t n_known                # rows whose value is not missing
    bint is_constant               # a numeric test: no two rows have different values


cdef inline void branch_by_label(
    Branching* branching, const uint8_t* label, const int32_t* rows, int64_t n_rows
) noexcept nogil:
    """Send rows by a label's value."""
    cdef int64_t i
    for i in range(n_rows):
        branching.branch[i] = label[rows[i]]
    branching.n_known = n_rows


cdef inline void branch_by_disjunction(
    Branching* branching, const DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Send rows where any of several features is not 0 to the second branch."""
    cdef int64_t i
    cdef int32_t branch
    cdef size_t k
    cdef float value
    for i in range(n_rows):
        branch = 0
        for k in range(test.joined.size()):
            value = feature_value(training, test.joined[k], rows[i])
            if isnan(value):
                branch = NO_BRANCH
            elif value != 0:
                branch = 1
                break
        branching.branch[i] = branch
        branching.n_known += branch != NO_BRANCH


cdef inline void branch_by_category(
    Branching* branching, const Training* training, int64_t feature, const int32_t* rows,
    int64_t n_rows,
) noexcept nogil:
    """Send rows by a discrete value."""
    cdef int64_t i
    cdef float value
    for i in range(n_rows):
        value = feature_value(training, feature, rows[i])
        if isnan(value):
            branching.branch[i] = NO_BRANCH
        else:
            branching.branch[i] = category_number(&training.categories, feature, value)
            branching.n_known += 1


cdef inline void branch_by_threshold(
    Branching* branching, DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows, uint64_t* random,
) noexcept nogil:
    """Draw a threshold, and send larger values to the second branch."""
    cdef int64_t i, n_known = 0, n_before
    cdef float value, least = 0, most = 0
    for i in range(n_rows):
        value = feature_value(training, test.number, rows[i])
        branching.value[i] = value
        if isnan(value):
            branching.branch[i] = NO_BRANCH
            continue
        branching.branch[i] = 0
        if n_known == 0 or value < least:
            least = value
        if n_known == 0 or value > most:
            most = value
        n_known += 1
    branching.n_known = n_known
    branching.is_constant = n_known == 0 or least == most
    if branching.is_constant:
        return
    n_before = draw_below(random, n_known)
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            if n_before == 0:
                test.threshold = branching.value[i]
                break
            n_before -= 1
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            branching.branch[i] = branching.value[i] > test.threshold


cdef inline void send_missing(
    Branching* branching, int64_t n_rows, uint64_t* random
) noexcept nogil:
    """Send rows without a branch where a randomly drawn row with a branch goes."""
    cdef int64_t i, n_before
    cdef int32_t branch
    cdef vector[int64_t] n_known_in = branching.n_in_branch
    for i in range(n_rows):
        if branching.branch[i] == NO_BRANCH:
            n_before = draw_below(random, branching.n_known)
            branch = 0
            while n_before >= n_known_in[branch]:
                n_before -= n_known_in[branch]
                branch += 1
            branching.branch[i] = branch
            branching.n_in_branch[branch] += 1


cdef inline bint divide(
    Branching* branching, DrawnTest* test, const Training* training, const int32_t* rows,
    int64_t n_rows, uint64_t* random,
) noexcept nogil:
    """Send a node's rows to branches; true if at least two of them get rows."""
    cdef int64_t i, n_branches = 2, n_filled = 0
    branching.n_known = 0
    branching.is_constant = False
    if test.kind == LABEL:
        branch_by_label(
            branching, training.Y + (test.number - training.X.n_features) * training.X.n_rows,
            rows, n_rows,
        )
    elif test.kind == DISJUNCTION:
        branch_by_disjunction(branching, test, training, rows, n_rows)
    elif test.kind == DISCRETE:
        branch_by_category(branching, training, test.number, rows, n_rows)
        n_branches = n_categories(&training.categories, test.number)
    else:
        branch_by_threshold(branching, test, training, rows, n_rows, random)
        if branching.is_constant:
            return False
    branching.n_in_branch.assign(n_branches, 0)
    for i in range(n_rows):
        if branching.branch[i] != NO_BRANCH:
            branching.n_in_branch[branching.branch[i]] += 1
    for i in range(n_branches):
        n_filled += branching.n_in_branch[i] > 0
    if n_filled < 2:
        return False
    if branching.n_known < n_rows:
        send_missing(branching, n_rows, random)
    return True
