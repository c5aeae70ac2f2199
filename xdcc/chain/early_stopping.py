"""``Watch``: measures a chain after each round of its training, and says when to stop."""

from collections.abc import Callable, Sequence

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.chain.loop import ChainRun, ChainState

type Measure = Callable[[NDArray[np.floating], NDArray[np.int64]], float]
type Reading = Callable[[ChainState], NDArray[np.int64]]


class Watch:
    """Stops a training when a measure has not become better for some rounds.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        The truth: 0, 1, or NaN for unknown.
    run : ChainRun or None
        Rows beside the training rows, at the beginning of the chain. None watches the training
        rows themselves; their state has to come from predictions that did not see them.
    read : callable
        Labels that a chain predicts in a state.
    measure : callable
        Score of (truth, labels), the higher the better.
    patience : int
        Number of rounds without a better score after which to stop.

    Attributes
    ----------
    scores : list of float
        The measure after each round.
    """

    def __init__(
        self,
        Y: NDArray[np.floating],
        run: ChainRun | None,
        *,
        read: Reading,
        measure: Measure,
        patience: int,
    ) -> None:
        self._Y = Y
        self._run = run
        self._read = read
        self._measure = measure
        self._patience = patience
        self.scores: list[float] = []

    @property
    def best_round(self) -> int:
        """Number of the first round with the best score, from 1."""
        return int(np.argmax(self.scores)) + 1

    def says_stop(self, boosters: Sequence[xgb.Booster], training_state: ChainState) -> bool:
        """Measure the chain after a round.

        Parameters
        ----------
        boosters : sequence of xgboost.Booster
            Those of the round.
        training_state : ChainState
            Of the training rows.

        Returns
        -------
        bool
            Whether the last `patience` rounds were no better than a round before them.
        """
        state = training_state if self._run is None else self._run.advance(boosters)
        self.scores.append(self._measure(self._Y, self._read(state)))
        return len(self.scores) - self.best_round >= self._patience
