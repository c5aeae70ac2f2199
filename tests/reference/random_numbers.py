"""Reference implementation of the random numbers (``xdcc/kernels/random.pxd``)."""

_BITS = 2**64 - 1


class Random:
    """Generator splitmix64; the seed is from 0 to 2^64 - 1."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def draw(self) -> int:
        """Draw 64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _BITS
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _BITS
        return bits ^ (bits >> 31)

    def uniform(self) -> float:
        """Draw a multiple of 2^-53 from [0, 1)."""
        return (self.draw() >> 11) * 2.0**-53

    def below(self, n: int) -> int:
        """Draw one of 0, ..., n - 1."""
        return int(self.uniform() * n)
