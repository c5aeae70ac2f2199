"""A chain over the labels of one instance: decide one, learn it, look at the posteriors again.

Every (leaf, value) pair of ``_instance.pxd`` is read at most once in the whole chain, so a label
that is decided late costs no more than one that is decided early.
"""

from libc.math cimport fabs, floor
from libc.stdint cimport int8_t, int64_t

from xdcc.rdt._forest_view cimport ForestView
from xdcc.rdt._instance cimport Instance
from xdcc.rdt._posterior cimport learn_label


cdef struct Chain:
    const int64_t* order           # [n_labels]; NULL: the next label depends on the instance
    bint by_number                 # are about R labels positive, or those with 0.5 and more?
    bint positive_only             # are only positive labels decided?
    bint early_stop                # does R positive labels end the chain?


cdef struct Decisions:
    int8_t* value                  # [n_rows, n_labels]
    double* proba                  # [n_rows, n_labels]: when it was decided, or the chain ended
    int64_t* label                 # [n_rows, n_labels]: by iteration; -1 where the chain has ended
    double* number                 # [n_rows, n_labels]: R by iteration; NaN where it has ended


cdef inline int64_t next_label(
    const ForestView* forest, const Instance* instance, const Chain* chain, const int8_t* decided,
    int64_t iteration,
) noexcept nogil:
    """The label in the order, or the most certain (positive) one that is open (equation 5)."""
    cdef int64_t label, best_label = -1
    cdef double proba, certainty, best_certainty = -1
    if chain.order != NULL:
        return chain.order[iteration]
    for label in range(forest.n_targets):
        if decided[label] < 0:
            proba = instance.mean_proba[label]
            certainty = proba if chain.positive_only else fabs(0.5 - proba)
            if certainty > best_certainty:
                best_certainty = certainty
                best_label = label
    return best_label


cdef inline void run_chain(
    const ForestView* forest, Instance* instance, const Chain* chain, const Decisions* decisions,
    int64_t row,
) noexcept nogil:
    """Decide the labels of the row that was read into `instance` (equation 6)."""
    cdef int64_t n_labels = forest.n_targets, n_positive = 0, n_negative = 0
    cdef int64_t iteration, label, first = row * n_labels
    cdef int8_t* value = decisions.value + first
    cdef double* proba = decisions.proba + first
    cdef double n_expected
    cdef bint is_positive, rest = False
    for label in range(n_labels):
        value[label] = -1
    for iteration in range(n_labels):
        n_expected = floor(instance.mean_n_positive + 0.5)
        if chain.early_stop and (n_positive >= n_expected or n_labels - n_negative <= n_expected):
            rest = n_positive < n_expected
            break
        label = next_label(forest, instance, chain, value, iteration)
        is_positive = instance.mean_proba[label] >= 0.5
        if chain.by_number:
            if chain.positive_only:
                is_positive = n_positive < n_expected
            else:
                is_positive = (
                    (is_positive and n_positive < n_expected)
                    or n_labels - n_negative <= n_expected
                )
        if chain.positive_only and not is_positive:
            break
        value[label] = is_positive
        proba[label] = instance.mean_proba[label]
        decisions.label[first + iteration] = label
        decisions.number[first + iteration] = instance.mean_n_positive
        if is_positive:
            n_positive += 1
        else:
            n_negative += 1
        learn_label(forest, instance, label, is_positive)
    for label in range(n_labels):
        if value[label] < 0:
            value[label] = rest
            proba[label] = instance.mean_proba[label]
