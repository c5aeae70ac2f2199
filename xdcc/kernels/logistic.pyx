"""``expit``: the logistic function; see ``logistic.pyi``."""

import numpy as np

from libc.stdint cimport int64_t

cdef extern from "<cmath>" namespace "std" nogil:
    double exp(double)


def expit(margins):
    cdef const double[::1] given
    cdef double[::1] proba
    cdef int64_t i
    margins = np.asarray(margins, np.float64)
    given = np.ascontiguousarray(margins).ravel()
    found = np.empty(margins.shape)
    proba = found.reshape(-1)
    with nogil:
        for i in range(given.shape[0]):
            proba[i] = 1 / (1 + exp(-given[i]))
    return found
