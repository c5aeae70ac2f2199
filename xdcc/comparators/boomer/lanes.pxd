"""SIMD vectors of four and eight doubles (``lanes.h``), for loops with a fixed order of additions.

Cast a pointer to doubles to a pointer to vectors: ``(<Four*>(sums + k))[0] += ...``. Sums per lane
are equal on every processor, whatever instructions compute them.
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

cdef enum:
    LANES = 8  # of `Eight`
