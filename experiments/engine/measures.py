"""What is measured of a prediction and of a training: names, titles, and which way is better.

Label measures are those of `xdcc.metrics.evaluate`. Times and memory come from the run. A method
may add measures of its own (`Method.scores`); which way is better there, is said here.
"""

from dataclasses import dataclass

import numpy as np

from xdcc import metrics


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes
    ----------
    title : str
        For tables and axes.
    higher_is_better : bool
    digits : int
        After the decimal point, in tables.
    """

    title: str
    higher_is_better: bool = True
    digits: int = 3

    def best_first(self, values: np.ndarray) -> np.ndarray:
        """Return values that are lower where these are better."""
        return -values if self.higher_is_better else values


def _title(name: str) -> str:
    words = name.replace("hamming", "Hamming").replace("f1", "F1").replace("_", " ")
    return words.replace("example ", "example-based ")


MEASURES: dict[str, Measure] = {
    name: Measure(_title(name), higher_is_better=not name.endswith("loss"))
    for name in metrics.evaluate(np.ones((1, 1)), np.ones((1, 1)))
} | {
    "log_loss": Measure("log-loss", higher_is_better=False),
    "cll_loss": Measure("CLL-loss", higher_is_better=False, digits=1),
    "train_time": Measure("training time (CPU s)", higher_is_better=False, digits=2),
    "predict_time": Measure("prediction time (CPU s)", higher_is_better=False, digits=2),
    "peak_memory": Measure("peak memory (MiB)", higher_is_better=False, digits=0),
}
"""Name → measure; a configuration may name these."""

LABEL_MEASURES = tuple(metrics.evaluate(np.ones((1, 1)), np.ones((1, 1))))
"""Those that are taken of every prediction."""
