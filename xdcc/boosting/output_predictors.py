"""Predictors of boosters whose outputs are targets, or classes."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from xdcc.base.stored import stored
from xdcc.prediction.predictors import BoosterPredictor, Outputs

Link = Literal["identity", "log", "logit"]


@stored
@dataclass(frozen=True, eq=False)
class TargetPredictor(BoosterPredictor):
    """A booster for targets, which it predicts in place of labels.

    Attributes
    ----------
    layouts : list of Layout
        One.
    link : {"identity", "log", "logit"}
        Margins are this function of the targets.
    """

    link: Link

    def proba(self, outputs: Outputs) -> Outputs:
        """Raise a TypeError."""
        raise TypeError("A MultiTargetXGBRegressor predicts numbers, not probabilities.")

    def labels(self, outputs: Outputs) -> NDArray[Any]:
        """Compute targets, float64 of shape (n_samples, n_targets), in XGBoost's precision."""
        if self.link == "log":
            outputs = np.exp(outputs)
        elif self.link == "logit":
            outputs = 1 / (1 + np.exp(np.minimum(-outputs, np.float32(88.7))))
        return outputs.astype(np.float64)


@stored
@dataclass(frozen=True, eq=False)
class ClassPredictor(BoosterPredictor):
    """A booster for classes, one of which each row has."""

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute the probability of each class, float32 of shape (n_samples, n_classes)."""
        odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Find the position of the most probable class, (n_samples,)."""
        return np.argmax(outputs, axis=1)
