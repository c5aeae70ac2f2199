"""What the Cython kernels share; the `.pxd` files are ``cimport``ed.

``random`` is the generator of random numbers. ``matrix`` holds X while a kernel reads it,
and makes sparse rows dense one at a time; ``categories`` numbers discrete values. ``threads``
runs parallel loops and reads CPU quotas, ``arrays`` makes NumPy arrays of C++ vectors and searches
in sorted ones. ``reference`` is the reference implementation of the random numbers.
"""
