"""What a node of a random decision tree is.

Nodes lie in arrays, one entry each: ``kind`` is one of the kinds below, ``index`` says what is
tested (or which leaf it is), and the children lie side by side from ``child`` on. A child's
``value`` is what leads to it. ``Forest`` in ``forest.py`` documents every array.
"""

cdef enum:
    LEAF = 0
    NUMERIC = 1      # larger than a threshold?
    DISCRETE = 2     # a branch for each value
    LABEL = 3        # a label's value
    DISJUNCTION = 4  # is any of several features not 0?

cdef enum:
    NO_BRANCH = -1   # the value is missing, or no training row of the node has it
