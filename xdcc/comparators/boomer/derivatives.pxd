"""Gradients and second derivatives of the losses (equation 12), per row and summed.

``losses.py`` has the losses and the same derivatives in NumPy. With the example-wise logistic loss,
the Hessian of a row is diag(p) - g g' with p = |g|. A sum of Hessians is stored as the sum of p and
the lower triangle of the sum of -g g'.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from xdcc.comparators.boomer.lanes cimport Four
from xdcc.kernels.multiversion cimport vectorised

cdef enum LossKind:
    LOGISTIC_LABEL_WISE
    LOGISTIC_EXAMPLE_WISE
    SQUARED_LABEL_WISE
    SQUARED_HINGE_LABEL_WISE


cdef inline void differentiate_example_wise(
    const uint8_t* y, const double* score, int64_t n_labels, bint bounded,
    double* gradient, double* second,
) noexcept nogil:
    """Compute the derivatives of the example-wise logistic loss (equation 7).

    With p the absolute gradients and p0 = 1 - sum p, the Hessian is diag(p) - g g'. `second` is its
    diagonal or, if `bounded`, p0 p, the diagonal of a lower bound. All arrays are [n_labels].
    """
    cdef int64_t label
    cdef double largest = 0, sum, none, exponent, p
    for label in range(n_labels):
        exponent = -score[label] if y[label] else score[label]
        gradient[label] = exponent
        if exponent > largest:
            largest = exponent
    none = exp(-largest)
    sum = none
    for label in range(n_labels):
        gradient[label] = exp(gradient[label] - largest)
        sum += gradient[label]
    for label in range(n_labels):
        p = gradient[label] / sum
        second[label] = p * (none / sum) if bounded else p * ((sum - gradient[label]) / sum)
        gradient[label] = -p if y[label] else p


cdef inline void differentiate_label_wise(
    LossKind loss, const uint8_t* y, const double* score, int64_t first, int64_t end,
    double* gradient, double* second,
) noexcept nogil:
    """Compute the derivatives of a label-wise loss for the labels `first` to `end` (excluded)."""
    cdef int64_t label
    cdef double odds, p, distance
    if loss == LOGISTIC_LABEL_WISE:
        for label in range(first, end):
            # The smaller of the two class probabilities, without overflow.
            odds = exp(-fabs(score[label]))
            p = odds / (1 + odds)
            second[label] = p * (1 - p)
            if (score[label] > 0) == y[label]:
                gradient[label] = -p if y[label] else p
            else:
                gradient[label] = p - 1 if y[label] else 1 - p
    elif loss == SQUARED_LABEL_WISE:
        for label in range(first, end):
            gradient[label] = 2 * (score[label] - (1 if y[label] else -1))
            second[label] = 2
    else:
        for label in range(first, end):
            distance = 1 - (score[label] if y[label] else -score[label])
            if distance > 0:
                gradient[label] = -2 * distance if y[label] else 2 * distance
                second[label] = 2
            else:
                gradient[label] = 0
                second[label] = 0


# --------------------------------------------------------------------------------- sums over rows


cdef struct Statistics:
    # Derivatives of the loss, and the weights of the rows.
    const double* values    # [n_rows, 2 n_padded] gradients of all labels, then second derivatives
    const double* weight    # [n_rows]
    int64_t n_labels
    int64_t n_padded        # n_labels rounded up to a multiple of 4 (zeros); or both are 1


cdef struct Hessian:
    # Sum of the Hessians of some rows: products + diag(spread).
    double* products        # [n_padded, n_padded] lower triangle of -sum w g g'
    double* spread          # [n_padded] sum of w p


cdef inline void add_row(
    const Statistics* statistics, int32_t row, int64_t width, double* sums
) noexcept nogil:
    """Add the first `width` (a multiple of 4) statistics of a row to `sums`."""
    cdef int64_t k
    cdef double weight = statistics.weight[row]
    cdef const double* values = statistics.values + 2 * statistics.n_padded * row
    for k in range(0, width, 4):
        (<Four*>(sums + k))[0] += (<const Four*>(values + k))[0] * weight


cdef inline void add_hessians(
    const Statistics* statistics, const int32_t* rows, int64_t n_rows, double sign,
    Hessian hessian,
) noexcept nogil:
    """Add the Hessians of some rows in order, or subtract them if `sign` is -1."""
    cdef int64_t at, label, k, n_blocked = n_rows // 4 * 4
    cdef int64_t n_labels = statistics.n_labels, n_padded = statistics.n_padded
    cdef const double* values = statistics.values
    cdef const double* weight = statistics.weight
    cdef double* products = hessian.products
    cdef double* spread = hessian.spread
    cdef const double* g0
    cdef const double* g1
    cdef const double* g2
    cdef const double* g3
    cdef double w0, w1, w2, w3, c0, c1, c2, c3
    cdef double* line
    cdef Four sums
    for at in range(0, n_blocked, 4):
        g0 = values + 2 * n_padded * rows[at]
        g1 = values + 2 * n_padded * rows[at + 1]
        g2 = values + 2 * n_padded * rows[at + 2]
        g3 = values + 2 * n_padded * rows[at + 3]
        w0 = sign * weight[rows[at]]
        w1 = sign * weight[rows[at + 1]]
        w2 = sign * weight[rows[at + 2]]
        w3 = sign * weight[rows[at + 3]]
        for label in range(n_labels):
            c0 = w0 * g0[label]
            c1 = w1 * g1[label]
            c2 = w2 * g2[label]
            c3 = w3 * g3[label]
            spread[label] = (
                spread[label] + sign * fabs(c0) + sign * fabs(c1) + sign * fabs(c2)
                + sign * fabs(c3)
            )
            line = products + label * n_padded
            for k in range(0, label + 1, 4):
                sums = (<Four*>(line + k))[0]
                sums -= (<const Four*>(g0 + k))[0] * c0
                sums -= (<const Four*>(g1 + k))[0] * c1
                sums -= (<const Four*>(g2 + k))[0] * c2
                sums -= (<const Four*>(g3 + k))[0] * c3
                (<Four*>(line + k))[0] = sums
    for at in range(n_blocked, n_rows):
        g0 = values + 2 * n_padded * rows[at]
        w0 = sign * weight[rows[at]]
        for label in range(n_labels):
            c0 = w0 * g0[label]
            spread[label] = spread[label] + sign * fabs(c0)
            line = products + label * n_padded
            for k in range(0, label + 1, 4):
                (<Four*>(line + k))[0] -= (<const Four*>(g0 + k))[0] * c0


cdef inline void clear_hessian(Hessian hessian, int64_t n_padded) noexcept nogil:
    """Set a sum to zero, including the entries above the diagonal."""
    memset(hessian.products, 0, n_padded * n_padded * sizeof(double))
    memset(hessian.spread, 0, n_padded * sizeof(double))


cdef inline vectorised sum_rows(
    const Statistics* statistics, const int32_t* rows, int64_t n_rows, double* total,
    const Hessian* hessian,
) noexcept nogil:
    """Sum the statistics of some rows into `total` [2 n_padded], and their Hessians unless NULL.

    Both sums are overwritten.
    """
    cdef int64_t at, k, width = 2 * statistics.n_padded
    cdef double weight
    cdef const double* values
    memset(total, 0, width * sizeof(double))
    for at in range(n_rows):
        weight = statistics.weight[rows[at]]
        values = statistics.values + width * rows[at]
        for k in range(width):
            total[k] += weight * values[k]
    if hessian == NULL:
        return
    clear_hessian(hessian[0], statistics.n_padded)
    add_hessians(statistics, rows, n_rows, 1, hessian[0])
