import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.boomer.rule import RuleArrays

RELATIONS: tuple[str, ...]
"""Relational operators of conditions by their numbers."""

def add_scores(
    X: Features,
    arrays: RuleArrays,
    first: int,
    last: int,
    scores: NDArray[np.float64],
    n_threads: int,
) -> None:
    """Add the scores of the rules `first` to `last` (excluded) to `scores` [n_rows, n_labels].

    X is in C order or CSR.
    """
