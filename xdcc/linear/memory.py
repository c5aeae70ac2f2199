"""The memory that the training of the regressions takes, estimated before it begins.

OpenBLAS ends or hangs the process if it cannot allocate its buffers. They are part of the estimate,
so a ``MemoryError`` comes first.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.memory import available_memory, in_units, require_memory
from xdcc.base.package import PACKAGE
from xdcc.linear.design import MOST_AXES
from xdcc.linear.logistic import BLOCK
from xdcc.linear.many_labels import SAMPLE, are_many

_ENTRY_BYTES = 12.0
"""Bytes of an entry of a sparse matrix: a value in double precision and its column."""

_BUFFER_BYTES = 32.0 * 2**20
"""Bytes that OpenBLAS allocates for each product of matrices at a time."""

_THREAD_BYTES = 72.0 * 2**20
"""Address space of a thread: its stack, and an arena of glibc."""

_MUCH = 4.0 * 2**30
"""Bytes from which a training is announced."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes, at most, of the training of models for all labels.

    Attributes
    ----------
    what : str
        Description of the training, for messages.
    learning, choosing, training : float
        The columns; the choice of `C` from the models of all folds; the models for all rows. They
        follow each other.
    of_thread : float
        The block of labels that a thread trains.
    has_products : bool
        Whether X is dense, and BLAS multiplies it.
    """

    what: str
    learning: float
    choosing: float
    training: float
    of_thread: float
    has_products: bool

    @classmethod
    def of(
        cls, X: Features, n_columns: int, n_labels: int, n_folds: int, *, keeps_folds: bool = False
    ) -> Self:
        """Estimate it; without folds `C` is given, or all their models are kept."""
        n_rows = X.shape[0]
        is_dense = not isinstance(X, sparse.csr_matrix)
        rows, squares = 8.0 * n_rows * n_columns, 0.0
        if isinstance(X, sparse.csr_matrix):
            rows = _ENTRY_BYTES * X.nnz
        elif min(n_rows, n_columns) <= MOST_AXES:
            squares = 32.0 * min(n_rows, n_columns) ** 2
        coef, of_rows = float(n_columns * n_labels), float(n_rows * n_labels)
        is_sampled = not keeps_folds and are_many(n_labels, n_columns)
        share = SAMPLE / n_labels if is_sampled else 1.0  # of the labels that have models of folds
        block = 8.0 * min(n_labels, BLOCK)
        return cls(
            f"Logistic regressions of {n_labels} labels on {n_columns} columns of {n_rows} rows",
            4 * rows + squares,
            bool(n_folds) * (2 * rows + share * ((20 * n_folds + 12) * coef + 64 * of_rows)),
            2 * rows + 64 * coef,
            rows + block * (14 * n_rows + 32 * n_columns),
            is_dense,
        )

    def total(self, n_threads: int) -> float:
        """Return the bytes for a number of threads."""
        arrays = max(self.learning, max(self.choosing, self.training) + n_threads * self.of_thread)
        # NumPy and SciPy have a copy of OpenBLAS each; threads call that of NumPy.
        buffers = (1 + n_threads) * _BUFFER_BYTES if self.has_products else 0.0
        return arrays + buffers + (n_threads * _THREAD_BYTES if n_threads > 1 else 0.0)

    def threads(self, most: int) -> int:
        """Return for how many threads, at most `most`, memory suffices.

        If it does not suffice for one, a ``MemoryError`` says so, on all workers.
        """
        require_memory(self.total(1), self.what, self._advice)
        if most == 1:
            return 1
        available = available_memory()
        return max(n for n in range(1, most + 1) if n == 1 or self.total(n) <= available)

    def warn(self, n_threads: int) -> None:
        """Warn if the training takes gigabytes."""
        if (total := self.total(n_threads)) > _MUCH:
            warnings.warn(
                f"{self.what} may take {in_units(total)} of memory. {self._advice}",
                skip_file_prefixes=(PACKAGE,),
            )

    @property
    def _advice(self) -> str:
        """What takes less."""
        with_given = replace(self, choosing=0.0).total(1)
        if self.total(1) <= 1.25 * with_given:
            return "Train on fewer rows, columns or labels."
        return (
            "Take fewer folds (cv), rows or labels; fit with a number as C takes "
            f"{in_units(with_given)}."
        )


def count_columns(X: Features, n_categories: NDArray[np.intp]) -> int:
    """Count the columns that the models get, with those that mark missing values."""
    if isinstance(X, sparse.csr_matrix):
        n_marked = len(np.unique(X.indices[np.isnan(X.data)]))
    else:
        n_marked = int(np.isnan(X.max(axis=0, initial=-np.inf)).sum())
    return int(np.maximum(n_categories, 1).sum()) + n_marked
