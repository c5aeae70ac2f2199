import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.forest.forest import ExtraTrees

def predict(
    forest: ExtraTrees, X: Features, is_left_out: NDArray[np.uint8] | None, n_threads: int
) -> NDArray[np.float64]:
    """Average the label frequencies of the leaves that rows reach, [n_samples, n_labels].

    X is in C order or CSR. `is_left_out` [n_trees, n_samples] tells which trees skip a row. A label
    without known entries in the leaves gets its mean over the training rows.
    """
