"""Conditions on an attribute: what they cover, and between which values they are tried.

The steps between an attribute's values come in the order in which running sums meet them. Sums run
from the outer values towards 0, so that the rows whose value is 0 are never visited: what is not
inside a sum is the rest of the rows. At a step between two values those inside the sum and the rest
are the two sides that a condition can cover. A nominal attribute has a step for every value, whose
sum starts anew, and one for 0, whose sum are all other values.
"""

from libc.math cimport isnan
from libc.stdint cimport int8_t, int32_t, int64_t

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


cdef struct Values:
    # Known values of an attribute in the rows that a rule covers so far.
    const int32_t* row      # [n]
    const float* value      # [n] ascending, not 0
    int64_t n
    int64_t n_negative
    int64_t n_zero          # rows whose value is 0
    const int32_t* missing  # [n_missing] rows without a value, covered so far or not
    int64_t n_missing
    bint nominal


cdef struct Step:
    # A run of steps has one sum, of the rows after `begin` up to `number`, in its direction.
    int64_t number          # of the value where the sum stops
    int64_t previous        # that of the step before; `begin` if the sum starts anew
    int64_t begin           # before the run's first value
    int64_t last            # number of the run's last step
    int64_t direction       # 1 or -1, 0 before the first run
    float beyond            # value after the last step
    Relation relation       # that covers the rows inside the sum


cdef inline Step before_first_step() noexcept nogil:
    """Where a walk begins: `next_step` goes on."""
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
    """First value that is not inside the sum."""
    if step.number == step.last:
        return step.beyond
    return values.value[step.number + step.direction]


cdef inline bint next_step(const Values* values, Step* step) noexcept nogil:
    """Go to the next step; false if there is none."""
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
    """Turn to the values below 0, or to all if none is 0; then to those above 0."""
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
    """Go to the next value of a nominal attribute, with a run of its own, at last to 0."""
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
    """Whether a step is the first one of its sum."""
    return step.previous == step.begin


cdef inline int64_t n_before(const Step* step) noexcept nogil:
    """Number of rows that the sum has from the step before."""
    return step.direction * (step.previous - step.begin)


cdef inline int64_t n_inside(const Step* step) noexcept nogil:
    """Number of rows inside the sum."""
    return step.direction * (step.number - step.begin)


cdef inline int64_t position_of(const Step* step) noexcept nogil:
    """Position of a step among all, from 0 to n, each at most once."""
    return step.number + 1 if step.relation == UNEQUAL else step.number


cdef inline float threshold_of(const Values* values, const Step* step) noexcept nogil:
    """Value that conditions compare with: halfway between two values, or a nominal one."""
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
