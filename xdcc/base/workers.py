"""Shares facts about all rows among workers that train together.

Workers (:mod:`xgboost.collective`) run the same code at once, each on its own rows, and rank n has
the rows before those of rank n + 1. Each has to call these functions, with no row if it has none.
Without other workers, they return what they are given.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.label_rows import SAMPLE_ENTRIES, sample_rows
from xdcc.base.libraries import collective


def sum_of_all[T: np.generic](values: NDArray[T]) -> NDArray[T]:
    """Add up arrays of the same shape.

    Examples
    --------
    >>> sum_of_all(np.array([1.5, 2.0]))
    array([1.5, 2. ])
    """
    if not collective.is_distributed():
        return values
    return collective.allreduce(values, collective.Op.SUM)


def from_all[T](value: T) -> list[T]:
    """Bring an object, not None, of each worker to all of them, in the order of the ranks.

    Examples
    --------
    >>> from_all("mine")
    ['mine']
    """
    if not collective.is_distributed():
        return [value]
    return [collective.broadcast(value, rank) for rank in range(collective.get_world_size())]


def of_first[T](value: T) -> T:
    """Give all workers the object, not None, of the first, where rounding could make them differ.

    Examples
    --------
    >>> of_first("mine")
    'mine'
    """
    return collective.broadcast(value, 0) if collective.is_distributed() else value


def grand_total(value: float) -> float:
    """Add up numbers.

    Examples
    --------
    >>> grand_total(1.5)
    1.5
    """
    return float(sum_of_all(np.array([value], dtype=np.float64))[0])


def largest(value: float) -> float:
    """Return the largest of the workers' numbers.

    Examples
    --------
    >>> largest(1.5)
    1.5
    """
    return float(collective.allreduce(np.array([value], np.float64), collective.Op.MAX)[0])


def agreed(is_so: bool) -> bool:
    """Tell whether all say so.

    Examples
    --------
    >>> agreed(True), agreed(False)
    (True, False)
    """
    return largest(not is_so) == 0


def count_folds(folds: NDArray[np.intp]) -> int:
    """Count folds, whose numbers begin at 0; one may have rows of some workers only.

    Examples
    --------
    >>> count_folds(np.array([2, 0, 1, 0]))
    3
    """
    return int(largest(float(folds.max(initial=-1)))) + 1


def rows_of_all(n_rows: int) -> tuple[int, int]:
    """Count the rows of lower ranks, and those of all, by the number of one's own.

    Examples
    --------
    >>> rows_of_all(5)
    (0, 5)
    """
    rank = collective.get_rank()
    lengths = np.zeros(collective.get_world_size(), dtype=np.int64)
    lengths[rank] = n_rows
    lengths = sum_of_all(lengths)
    return int(lengths[:rank].sum()), int(lengths.sum())


def sample_of_all(
    shape: tuple[int, int], *columns: NDArray[Any], entries: int = SAMPLE_ENTRIES
) -> list[NDArray[Any]]:
    """Bring a sample of the rows of all workers to each of them, as :func:`sample_rows` takes it.

    Parameters
    ----------
    shape : tuple of int
        Number of own rows, number of labels.
    *columns : arrays of shape (n_rows, ...)
        The columns to sample from.
    entries : int, default=2**21
        About this many labels are taken.

    Returns
    -------
    list of arrays
        The sample of each, in the order of the rows.

    Examples
    --------
    >>> sample_of_all((2, 1), np.array([3, 4]), np.array([[0.5], [1]]))
    [array([3, 4]), array([[0.5],
           [1. ]])]
    """
    before, n_rows = rows_of_all(shape[0])
    rows = sample_rows((n_rows, shape[1]), entries=entries) - before
    own = (rows >= 0) & (rows < shape[0])
    samples = []
    for column in columns:
        sample = np.zeros((len(rows), *column.shape[1:]), column.dtype)
        sample[own] = column[rows[own]]
        samples.append(sum_of_all(sample))
    return samples
