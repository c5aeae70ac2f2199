from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

class HeldMatrix:
    """X in the form that kernels read, for as long as the object lives.

    Parameters
    ----------
    X : float32 array or sparse matrix of shape (n_rows, n_features)
        Read, never changed; copied only if a sparse matrix has other types of indices.
    order : {"C", "F"}
        Order of the elements of a dense X.
    sparse_format : {"csr", "csc"}
        Format of a sparse X.

    Raises
    ------
    ValueError
        If X has another type, order or format.
    """

    def __init__(
        self,
        X: NDArray[np.float32] | sparse.spmatrix | sparse.sparray,
        order: Literal["C", "F"],
        sparse_format: Literal["csr", "csc"],
    ) -> None: ...
