import numpy as np
from numpy.typing import NDArray

def bin_columns(
    values: NDArray[np.float32], max_bin: int, n_threads: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.int64]]:
    """Divide features into at most `max_bin` bins; `values` are [n_features, n_rows].

    Returns the bins [n_features, n_rows], 255 where a value is missing, the edges between them, and
    where those of each feature begin [n_features + 1]. A value above an edge is in a later bin.
    """
