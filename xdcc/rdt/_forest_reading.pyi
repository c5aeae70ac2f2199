import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.rdt.chains import ChainRule
from xdcc.rdt.forest import Forest, Weighting

def posteriors(
    forest: Forest,
    X: Features,
    known: NDArray[np.int8] | None,
    labelsets: bool,
    sigma: float,
    weighting: Weighting,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posteriors of labels (labelsets) [n_rows, n_labels (n_labelsets)], and R [n_rows].

    X is in C order or CSR; `known` [n_rows, n_labels] is 0, 1, or -1 where a label is not known.
    """

def chain(
    forest: Forest,
    X: Features,
    rule: ChainRule,
    sigma: float,
    weighting: Weighting,
    n_threads: int,
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Decide the labels of every instance one after the other.

    X is in C order or CSR. Returns decisions and their probabilities by label, and the labels and R
    by iteration, -1 and NaN where the chain had ended; all are [n_rows, n_labels].
    """
