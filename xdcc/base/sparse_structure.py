"""The check that the arrays of a sparse matrix fit together.

Neither SciPy nor XGBoost nor the kernels check an index beyond the last column, which would read
beyond the end of an array.
"""

from typing import Any

import numpy as np

from xdcc.base.libraries import sparse


def check_sparse_structure(name: str, matrix: Any) -> None:
    """Raise a ValueError if a sparse matrix has an index out of bounds; messages call it `name`.

    Only CSR, CSC and COO matrices are looked at; others are made of Python numbers or are checked
    by SciPy when they are converted.

    Examples
    --------
    >>> matrix = sparse.csr_matrix(np.eye(2))
    >>> matrix.indices[1] = 7
    >>> check_sparse_structure("X", matrix)
    Traceback (most recent call last):
    ValueError: X is a broken sparse matrix: entry 1 has the column 7, outside 0 to 1.
    """
    if not sparse.issparse(matrix) or matrix.ndim != 2:
        return
    n_rows, n_columns = matrix.shape
    if matrix.format == "coo":
        _check_indices(name, "row", matrix.row, n_rows)
        _check_indices(name, "column", matrix.col, n_columns)
    elif matrix.format in ("csr", "csc"):
        major, minor = ("row", "column") if matrix.format == "csr" else ("column", "row")
        n_major, n_minor = (n_rows, n_columns) if major == "row" else (n_columns, n_rows)
        _check_pointers(name, major, matrix.indptr, n_major, matrix.indices, matrix.data)
        _check_indices(name, minor, matrix.indices[: matrix.indptr[-1]], n_minor)


def _check_pointers(
    name: str, axis: str, indptr: Any, n_major: int, indices: Any, data: Any
) -> None:
    broken = f"{name} is a broken sparse matrix: "
    if len(indptr) != n_major + 1:
        raise ValueError(f"{broken}indptr has {len(indptr)} entries for {n_major} {axis}s.")
    descents = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or len(descents):
        at = int(descents[0]) if len(descents) else 0
        raise ValueError(
            f"{broken}indptr goes from {indptr[at]} to {indptr[at + 1]} in {axis} {at}; it must "
            "begin with 0 and not descend."
        )
    n_entries = min(len(indices), len(data))
    if indptr[-1] > n_entries:
        at = int(np.argmax(indptr > n_entries)) - 1
        raise ValueError(
            f"{broken}{axis} {at} ends at entry {indptr[at + 1]}, but there are {n_entries}."
        )


def _check_indices(name: str, axis: str, indices: Any, size: int) -> None:
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return
    at = int(np.argmax((indices < 0) | (indices >= size)))
    raise ValueError(
        f"{name} is a broken sparse matrix: entry {at} has the {axis} {indices[at]}, outside 0 to "
        f"{size - 1}."
    )
