"""Complete heads whose labels share scores, so that their linear system is small.

Labels with similar criteria are put into bins, and the system of equation 16 of the paper has one
unknown for each bin (Rapp, Loza Mencía, Fürnkranz, Hüllermeier, Gradient-based label binning in
multi-label classification, 2021).
"""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.boomer.lanes cimport vectorised
from xdcc.boomer.linear_systems cimport System


cdef cppclass BinMemory:
    vector[double] criterion        # [n_labels]
    vector[int32_t] bin             # [n_labels]
    vector[double] lines            # [n_bins, n_padded] sums of the matrix' lines
    vector[double] matrix           # [n_bins, n_bins] lower triangle
    vector[double] right            # [n_bins]
    vector[double] inverse          # [n_bins] of the pivots


cdef inline double _diagonal(const System* system, int64_t label) noexcept nogil:
    cdef int64_t at = label * system.n_padded + label
    cdef double inside = system.hessian.products[at] + system.hessian.spread[label]
    if not system.of_rest:
        return inside
    return system.total.products[at] + system.total.spread[label] - inside


cdef inline int64_t assign_bins(
    const double* criterion, int64_t n_labels, double share, int32_t* bin
) noexcept nogil:
    """Put labels with similar criteria into bins, those that are raised and those that fall.

    `criterion` [n_labels] is the best score of each label if the others were 0, `share` the number
    of bins of either sign per label of that sign, rounded up. `bin` [n_labels] gets the number of
    each label's bin, -1 if its criterion is 0. Returns the number of bins.
    """
    cdef int64_t label, n_of_sign, n_bins, position, first = 0
    cdef int sign
    cdef double size, smallest, largest
    for label in range(n_labels):
        bin[label] = -1
    for sign in range(1, -2, -2):
        n_of_sign = 0
        smallest = 0
        largest = 0
        for label in range(n_labels):
            size = sign * criterion[label]
            if not size > 0:
                continue
            smallest = size if n_of_sign == 0 else min(smallest, size)
            largest = size if n_of_sign == 0 else max(largest, size)
            n_of_sign += 1
        if n_of_sign == 0:
            continue
        n_bins = <int64_t>ceil(share * n_of_sign)
        for label in range(n_labels):
            size = sign * criterion[label]
            if not size > 0:
                continue
            position = 0
            if largest > smallest:
                position = <int64_t>((size - smallest) / (largest - smallest) * n_bins)
            bin[label] = <int32_t>(first + min(position, n_bins - 1))
        first += n_bins
    return first


cdef inline void _set_up(
    const System* system, int64_t n_bins, BinMemory* memory
) noexcept nogil:
    """Sum up the system by bins."""
    cdef int64_t n_labels = system.n_labels, n_padded = system.n_padded, label, other, number
    cdef const int32_t* bin = memory.bin.data()
    cdef const double* line
    cdef const double* total_line
    cdef double* sums
    cdef double* matrix
    cdef double* right
    memory.matrix.assign(n_bins * n_bins, 0.0)
    memory.right.assign(n_bins, 0.0)
    # Lines of the triangle below the diagonal are added up by bin, then the columns of the sums.
    memory.lines.assign(n_bins * n_padded, 0.0)
    matrix = memory.matrix.data()
    right = memory.right.data()
    for label in range(n_labels):
        number = bin[label]
        if number < 0:
            continue
        right[number] -= system.gradient[label]
        matrix[number * n_bins + number] += system.l2 + _diagonal(system, label)
        sums = memory.lines.data() + number * n_padded
        line = system.hessian.products + label * n_padded
        if system.of_rest:
            total_line = system.total.products + label * n_padded
            for other in range(label):
                sums[other] += total_line[other] - line[other]
        else:
            for other in range(label):
                sums[other] += line[other]
    for number in range(n_bins):
        sums = memory.lines.data() + number * n_padded
        for label in range(n_labels):
            other = bin[label]
            if other >= 0:
                matrix[max(number, other) * n_bins + min(number, other)] += (
                    (2 if number == other else 1) * sums[label]
                )


cdef inline vectorised solve_bins(
    const System* system, double share, double* head, double* gain, BinMemory* memory
) noexcept nogil:
    """Solve a system for bins of labels.

    `head` [n_labels] gets the scores unless it is NULL, `gain` g' (H + l2 I)^-1 g for bins.
    """
    cdef int64_t n_labels = system.n_labels, n_bins, label, column, line, k
    cdef double pivot, factor, sum = 0
    cdef double* criterion
    cdef const int32_t* bin
    cdef double* matrix
    cdef double* right
    cdef double* inverse
    memory.criterion.resize(n_labels)
    memory.bin.resize(n_labels)
    criterion = memory.criterion.data()
    for label in range(n_labels):
        criterion[label] = -system.gradient[label] / (_diagonal(system, label) + system.l2)
    n_bins = assign_bins(criterion, n_labels, share, memory.bin.data())
    _set_up(system, n_bins, memory)
    memory.inverse.resize(n_bins)
    matrix = memory.matrix.data()
    right = memory.right.data()
    inverse = memory.inverse.data()
    for column in range(n_bins):
        pivot = matrix[column * n_bins + column]
        inverse[column] = 1 / pivot if pivot > 0 else 0
        sum += right[column] * right[column] * inverse[column]
        for line in range(column + 1, n_bins):
            factor = matrix[line * n_bins + column] * inverse[column]
            right[line] -= factor * right[column]
            for k in range(column + 1, line + 1):
                matrix[line * n_bins + k] -= factor * matrix[k * n_bins + column]
    gain[0] = sum
    if head == NULL:
        return
    for column in range(n_bins - 1, -1, -1):
        right[column] *= inverse[column]
        for line in range(column + 1, n_bins):
            right[column] -= matrix[line * n_bins + column] * inverse[column] * right[line]
    bin = memory.bin.data()
    for label in range(n_labels):
        head[label] = 0 if bin[label] < 0 else right[bin[label]]
