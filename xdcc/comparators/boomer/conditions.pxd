"""Conditions on an attribute: what they cover, and the steps at which to try them.

A step is between two neighbouring values. A condition covers one of its two sides: the rows
inside the running sum, or the rest. Sums run from the outer values towards 0, so rows whose value
is 0 are never visited. A nominal attribute has a step for each value, with a new sum, and one for
0, whose sum covers all other values.
"""

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t

cdef enum Relation:
    # Codes of the relational operators "<=", ">", "=", "!="; codes 2 k and 2 k + 1 are opposites.
    AT_MOST = 0
    ABOVE = 1
    EQUAL = 2
    UNEQUAL = 3


cdef inline Relation opposite(Relation relation) noexcept nogil:
    """Return the relation that covers the other known values."""
    return <Relation>(<int>relation ^ 1)


cdef inline bint covers(int8_t relation, float threshold, float value) noexcept nogil:
    """Whether a condition covers a value; no condition covers a missing value."""
    if relation == AT_MOST:
        return value <= threshold
    if relation == ABOVE:
        return value > threshold
    if relation == EQUAL:
        return value == threshold
    return value != threshold and not isnan(value)


cdef struct Values:
    # The known values of an attribute in the rows that a rule covers so far.
    const int32_t* row      # [n]
    const float* value      # [n] ascending, not 0
    int64_t n
    int64_t n_negative
    int64_t n_zero          # rows whose value is 0
    const int32_t* missing  # [n_missing] rows with a missing value, covered so far or not
    int64_t n_missing
    bint nominal


cdef struct Step:
    # A run of steps has one running sum, over the rows after `begin` up to `number`.
    int64_t number          # index of the last value inside the sum
    int64_t previous        # `number` of the previous step; `begin` if the sum starts anew
    int64_t begin           # index before the first value of the run
    int64_t last            # `number` of the last step of the run
    int64_t direction       # 1 or -1, 0 before the first run
    float beyond            # value after the last step
    Relation relation       # covers the rows inside the sum


cdef inline Step before_first_step() noexcept nogil:
    """Return the position before the first step."""
    cdef Step step
    step.number = -1
    step.previous = -1
    step.begin = -1
    step.last = -1
    step.direction = 0
    step.beyond = 0
    step.relation = AT_MOST
    return step


cdef inline float _value_outside(const Values* values, const Step* step) noexcept nogil:
    """Return the first value outside the sum."""
    if step.number == step.last:
        return step.beyond
    return values.value[step.number + step.direction]


cdef inline bint next_step(const Values* values, Step* step) noexcept nogil:
    """Move to the next step; return false if there is none."""
    while True:
        step.previous = step.number
        while step.number != step.last:
            step.number += step.direction
            if values.value[step.number] != _value_outside(values, step):
                return True
        if values.nominal:
            return _next_value(values, step)
        if not _begin_run(values, step):
            return False


cdef inline bint _begin_run(const Values* values, Step* step) noexcept nogil:
    """Begin the run over the values below 0 (over all values without zeros), then above 0."""
    if step.direction == 0:
        step.direction = 1
        if values.n_zero > 0:
            step.last = values.n_negative - 1
        else:
            step.last = values.n - 2
            step.beyond = values.value[values.n - 1]
        return True
    if step.direction < 0 or values.n_zero == 0:
        return False
    step.begin = values.n
    step.number = values.n
    step.last = values.n_negative
    step.direction = -1
    step.relation = ABOVE
    return True


cdef inline bint _next_value(const Values* values, Step* step) noexcept nogil:
    """Move to the next value of a nominal attribute, which has its own run; 0 comes last."""
    if step.relation == UNEQUAL:
        return False
    step.direction = 1
    if step.number + 1 == values.n:
        step.begin = -1
        step.relation = UNEQUAL
    else:
        step.begin = step.number
        step.number += 1
        while (
            step.number + 1 < values.n
            and values.value[step.number + 1] == values.value[step.number]
        ):
            step.number += 1
        step.relation = EQUAL
    step.previous = step.begin
    step.last = step.number
    return step.relation == EQUAL or values.n_zero > 0


cdef inline bint starts_anew(const Step* step) noexcept nogil:
    """Whether a step is the first one of its run."""
    return step.previous == step.begin


cdef inline int64_t n_before(const Step* step) noexcept nogil:
    """Number of rows inside the sum at the previous step."""
    return step.direction * (step.previous - step.begin)


cdef inline int64_t n_inside(const Step* step) noexcept nogil:
    """Number of rows inside the sum."""
    return step.direction * (step.number - step.begin)


cdef inline int64_t position_of(const Step* step) noexcept nogil:
    """Index of a step, unique and from 0 to n."""
    return step.number + 1 if step.relation == UNEQUAL else step.number


cdef inline float threshold_of(const Values* values, const Step* step) noexcept nogil:
    """Return the threshold: the midpoint of two values, or a nominal value."""
    cdef float low, high, middle
    if step.relation == UNEQUAL:
        return 0
    low = values.value[step.number]
    if step.relation == EQUAL:
        return low
    high = _value_outside(values, step)
    if step.direction < 0:
        low, high = high, low
    middle = <float>((<double>low + high) / 2)
    return middle if middle < high else low
