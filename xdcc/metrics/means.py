"""Means and quotients that metrics share."""

from collections.abc import Iterable
from functools import reduce
from typing import Literal

import numpy as np

from xdcc.base.label_rows import Bools, Floats
from xdcc.metrics.counted import quotient

type ZeroOrOne = Literal[0, 1]


def weighted_mean(blocks: Iterable[tuple[Floats, Floats | Bools]]) -> float:
    """Compute the weighted mean of values per sample, given blocks of weights and values."""
    # Summing both in the same way makes a mean of ones exactly 1.
    sums = (np.array([(weight * value).sum(), weight.sum()]) for weight, value in blocks)
    value, weight = reduce(np.add, sums)
    return float(value / weight)


def divide(numerator: Floats, denominator: Floats, zero_division: ZeroOrOne) -> Floats:
    """Divide; 0/0 is `zero_division`."""
    if zero_division not in (0, 1):
        raise ValueError(f"zero_division must be 0 or 1, got {zero_division!r}")
    return quotient(numerator, denominator, zero_division)
