"""Gradients and second derivatives of the losses at a row's scores (equation 12 of the paper).

``losses.py`` has the losses themselves and these derivatives in NumPy.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int64_t, uint8_t

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
