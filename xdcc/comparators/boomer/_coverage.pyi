import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.comparators.boomer.rule import RuleArrays

RELATIONS: tuple[str, ...]
"""Relational operators, indexed by the relation codes of conditions."""

def add_scores(
    X: Features,
    arrays: RuleArrays,
    first: int,
    last: int,
    scores: NDArray[np.float64],
    n_threads: int,
) -> None:
    """Add the scores of rules `first` to `last` (excluded) to `scores`; X is in C order or CSR."""
