"""Rows that a teacher can label: training rows that take some features of other training rows.

Each generated row has a *base* and a *partner*, both training rows. A share of its features, drawn
anew for each row, comes from the partner, the others from the base:

* a feature of which some training row has a fraction is moved from the value of the base towards
  that of the partner, all such features of a row by the same part of the way;
* whole numbers are exchanged;
* codes of categories are exchanged all or none, so their combination is a known one.

A value that is missing in the base or the partner is that of the base. So the values that are
missing are those of a training row, too. Of sparse rows what is stored is exchanged, and what is
not stored.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features

_ENTRIES_OF_BLOCK = 2**22
"""About so many entries are drawn at a time."""


class GeneratedRows(NamedTuple):
    """Rows made of pairs of training rows.

    Attributes
    ----------
    X : float32 array or CSR matrix of shape (n_rows, n_features)
        The rows.
    parents : int array of shape (n_rows, 2)
        Positions of base and partner among the training rows.
    """

    X: Features
    parents: NDArray[np.intp]


def generate_rows(
    X: Features,
    n_rows: int,
    share: float,
    *,
    feature_types: list[str] | None = None,
    seed: int = 0,
) -> GeneratedRows:
    """Make rows out of training rows.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        At least two checked training rows.
    n_rows : int
        Number of rows to make. Each training row is the base of as many, or of one more.
    share : float
        Probability that a feature comes from the partner, from 0 to 1.
    feature_types : list of str, optional
        ``"c"`` where X holds codes of categories.
    seed : int, default=0
        Seed for the draws.

    Returns
    -------
    GeneratedRows

    Examples
    --------
    >>> X = np.array([[0, 10], [1, 11], [2, 12]], np.float32)
    >>> rows, parents = generate_rows(X, 4, 0.5)
    >>> parents.shape, np.isin(rows[:, 1], X[:, 1]).all()
    ((4, 2), np.True_)
    """
    rng = np.random.default_rng(seed)
    n_samples, n_features = X.shape
    base = rng.permutation(np.arange(n_rows) % n_samples)
    partner = (base + rng.integers(1, n_samples, size=n_rows)) % n_samples
    is_category = np.array([kind == "c" for kind in feature_types or "q" * n_features])
    moves = None if sparse.issparse(X) else _has_fractions(X) & ~is_category
    blocks, length = [X[:0]], max(1, _ENTRIES_OF_BLOCK // n_features)
    for first in range(0, n_rows, length):
        rows = slice(first, first + length)
        pair = X[base[rows]], X[partner[rows]]
        taken = rng.random((pair[0].shape[0], n_features), dtype=np.float32) < share
        taken[:, is_category] = rng.random((len(taken), 1), dtype=np.float32) < share
        if moves is None:
            blocks.append(_exchanged(*pair, taken))
        else:
            blocks.append(_mixed(*pair, taken, moves, rng))
    made = sparse.vstack(blocks, format="csr") if moves is None else np.concatenate(blocks)
    return GeneratedRows(made, np.column_stack((base, partner)))


def _has_fractions(X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tell which features have a value that is not a whole number, `(n_features,)`."""
    return np.array([bool((np.nan_to_num(column) % 1 != 0).any()) for column in X.T])


def _mixed(
    base: NDArray[np.float32],
    partner: NDArray[np.float32],
    taken: NDArray[np.bool_],
    moves: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Take features of dense partners, or move those that `moves` tells towards them."""
    taken = taken & ~np.isnan(base) & ~np.isnan(partner)
    part = np.where(moves, rng.random((len(base), 1), dtype=np.float32), np.float32(1))
    # Not base + part * (partner - base): whole numbers stay exact.
    return np.where(taken, (1 - part) * base + part * partner, base)


def _exchanged(
    base: sparse.csr_matrix, partner: sparse.csr_matrix, taken: NDArray[np.bool_]
) -> sparse.csr_matrix:
    """Take features of sparse partners. A zero that is stored stays stored."""
    found = []
    for matrix, is_used in ((base, ~taken), (partner, taken)):
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        used = is_used[rows, matrix.indices]
        found.append((rows[used], matrix.indices[used], matrix.data[used]))
    rows, columns, values = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((columns, rows))
    ends = np.cumsum(np.bincount(rows, minlength=base.shape[0]))
    indptr = np.concatenate(([0], ends)).astype(np.int32)
    return sparse.csr_matrix((values[order], columns[order], indptr), shape=base.shape)
