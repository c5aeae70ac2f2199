"""Types for functions that are compiled for several instruction sets (``multiversion.h``).

Cython has no function attributes, but the C name of a type can contain one. A function that returns
such a type is compiled for each instruction set, together with the functions that it calls.
"""

cdef extern from "multiversion.h" nogil:
    ctypedef void vectorised "XDCC_MULTIVERSION void"
    ctypedef void vectorised_avx2 "XDCC_MULTIVERSION_AVX2 void"
