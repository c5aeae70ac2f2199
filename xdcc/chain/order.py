"""``ChainOrder``: which label a dynamic chain propagated when, row by row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChainOrder:
    """The order in which a chain decided the labels of every row.

    Attributes
    ----------
    labels : int array of shape (n_samples, n_rounds * labels_per_round)
        Index of the label that was propagated, round by round, -1 where there was none.
    values : float32 array of shape (n_samples, n_rounds * labels_per_round)
        Its probability in that round, NaN where none was propagated.
    labels_per_round : int
        Number of columns that belong to a round.

    Examples
    --------
    >>> order = ChainOrder(labels=np.array([[2, 0, -1]]), values=np.array([[0.9, 0.1, np.nan]]))
    >>> order.rounds(n_labels=3)
    array([[2, 4, 1]])
    """

    labels: NDArray[np.intp]
    values: NDArray[np.float32]
    labels_per_round: int = 1

    def rounds(self, n_labels: int) -> NDArray[np.intp]:
        """Turn the order round: the round of each label.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Round in which the label was propagated, counted from 1; one more than the number
            of rounds where it was not.
        """
        n_samples, n_columns = self.labels.shape
        rounds = np.full((n_samples, n_labels), n_columns // self.labels_per_round + 1)
        row, column = np.nonzero(self.labels >= 0)
        rounds[row, self.labels[row, column]] = column // self.labels_per_round + 1
        return rounds
