import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.boomer.columns import SortedColumns

LOSSES: dict[str, int]
"""Numbers of the losses."""

RELATIONS: tuple[str, ...]
"""Relational operators of conditions by their numbers."""

class RuleLearner:
    """Learns rules one by one (Algorithms 1 to 3).

    `Y` is [n_samples, n_labels] in C order. `scores` (of the same shape) and `coverage`
    [n_samples] are kept and changed: they are the sums of the rules so far, and in how many rules
    each row is. `bin_share` is 0 for no label bins, `max_conditions` -1 for no limit, and `l2`
    has to be positive.
    """

    scores: NDArray[np.float64]
    coverage: NDArray[np.int64]

    def __init__(
        self,
        columns: SortedColumns,
        Y: NDArray[np.uint8],
        scores: NDArray[np.float64],
        coverage: NDArray[np.int64],
        loss: str,
        complete: bool,
        l2: float,
        learning_rate: float,
        bin_share: float,
        max_conditions: int,
        min_coverage: int,
        n_threads: int,
    ) -> None: ...
    def statistics(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradients and second derivatives, [n_samples, n_labels] each.

        With the example-wise loss and complete heads the second array is the lower bound of the
        Hessian instead, p0 p.
        """

    def default_rule(self) -> NDArray[np.float64]:
        """Add the rule that covers every row, and return its head [n_labels]."""

    def learn(
        self, bootstrap: bool, n_attributes: int, seed: int
    ) -> (
        tuple[
            NDArray[np.int32], NDArray[np.int8], NDArray[np.float32], int, NDArray[np.float64], int
        ]
        | None
    ):
        """Add a rule, and return what a `LearnedRule` holds.

        If no condition on the attributes drawn divides the sample, all attributes are tried, then
        all rows; None if that does not help either.
        """

def add_scores(
    X: Features,
    condition_start: NDArray[np.int64],
    feature: NDArray[np.int32],
    relation: NDArray[np.int8],
    threshold: NDArray[np.float32],
    head_start: NDArray[np.int64],
    head_label: NDArray[np.int32],
    head_score: NDArray[np.float64],
    first: int,
    last: int,
    scores: NDArray[np.float64],
    n_threads: int,
) -> None:
    """Add the scores of the rules `first` to `last` (excluded) to `scores` [n_rows, n_labels].

    X is in C order or CSR.
    """
