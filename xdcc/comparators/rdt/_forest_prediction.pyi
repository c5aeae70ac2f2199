import numpy as np
from numpy.typing import NDArray

from xdcc.base.features import Features
from xdcc.comparators.rdt.chains import ChainRule
from xdcc.comparators.rdt.forest import Forest, Weighting

def posteriors(
    forest: Forest,
    X: Features,
    known: NDArray[np.int8] | None,
    labelsets: bool,
    sigma: float,
    weighting: Weighting,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posteriors of labels or labelsets [n_rows, n_targets] and R [n_rows].

    X is in C order or CSR; `known` [n_rows, n_labels] is 0, 1, or -1 for labels that are not known.
    """

def chain(
    forest: Forest,
    X: Features,
    rule: ChainRule,
    sigma: float,
    weighting: Weighting,
    n_threads: int,
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Decide the labels of each instance one after another.

    X is in C order or CSR. Returns the decisions and their probabilities by label, and the labels
    and R by chain step, -1 and NaN after the end of the chain; all are [n_rows, n_labels].
    """
