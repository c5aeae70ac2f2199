"""Random numbers: splitmix64, whose state is one integer, initially the seed.

G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
Each tree or rule has its own state, so it depends neither on the thread nor on earlier trees.
"""

from libc.stdint cimport int64_t, uint64_t


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    """Draw 64 random bits."""
    state[0] += 0x9E3779B97F4A7C15ULL
    cdef uint64_t bits = state[0]
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL
    return bits ^ (bits >> 31)


cdef inline double draw_uniform(uint64_t* state) noexcept nogil:
    """Draw a multiple of 2^-53 from [0, 1)."""
    return <double>(draw(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline int64_t draw_below(uint64_t* state, int64_t n) noexcept nogil:
    """Draw one of 0, ..., n - 1."""
    return <int64_t>(draw_uniform(state) * <double>n)
