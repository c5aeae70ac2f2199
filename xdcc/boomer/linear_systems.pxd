"""Linear systems, and their gains g' A^-1 g eight at a time: one per lane of a vector.

`eliminate` has a matrix in each lane, `factorise` and `solve_factorised` one matrix for eight
vectors. The order of additions is fixed, so a system's gain does not depend on the others.
"""

from libc.stdint cimport int64_t

from xdcc.boomer.lanes cimport LANES, Eight, invert_positive, vectorised
from xdcc.boomer.row_sums cimport Hessian


cdef struct System:
    # (H + l2 I) scores = -gradient, with H the Hessian of some rows or of the rest of them.
    int64_t n_labels
    int64_t n_padded
    Hessian hessian
    Hessian total           # if `of_rest`: H is this less `hessian`
    bint of_rest
    const double* gradient  # [n_labels]
    double l2


cdef inline vectorised eliminate(
    Eight* matrix, Eight* gradient, int64_t n, double* gain
) noexcept nogil:
    """Eliminate forward: with A = L D L' and z = L^-1 g the gain is the sum of z_j^2 / d_j.

    `matrix` [n (n + 1) / 2] are lower triangles, line after line, and `gradient` [n] is g; both
    are overwritten. `gain` is [LANES].
    """
    cdef int64_t column, line, k, at, lane
    cdef Eight* values
    cdef Eight sum = Eight(), inverse, reduced, factor
    for column in range(n):
        inverse = matrix[column * (column + 1) // 2 + column]
        # Positive but for rounding; a direction without curvature is left out.
        invert_positive(inverse)
        reduced = gradient[column]
        sum += reduced * reduced * inverse
        for line in range(column + 1, n):
            values = matrix + line * (line + 1) // 2
            factor = values[column] * inverse
            gradient[line] -= factor * reduced
            at = (column + 1) * (column + 2) // 2 + column
            for k in range(column + 1, line + 1):
                values[k] -= factor * matrix[at]
                at += k + 1
    for lane in range(LANES):
        gain[lane] = sum[lane]


cdef inline bint factorise(
    double* matrix, int64_t n_padded, int64_t n, double* column
) noexcept nogil:
    """Factorise a matrix into L D L'; false if it is not positive definite.

    `matrix` [n_padded, n_padded] is the lower triangle, then L and, on the diagonal, 1 / D.
    `column` [n_padded] is working memory.
    """
    cdef int64_t pivot, i, k
    cdef double inverse
    cdef double* line
    for pivot in range(n):
        if not matrix[pivot * n_padded + pivot] > 0:
            return False
        inverse = 1 / matrix[pivot * n_padded + pivot]
        matrix[pivot * n_padded + pivot] = inverse
        for i in range(pivot + 1, n):
            line = matrix + i * n_padded
            column[i] = line[pivot]
            line[pivot] *= inverse
            for k in range(pivot + 1, i + 1):
                line[k] -= line[pivot] * column[k]
    return True


cdef inline void solve_factorised(
    const double* factor, int64_t n_padded, int64_t n, Eight* gradient, Eight* gain
) noexcept nogil:
    """Gains of eight vectors `gradient` [n] with one factorised matrix; they are overwritten."""
    cdef int64_t i, k
    cdef const double* line
    cdef Eight sum = Eight(), reduced
    for i in range(n):
        line = factor + i * n_padded
        reduced = gradient[i]
        for k in range(i):
            reduced -= gradient[k] * line[k]
        gradient[i] = reduced
        sum += reduced * reduced * line[i]
    gain[0] = sum
