"""A node of an extra tree, and the value that stands for a missing one.

Nodes are stored in arrays, one entry each. ``kind`` is one of the kinds below. The children of a
test are ``child`` and the node after it; ``missing`` says to which of them a missing value goes.
``ExtraTrees`` in ``forest.py`` documents every array.
"""

cdef enum:
    LEAF = 0
    NUMERIC = 1      # larger than a threshold?
    CATEGORIES = 2   # in a set of categories?

cdef enum:
    MISSING = 255    # the bin of a missing value, and of a new category
    SET_WORDS = 4    # 64-bit words of a set of bins
