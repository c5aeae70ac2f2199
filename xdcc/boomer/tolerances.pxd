"""How far results may be off by rounding, relatively: a search must not miss a candidate by it."""

cdef extern from *:
    """
    #define XDCC_SLACK (1 + 1e-9)
    #define XDCC_ROUNDING 1e-11
    #define XDCC_CLOSE (1 + 1e-5)
    """
    # Bounds are taken this much larger.
    const double SLACK "XDCC_SLACK"
    # What is left of a total may be wrong by this share of the total.
    const double ROUNDING "XDCC_ROUNDING"
    # Two ways to solve a system differ by less, even if it is near singular.
    const double CLOSE "XDCC_CLOSE"
