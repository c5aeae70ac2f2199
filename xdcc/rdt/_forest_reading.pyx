"""Kernel that reads a forest: posteriors, and chains over them; threads over instances.

``_instance.pxd`` finds the leaves that an instance reaches, ``_posterior.pxd`` what follows from
them, and ``_chain.pxd`` decides labels one after the other. Every thread has an `Instance`, memory
that is used again and again; an instance is read by one thread, so the results do not depend on
their number.
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int8_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.matrix cimport HeldMatrix, Matrix, load_row, unload_row
from xdcc.rdt._chain cimport Chain, Decisions, run_chain
from xdcc.rdt._forest_view cimport ForestView, view_forest
from xdcc.rdt._instance cimport Instance
from xdcc.rdt._posterior cimport read_instance


def posteriors(forest, X, known, labelsets, sigma, weighting, n_threads):
    """Weighted mean posteriors and R of every instance; see ``_forest_reading.pyi``."""
    cdef ForestView view = view_forest(forest, labelsets, sigma, weighting)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t i, target, n_rows = held.matrix.n_rows, n_targets = view.n_targets
    cdef int threads = n_threads
    # One row for all if nothing is known: NULL would be a walk that a chain goes on from.
    cdef const int8_t[:, ::1] known_view = (
        np.full((1, forest.n_labels), -1, np.int8) if known is None else known
    )
    cdef int64_t known_step = known is not None
    proba = np.empty((n_rows, n_targets))
    number = np.empty(n_rows)
    cdef double[:, ::1] proba_view = proba
    cdef double[::1] number_view = number
    cdef vector[Instance] memory = vector[Instance](threads)
    cdef Instance* instances = memory.data()
    cdef Instance* instance
    cdef const ForestView* viewed = &view
    cdef const Matrix* rows = &held.matrix
    with nogil, parallel(num_threads=threads):
        for i in prange(n_rows, schedule="dynamic", chunksize=8):
            instance = instances + threadid()
            read_instance(
                viewed, instance, load_row(rows, &instance.x, i), &known_view[i * known_step, 0]
            )
            for target in range(n_targets):
                proba_view[i, target] = instance.mean_proba[target]
            number_view[i] = instance.mean_n_positive
            unload_row(rows, &instance.x, i)
    return proba, number


def chain(forest, X, rule, sigma, weighting, n_threads):
    """Decide the labels of every instance one after the other; see ``_forest_reading.pyi``."""
    cdef ForestView view = view_forest(forest, False, sigma, weighting)
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef int64_t i, n_rows = held.matrix.n_rows
    cdef int threads = n_threads
    cdef Chain how
    cdef const int64_t[::1] order
    how.order = NULL
    if rule.order is not None:
        order = rule.order
        how.order = &order[0]
    how.by_number = rule.threshold == "label"
    how.positive_only = rule.candidates == "positive"
    how.early_stop = rule.early_stop
    shape = n_rows, view.n_targets
    decided = np.empty(shape, np.int8)
    proba = np.empty(shape)
    labels = np.full(shape, -1, np.int64)
    numbers = np.full(shape, np.nan)
    cdef int8_t[:, ::1] decided_view = decided
    cdef double[:, ::1] proba_view = proba
    cdef int64_t[:, ::1] labels_view = labels
    cdef double[:, ::1] numbers_view = numbers
    cdef Decisions decisions
    decisions.value = &decided_view[0, 0]
    decisions.proba = &proba_view[0, 0]
    decisions.label = &labels_view[0, 0]
    decisions.number = &numbers_view[0, 0]
    cdef vector[Instance] memory = vector[Instance](threads)
    cdef Instance* instances = memory.data()
    cdef Instance* instance
    cdef const ForestView* viewed = &view
    cdef const Matrix* rows = &held.matrix
    cdef const Chain* chain_view = &how
    with nogil, parallel(num_threads=threads):
        for i in prange(n_rows, schedule="dynamic", chunksize=8):
            instance = instances + threadid()
            read_instance(viewed, instance, load_row(rows, &instance.x, i), NULL)
            run_chain(viewed, instance, chain_view, &decisions, i)
            unload_row(rows, &instance.x, i)
    return decided, proba, labels, numbers
