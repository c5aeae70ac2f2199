"""Predictors of boosters whose outputs are targets, or classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.prediction.predictors import BoosterPredictor, Outputs

Link = Literal["identity", "log", "logit"]


def probability(margins: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute the probabilities of log-odds, in XGBoost's precision.

    Examples
    --------
    >>> probability(np.array([0, -1000], np.float32)).round(3)
    array([0.5, 0. ], dtype=float32)
    """
    return np.asarray(1 / (1 + np.exp(np.minimum(-margins, np.float32(88.7)))))


_INVERSE: Mapping[Link, Callable[[Any], Any]] = MappingProxyType(
    {"identity": np.asarray, "log": np.exp, "logit": probability}
)


@stored
@dataclass(frozen=True, eq=False)
class TargetPredictor(BoosterPredictor):
    """A booster for targets, which it predicts in place of labels.

    Attributes
    ----------
    layouts : list of Layout
        One.
    links : list of {"identity", "log", "logit"}
        The margins of each target are this function of it.
    """

    links: list[Link]

    def _check_state(self) -> None:
        super()._check_state()
        require(len(self.links) == self.n_outputs, "links")

    def proba(self, outputs: Outputs) -> Outputs:
        """Raise a TypeError."""
        raise TypeError("A MultiTargetXGBRegressor predicts numbers, not probabilities.")

    def labels(self, outputs: Outputs) -> NDArray[Any]:
        """Compute targets, float64 of shape (n_samples, n_targets), in XGBoost's precision."""
        first, *others = set(self.links)
        if not others:
            return np.asarray(_INVERSE[first](outputs).astype(np.float64))
        targets = outputs.astype(np.float64)
        for j, link in enumerate(self.links):
            targets[:, j] = _INVERSE[link](outputs[:, j])
        return targets


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
