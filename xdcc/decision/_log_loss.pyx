"""Kernel of Platt scaling: the log-loss of scaled margins and its derivatives, in one pass."""

from libc.math cimport exp, fabs, fmax, log


def log_loss_sums(const double[::1] z, const double[::1] weight, double a, double b):
    """Add up the loss of a z + b without its label; see ``_log_loss.pyi``."""
    cdef double loss = 0, first_z = 0, first = 0, second_zz = 0, second_z = 0, second = 0
    cdef double margin, small, proba, weighted, curved
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            margin = a * z[i] + b
            small = exp(-fabs(margin))  # never overflows
            loss += weight[i] * (fmax(margin, 0) + log(1 + small))
            proba = (1 if margin > 0 else small) / (1 + small)
            weighted = weight[i] * proba
            first_z += weighted * z[i]
            first += weighted
            curved = weighted * (1 - proba)
            second_zz += curved * z[i] * z[i]
            second_z += curved * z[i]
            second += curved
    return loss, (first_z, first), (second_zz, second_z, second)
