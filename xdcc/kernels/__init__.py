"""Code shared by the Cython kernels, which ``cimport`` the `.pxd` files.

- ``random``: the random number generator.
- ``matrix``: access to a dense or sparse X.
- ``rows``: parallel loops over the rows of X.
- ``categories``: codes of discrete values.
- ``threads``: parallel loops and CPU quotas.
- ``arrays``: conversion between NumPy arrays, pointers and C++ vectors; binary search.
"""
