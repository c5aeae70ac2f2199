import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.forest.forest import ExtraTrees

def contributions(
    forest: ExtraTrees, X: Features, leaf_values: sparse.csr_array, n_threads: int
) -> NDArray[np.float64]:
    """Compute path-dependent SHAP values of a sum over trees, [n_samples, n_labels, n_features].

    X is in C order or CSR. `leaf_values` [n_leaves, n_labels] are what the trees sum up. Together
    the values of a row are this sum less its expectation over the weights of the leaves.
    """
