from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.lacovac.tree import LabelTrees

def fill(
    trees: LabelTrees, X: Features, Y: sparse.csr_array, rows: NDArray[np.int32], n_threads: int
) -> list[dict[str, NDArray[Any]]]:
    """Count labels and labelsets in the leaves of every tree, which got the rows in `rows`.

    X is [n_samples, n_features] in C order or CSR, Y [n_samples, n_labels] stores which labels a
    sample has, its indices sorted; `rows` is [n_trees, n_rows]. The arrays of each tree are those
    of `LabelTrees` with ends instead of starts.
    """
