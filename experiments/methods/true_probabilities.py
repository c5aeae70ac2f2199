"""The probabilities of which a large table's labels are drawn: the lowest log-loss on average."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.large_tables import true_probabilities
from experiments.engine.registry import Method
from experiments.method_parts import log_loss


@dataclass
class TrueProbabilities:
    """Knows the probabilities of the test part, whatever X is."""

    name: str

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn which table it is from the number of training rows."""
        self.proba_ = true_probabilities(self.name, len(Y))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probabilities of all rows of the test part."""
        return self.proba_

    def predict(self, X: Any) -> NDArray[np.bool_]:
        """Return the more probable value of each label."""
        return self.proba_ >= 0.5


METHOD = Method(
    title="the probabilities of which generated labels are drawn",
    reference="experiments/datasets/large_tables.py",
    build=lambda train, seed: TrueProbabilities(train.name),
    scores={"log_loss": log_loss},
)
