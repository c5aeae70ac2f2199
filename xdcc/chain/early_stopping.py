"""``Watch``: measures a chain after each round of its training, and says when to stop."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.chain.loop import ChainRun, ChainState

type Measure = Callable[[NDArray[np.floating], NDArray[np.int64]], float]
type Reading = Callable[[ChainState], NDArray[np.int64]]


@dataclass
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
    tolerance : float
        How much higher a score has to be to count as better.

    Attributes
    ----------
    scores : list of float
        The measure after each round.
    best_round : int
        Number of the last round that was better than those before, from 1.
    """

    Y: NDArray[np.floating]
    run: ChainRun | None
    _: KW_ONLY
    read: Reading
    measure: Measure
    patience: int
    tolerance: float
    scores: list[float] = field(default_factory=list, init=False)
    best_round: int = field(default=0, init=False)

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
            Whether none of the last `patience` rounds was better than one before them.
        """
        state = training_state if self.run is None else self.run.advance(boosters)
        score = self.measure(self.Y, self.read(state))
        if not self.scores or score > self.scores[self.best_round - 1] + self.tolerance:
            self.best_round = len(self.scores) + 1
        self.scores.append(score)
        return len(self.scores) - self.best_round >= self.patience
