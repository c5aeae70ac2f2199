from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def train_rounds(
    functions: tuple[int, int, int],
    booster: int,
    matrix: int,
    first: int,
    end: int,
    weight: NDArray[np.float32],
    drawn: NDArray[np.float32],
    interface: bytes,
    bits: Sequence[np.random.BitGenerator | None],
    share: float,
    looks: Sequence[int],
    margins: Sequence[NDArray[np.float32]],
    rows: NDArray[np.int64],
    config: bytes,
) -> int:
    """Train rounds of a booster, and keep margins of some rows after some of them.

    Parameters
    ----------
    functions : tuple of int
        Addresses of `XGBoosterUpdateOneIter`, `XGDMatrixSetInfoFromInterface` and
        `XGBoosterPredictFromDMatrix`.
    booster, matrix : int
        Their handles.
    first, end : int
        Numbers of the first round, and of the one after the last.
    weight : float32 array of shape (n_samples, 1), (n_samples, n_labels) or (0, 1)
        Weights of the rows or entries; empty to leave those of the matrix.
    drawn : float32 array of the same shape
        Where the weights of a round are put.
    interface : bytes
        Its array interface, as JSON.
    bits : list of numpy.random.BitGenerator or None
        For each round what draws the rows that it trains on; None: it trains on all. Empty if no
        round draws.
    share : float
        Share of the rows that are drawn.
    looks : list of int
        After how many rounds margins are kept, ascending.
    margins : list of float32 arrays of shape (n_samples, n_labels)
        Where they are put, one for each look.
    rows : int64 array
        The rows whose margins are kept.
    config : bytes
        Configuration of `XGBoosterPredictFromDMatrix`, as JSON.

    Returns
    -------
    int
        0, or what the function returned that failed.
    """
