"""The kinds of node of a label tree; Python has them as ``_growing.KINDS``."""

cdef enum:
    LEAF = 0
    VERTICAL = 1
    NUMERIC = 2
    NOMINAL = 3
