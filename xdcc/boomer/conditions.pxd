"""Conditions on an attribute: which values they cover, and what is compared with what."""

from libc.math cimport isnan
from libc.stdint cimport int8_t

cdef enum Relation:
    # Numbers of the relational operators ("<=", ">", "=", "!="); neighbours are opposites.
    AT_MOST = 0
    ABOVE = 1
    EQUAL = 2
    UNEQUAL = 3


cdef inline Relation opposite(Relation relation) noexcept nogil:
    """Relation that covers the other known values."""
    return <Relation>(<int>relation ^ 1)


cdef inline bint covers(int8_t relation, float threshold, float value) noexcept nogil:
    """Whether a condition covers a value; none covers a missing one."""
    if relation == AT_MOST:
        return value <= threshold
    if relation == ABOVE:
        return value > threshold
    if relation == EQUAL:
        return value == threshold
    return value != threshold and not isnan(value)
