"""Linear systems over labels: their gains, the heads of rules, and label bins.

The gain of a system is g' A^-1 g. `eliminate` computes eight gains at a time, one matrix per lane;
`factorise` and `solve_factorised` use one matrix for eight vectors. The order of additions is
fixed, so the gain of a system does not depend on the others.

A head minimises the approximated loss of the covered rows: equation 16 of the paper for complete
heads, equation 17 if the labels are independent.
"""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector
from scipy.linalg.cython_lapack cimport dppsv, dspsv

from xdcc.comparators.boomer.derivatives cimport Hessian
from xdcc.comparators.boomer.lanes cimport LANES, Eight, invert_positive
from xdcc.kernels.multiversion cimport vectorised


cdef struct System:
    # (H + l2 I) scores = -gradient, where H is the Hessian of some rows or of the rest.
    int64_t n_labels
    int64_t n_padded
    Hessian hessian
    Hessian total           # if `of_rest`, H is total - hessian
    bint of_rest
    const double* gradient  # [n_labels]
    double l2


cdef inline vectorised eliminate(
    Eight* matrix, Eight* gradient, int64_t n, double* gain
) noexcept nogil:
    """Forward elimination: with A = L D L' and z = L^-1 g, the gain is the sum of z_j^2 / d_j.

    `matrix` [n (n + 1) / 2] holds the lower triangles row by row, `gradient` [n] holds g; both are
    overwritten. `gain` is [LANES].
    """
    cdef int64_t column, row, k, at, lane
    cdef Eight* values
    cdef Eight sum = Eight(), inverse, reduced, factor
    for column in range(n):
        inverse = matrix[column * (column + 1) // 2 + column]
        # Positive except for rounding; directions without curvature are skipped.
        invert_positive(inverse)
        reduced = gradient[column]
        sum += reduced * reduced * inverse
        for row in range(column + 1, n):
            values = matrix + row * (row + 1) // 2
            factor = values[column] * inverse
            gradient[row] -= factor * reduced
            at = (column + 1) * (column + 2) // 2 + column
            for k in range(column + 1, row + 1):
                values[k] -= factor * matrix[at]
                at += k + 1
    for lane in range(LANES):
        gain[lane] = sum[lane]


cdef inline bint factorise(
    double* matrix, int64_t n_padded, int64_t n, double* column
) noexcept nogil:
    """Factorise a matrix into L D L'; return false if it is not positive definite.

    The lower triangle of `matrix` [n_padded, n_padded] is replaced by L, its diagonal by 1 / D.
    `column` [n_padded] is working memory.
    """
    cdef int64_t pivot, i, k
    cdef double inverse
    cdef double* row
    for pivot in range(n):
        if not matrix[pivot * n_padded + pivot] > 0:
            return False
        inverse = 1 / matrix[pivot * n_padded + pivot]
        matrix[pivot * n_padded + pivot] = inverse
        for i in range(pivot + 1, n):
            row = matrix + i * n_padded
            column[i] = row[pivot]
            row[pivot] *= inverse
            for k in range(pivot + 1, i + 1):
                row[k] -= row[pivot] * column[k]
    return True


cdef inline void solve_factorised(
    const double* factor, int64_t n_padded, int64_t n, Eight* gradient, Eight* gain
) noexcept nogil:
    """Compute the gains of eight vectors `gradient` [n], which are overwritten."""
    cdef int64_t i, k
    cdef const double* row
    cdef Eight sum = Eight(), reduced
    for i in range(n):
        row = factor + i * n_padded
        reduced = gradient[i]
        for k in range(i):
            reduced -= gradient[k] * row[k]
        gradient[i] = reduced
        sum += reduced * reduced * row[i]
    gain[0] = sum


# ------------------------------------------------------------------------------------------ heads


cdef cppclass HeadMemory:
    vector[double] packed   # [n_labels (n_labels + 1) / 2]
    vector[int] pivots      # [n_labels]


cdef inline double label_score(double gradient, double second, double l2) noexcept nogil:
    """Return the best score of a label that does not depend on the others."""
    return -gradient / (second + l2)


cdef inline void _pack(const System* system, double* right, HeadMemory* memory) noexcept nogil:
    """Pack a system for LAPACK: the upper triangle by columns, that is, the lower one by rows."""
    cdef int64_t label, other, at = 0
    cdef const double* row
    cdef double* packed
    memory.packed.resize(system.n_labels * (system.n_labels + 1) // 2)
    packed = memory.packed.data()
    for label in range(system.n_labels):
        row = system.hessian.products + label * system.n_padded
        for other in range(label + 1):
            packed[at] = row[other]
            at += 1
        packed[at - 1] += system.hessian.spread[label]
        packed[at - 1] += system.l2
        right[label] = -system.gradient[label]


cdef inline void solve_head(
    const System* system, double* head, HeadMemory* memory
) noexcept nogil:
    """Solve a system without `of_rest`; `head` is [n_labels]."""
    cdef int n_labels = <int>system.n_labels, one = 1, info = 0, label
    cdef char uplo = b"U"
    _pack(system, head, memory)
    dppsv(&uplo, &n_labels, &one, memory.packed.data(), head, &n_labels, &info)
    if info == 0:
        return
    # Indefinite because of rounding: use a solver for symmetric matrices.
    _pack(system, head, memory)
    memory.pivots.resize(n_labels)
    dspsv(
        &uplo, &n_labels, &one, memory.packed.data(), memory.pivots.data(), head, &n_labels, &info
    )
    if info != 0:
        # Singular, which needs an overflow as l2 > 0: the rule gets no effect, never NaN.
        for label in range(n_labels):
            head[label] = 0


# ------------------------------------------------------------------------------------- label bins

# Labels with similar criteria share a bin and a score, so the system of equation 16 has one unknown
# per bin (Rapp, Loza Mencía, Fürnkranz, Hüllermeier, Gradient-based label binning in multi-label
# classification, 2021).


cdef cppclass BinMemory:
    vector[double] criterion        # [n_labels]
    vector[int32_t] bin             # [n_labels]
    vector[double] row_sums         # [n_bins, n_padded] sums of the rows of the matrix by bin
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
    """Assign labels to bins by their criteria, separately for each sign; return the number of bins.

    `criterion` [n_labels] is the best score of each label if the other scores are 0. `share` is the
    number of bins per label of the same sign, rounded up. `bin` [n_labels] receives the bin of each
    label, -1 if its criterion is 0.
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
    """Sum the system by bins."""
    cdef int64_t n_labels = system.n_labels, n_padded = system.n_padded, label, other, number
    cdef const int32_t* bin = memory.bin.data()
    cdef const double* row
    cdef const double* total_row
    cdef double* sums
    cdef double* matrix
    cdef double* right
    memory.matrix.assign(n_bins * n_bins, 0.0)
    memory.right.assign(n_bins, 0.0)
    # Sum the rows of the strict lower triangle by bin, then the columns of these sums.
    memory.row_sums.assign(n_bins * n_padded, 0.0)
    matrix = memory.matrix.data()
    right = memory.right.data()
    for label in range(n_labels):
        number = bin[label]
        if number < 0:
            continue
        right[number] -= system.gradient[label]
        matrix[number * n_bins + number] += system.l2 + _diagonal(system, label)
        sums = memory.row_sums.data() + number * n_padded
        row = system.hessian.products + label * n_padded
        if system.of_rest:
            total_row = system.total.products + label * n_padded
            for other in range(label):
                sums[other] += total_row[other] - row[other]
        else:
            for other in range(label):
                sums[other] += row[other]
    for number in range(n_bins):
        sums = memory.row_sums.data() + number * n_padded
        for label in range(n_labels):
            other = bin[label]
            if other >= 0:
                matrix[max(number, other) * n_bins + min(number, other)] += (
                    (2 if number == other else 1) * sums[label]
                )


cdef inline vectorised solve_bins(
    const System* system, double share, double* head, double* gain, BinMemory* memory
) noexcept nogil:
    """Solve a system with label bins; set its gain and, unless NULL, the `head` [n_labels]."""
    cdef int64_t n_labels = system.n_labels, n_bins, label, column, row, k
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
        for row in range(column + 1, n_bins):
            factor = matrix[row * n_bins + column] * inverse[column]
            right[row] -= factor * right[column]
            for k in range(column + 1, row + 1):
                matrix[row * n_bins + k] -= factor * matrix[k * n_bins + column]
    gain[0] = sum
    if head == NULL:
        return
    for column in range(n_bins - 1, -1, -1):
        right[column] *= inverse[column]
        for row in range(column + 1, n_bins):
            right[column] -= matrix[row * n_bins + column] * inverse[column] * right[row]
    bin = memory.bin.data()
    for label in range(n_labels):
        head[label] = 0 if bin[label] < 0 else right[bin[label]]
