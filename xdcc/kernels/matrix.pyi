from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

class HeldMatrix:
    """The arrays of a float32 X for kernels; keeps them alive.

    Copies only the indices of a sparse X, if they have other types. Raises ValueError if X has
    another dtype, `order` (dense) or `sparse_format`.
    """

    def __init__(
        self,
        X: NDArray[np.float32] | sparse.spmatrix | sparse.sparray,
        order: Literal["C", "F"],
        sparse_format: Literal["csr", "csc"],
    ) -> None: ...
