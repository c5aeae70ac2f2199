import numpy as np
from numpy.typing import NDArray

from xdcc.boomer.training import RuleSettings, SortedColumns

LOSSES: dict[str, int]
"""Numbers of the losses."""

class RuleLearner:
    """Learns rules one by one (Algorithms 1 to 3).

    Parameters
    ----------
    columns : SortedColumns
        The training rows' attributes.
    Y : uint8 array of shape (n_samples, n_labels)
        Zeros and ones, in C order.
    scores : float64 array of shape (n_samples, n_labels)
        Sums of the rules so far; kept and changed.
    coverage : int64 array of shape (n_samples,)
        Number of the rules so far that cover each row; kept and changed.
    settings : RuleSettings
        What rules are to be like.
    n_threads : int
        Number of threads.
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

        With the example-wise loss and complete heads the second array is the lower bound of the
        Hessian instead, p0 p.
        """

    def default_rule(self) -> NDArray[np.float64]:
        """Add the rule that covers every row, and return its head [n_labels]."""

    def learn(
        self, seed: int
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
