"""Kernel of the decision rules on labelsets (``labelset_rules.h``)."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport elements

cdef extern from "labelset_rules.h" namespace "xdcc" nogil:
    cdef cppclass F1Gains:
        F1Gains(vector[int64_t] sizes, double b) except +

    void MaximiseF1(
        const double* joint, int64_t n_rows, int64_t n_labels, const double* empty, F1Gains* gains,
        int64_t* labels, double* score
    ) except +

    cdef cppclass LabelsetTable:
        int64_t n_sets
        int64_t n_labels
        const int64_t* start
        const int32_t* label
        const double* log_count
        void Count() except +

    cdef struct LabelsetRule:
        cbool maximises_f1
        double temperature
        double prior
        double b

    void DecideRows(
        const LabelsetTable& known, vector[LabelsetRule]* rules, const double* margins,
        int64_t n_rows, int8_t* labels
    ) except +


def maximise_f1(
    const double[:, :, ::1] joint, const int64_t[::1] sizes, const double[::1] empty, double beta
):
    """Find the labelsets of the highest expected F-beta; see ``_labelset_rules.pyi``."""
    cdef vector[int64_t] all_sizes
    cdef int64_t i, n_rows = joint.shape[0], n_labels = joint.shape[1]
    cdef F1Gains* gains
    labels = np.zeros((n_rows, n_labels), dtype=np.int64)
    expected = np.array(empty)
    cdef int64_t[:, ::1] found = labels
    cdef double[::1] score = expected
    if n_rows == 0 or n_labels == 0 or sizes.shape[0] == 0:
        return labels, expected  # the empty labelset
    for i in range(sizes.shape[0]):
        all_sizes.push_back(sizes[i])
    gains = new F1Gains(all_sizes, beta * beta)
    try:
        MaximiseF1(
            &joint[0, 0, 0], n_rows, n_labels, &empty[0], gains, &found[0, 0], &score[0]
        )
    finally:
        del gains
    return labels, expected


cdef class LabelsetRules:
    """Known labelsets, and rules on them; see ``_labelset_rules.pyi``."""

    cdef LabelsetTable known
    cdef object arrays

    def __init__(self, start, label, log_count, int64_t n_labels):
        self.arrays = start, label, log_count
        self.known.n_sets = len(log_count)
        self.known.n_labels = n_labels
        self.known.start = elements[int64_t](start)
        self.known.label = elements[int32_t](label)
        self.known.log_count = elements[double](log_count)
        self.known.Count()

    def __reduce__(self):
        return type(self), (*self.arrays, self.known.n_labels)

    def decide(self, const double[:, ::1] margins, rules):
        cdef vector[LabelsetRule] all_rules
        cdef LabelsetRule rule
        cdef int8_t[:, :, ::1] labels
        found = np.empty((len(rules), margins.shape[0], margins.shape[1]), dtype=np.int8)
        if found.size == 0:
            return found
        labels = found
        for maximises_f1, temperature, prior, beta in rules:
            rule.maximises_f1, rule.temperature = maximises_f1, temperature
            rule.prior, rule.b = prior, beta * beta
            all_rules.push_back(rule)
        with nogil:
            DecideRows(self.known, &all_rules, &margins[0, 0], margins.shape[0], &labels[0, 0, 0])
        return found
