"""The check of weights of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_weight(
    sample_weight: Any, n_samples: int, *, some_positive: bool = True
) -> NDArray[np.float32] | None:
    """Check the weights of rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        Weights.
    n_samples : int
        Number of rows.
    some_positive : bool, default=True
        Whether all weights must not be zero; they may be where the rows are not all there are.

    Returns
    -------
    float32 array of shape (n_samples,) or None
        The weights, None if there are none.

    Raises
    ------
    ValueError
        If they have another shape, are negative, infinite or NaN, or all zero.

    Examples
    --------
    >>> check_weight([1, 0.5], 2)
    array([1. , 0.5], dtype=float32)
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float32)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it has to be ({n_samples},), one per row."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight is {weight[row]} in row {row}; weights are finite and not negative."
        )
    if some_positive and not weight.any():
        raise ValueError("sample_weight is zero in every row: no row would count.")
    return weight
