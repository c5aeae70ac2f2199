"""Kinds of nodes of a random decision tree.

Nodes are stored in arrays, which ``Forest`` in ``forest.py`` documents.
"""

cdef enum:
    LEAF = 0
    NUMERIC = 1      # two branches: at most a threshold, or above it
    DISCRETE = 2     # a branch for each value
    LABEL = 3        # a branch for each value of a label
    DISJUNCTION = 4  # two branches: all of several features are 0, or any is not

cdef enum:
    NO_BRANCH = -1   # the value is missing, or did not occur in the node in training
