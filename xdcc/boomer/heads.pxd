"""Heads of rules: the scores that minimise the approximated loss of the covered rows.

Equation 16 of the paper for heads of all labels, equation 17 where the labels do not depend on each
other.
"""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector
from scipy.linalg.cython_lapack cimport dppsv, dspsv

from xdcc.boomer.linear_systems cimport System


cdef cppclass HeadMemory:
    vector[double] packed   # [n_labels (n_labels + 1) / 2]
    vector[int] pivots      # [n_labels]


cdef inline double label_score(double gradient, double second, double l2) noexcept nogil:
    """Best score of a label that does not depend on others."""
    return -gradient / (second + l2)


cdef inline void _pack(const System* system, double* right, HeadMemory* memory) noexcept nogil:
    """Write a system as LAPACK takes it.

    Lines of the lower triangle are columns of the upper one, which is packed by columns.
    """
    cdef int64_t label, other, at = 0
    cdef const double* line
    cdef double* packed
    memory.packed.resize(system.n_labels * (system.n_labels + 1) // 2)
    packed = memory.packed.data()
    for label in range(system.n_labels):
        line = system.hessian.products + label * system.n_padded
        for other in range(label + 1):
            packed[at] = line[other]
            at += 1
        packed[at - 1] += system.hessian.spread[label]
        packed[at - 1] += system.l2
        right[label] = -system.gradient[label]


cdef inline void solve_head(
    const System* system, double* head, HeadMemory* memory
) noexcept nogil:
    """Solve a system, not that of the rest of the rows; `head` is [n_labels]."""
    cdef int n_labels = <int>system.n_labels, one = 1, info = 0, label
    cdef char uplo = b"U"
    _pack(system, head, memory)
    dppsv(&uplo, &n_labels, &one, memory.packed.data(), head, &n_labels, &info)
    if info == 0:
        return
    # Indefinite by rounding: a symmetric solver that does not need more.
    _pack(system, head, memory)
    memory.pivots.resize(n_labels)
    dspsv(
        &uplo, &n_labels, &one, memory.packed.data(), memory.pivots.data(), head, &n_labels, &info
    )
    if info != 0:
        # Singular all the same, which l2 > 0 rules out but for overflow: no effect, never NaN.
        for label in range(n_labels):
            head[label] = 0
