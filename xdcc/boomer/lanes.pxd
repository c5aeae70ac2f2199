"""Vectors of four and eight numbers (``lanes.h``), for loops whose order of additions is fixed.

A pointer to numbers is cast to a pointer to vectors: ``(<Four*>(sums + k))[0] += ...``. What is
added lane by lane, in whatever instructions, gives the same results on every processor. A function
that returns `vectorised` is compiled, with all that it calls, for each instruction set.
"""

from libc.stdint cimport int64_t

cdef extern from "lanes.h" namespace "xdcc_boomer" nogil:
    cdef cppclass Four:
        Four()  # zeros
        Four operator+(const Four&)
        Four operator+(double)
        Four operator-(const Four&)
        Four operator*(const Four&)
        Four operator*(double)
        Four operator/(const Four&)
        double operator[](int64_t)  # by value: `max` of references would alias

    cdef cppclass Eight:
        Eight()  # zeros
        Eight operator+(const Eight&)
        Eight operator-(const Eight&)
        Eight operator*(const Eight&)
        Eight operator*(double)
        double operator[](int64_t)  # by value: `max` of references would alias

    void take_larger(Four& first, const Four& second)
    void invert_positive(Eight& numbers)

cdef extern from "lanes.h" nogil:
    # Cython has no attributes of functions, but a type's name in C may hold one.
    ctypedef void vectorised "XDCC_VECTORISED void"

cdef enum:
    LANES = 8  # of `Eight`
