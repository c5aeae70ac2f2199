"""Gradients and second derivatives of the losses (equation 12): of rows, and their sums.

``losses.py`` has the losses themselves and these derivatives in NumPy. With the example-wise
logistic loss the Hessian of a row is diag(p) - g g' with p = |g|. It is never stored: a sum of
Hessians is kept as a sum of p and the lower triangle of the sum of -g g'.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from xdcc.boomer.lanes cimport Four, vectorised

cdef enum LossKind:
    LOGISTIC_LABEL_WISE
    LOGISTIC_EXAMPLE_WISE
    SQUARED_LABEL_WISE
    SQUARED_HINGE_LABEL_WISE


cdef inline void differentiate_example_wise(
    const uint8_t* y, const double* score, int64_t n_labels, bint bounded,
    double* gradient, double* second,
) noexcept nogil:
    """Derivatives of the example-wise logistic loss (equation 7), all arrays [n_labels].

    With p the absolute gradients and p0 = 1 - sum p, the Hessian is diag(p) - g g'. What is kept
    of it is its diagonal or, if `bounded`, the diagonal matrix p0 p, which is a lower bound.
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
    """Derivatives of a loss that is a sum over labels, of the labels `first` to `end`."""
    cdef int64_t label
    cdef double odds, p, distance
    if loss == LOGISTIC_LABEL_WISE:
        for label in range(first, end):
            # The smaller of the two probabilities, without overflow.
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
    # Derivatives of the loss, and how often each row counts.
    const double* values    # [n_rows, 2 n_padded] gradients of all labels, then second derivatives
    const double* weight    # [n_rows]
    int64_t n_labels
    int64_t n_padded        # n_labels rounded up to a multiple of 4 with zeros; or both are 1


cdef struct Hessian:
    # Sum of the Hessians of some rows: products + diag(spread).
    double* products        # [n_padded, n_padded] lower triangle of -sum w g g'
    double* spread          # [n_padded] sum of w p


cdef inline void add_row(
    const Statistics* statistics, int32_t row, int64_t width, double* sums
) noexcept nogil:
    """Add the first `width` statistics of a row, a multiple of 4, to `sums`."""
    cdef int64_t k
    cdef double weight = statistics.weight[row]
    cdef const double* values = statistics.values + 2 * statistics.n_padded * row
    for k in range(0, width, 4):
        (<Four*>(sums + k))[0] += (<const Four*>(values + k))[0] * weight


cdef inline void add_hessians(
    const Statistics* statistics, const int32_t* rows, int64_t n_rows, double sign,
    Hessian hessian,
) noexcept nogil:
    """Add the Hessians of some rows, or subtract them if `sign` is -1; row after row."""
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
    """Write zeros, above the diagonal too."""
    memset(hessian.products, 0, n_padded * n_padded * sizeof(double))
    memset(hessian.spread, 0, n_padded * sizeof(double))


cdef inline vectorised sum_rows(
    const Statistics* statistics, const int32_t* rows, int64_t n_rows, double* total,
    const Hessian* hessian,
) noexcept nogil:
    """Sum up the statistics of some rows, and their Hessians unless `hessian` is NULL.

    `total` is [2 n_padded]. What the sums held before is lost.
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
