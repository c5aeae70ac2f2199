import numpy as np
from numpy.typing import NDArray

from xdcc.comparators.boomer.training import RuleSettings, SortedColumns

LOSSES: dict[str, int]
"""Codes of the losses."""

class RuleLearner:
    """Learns rules one by one (Algorithms 1 to 3).

    `Y` (n_samples, n_labels) is in C order. `scores` (n_samples, n_labels) and `coverage`
    (n_samples,) hold the summed scores and the number of covering rules so far; the learner keeps
    these arrays and updates them in place.
    """

    scores: NDArray[np.float64]
    coverage: NDArray[np.int64]

    def __init__(
        self,
        columns: SortedColumns,
        Y: NDArray[np.uint8],
        scores: NDArray[np.float64],
        coverage: NDArray[np.int64],
        settings: RuleSettings,
        n_threads: int,
    ) -> None: ...
    def statistics(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradients and second derivatives, [n_samples, n_labels] each.

        With the example-wise loss and complete heads, the second array is p0 p, a lower bound of
        the Hessian.
        """

    def default_rule(self) -> NDArray[np.float64]:
        """Add the rule that covers every row and return its head [n_labels]."""

    def learn(
        self, seed: int
    ) -> (
        tuple[
            NDArray[np.int32], NDArray[np.int8], NDArray[np.float32], int, NDArray[np.float64], int
        ]
        | None
    ):
        """Add a rule and return the fields of a `LearnedRule`, or None if there is no further rule.

        If no condition on the drawn attributes splits the sample, all attributes are searched, and
        then all rows.
        """
