import numpy as np
from numpy.typing import NDArray

def bin_dense(
    values: NDArray[np.float32], max_bin: int, n_threads: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Divide features into bins: `values` and the bins are [n_features, n_rows]; NaN is missing.

    The ranges follow: least and largest values, [n_bins], and [n_features + 1] where those of each
    feature begin.
    """

def bin_sparse(
    data: NDArray[np.float32], indptr: NDArray[np.int64], max_bin: int
) -> tuple[
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.int64],
]:
    """Divide what a CSC matrix stores into bins.

    Zero has a bin of its own, the second array [n_features]. `max_bin` is at least 3. The ranges
    follow as in :func:`bin_dense`.
    """
