"""Rows that a teacher can label: training rows that take some features of other training rows.

Each generated row has a *base* and a *partner*, both training rows. A share of its features, drawn
anew for each row, comes from the partner, the others from the base:

* a feature with fractions, or with more than ten values, is moved from the base's value towards
  that of the partner, all such features of a row by the same part of the way; it is rounded if all
  of its values are whole numbers;
* whole numbers of few values, which may be codes, are exchanged;
* codes of categories are exchanged all or none, so their combination is a known one.

A value that is missing in the base or the partner is that of the base. So the values that are
missing are those of a training row, too. Of sparse rows what is stored is exchanged, and what is
not stored.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features

_MOST_CODES = 10
"""A feature of whole numbers with more values is not treated as a code."""

_ENTRIES_OF_BLOCK = 2**22
"""About this many entries are drawn at a time."""


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
    kinds = None if sparse.issparse(X) else _Kinds.of(X, is_category)
    blocks, length = [X[:0]], max(1, _ENTRIES_OF_BLOCK // n_features)
    for first in range(0, n_rows, length):
        rows = slice(first, first + length)
        pair = X[base[rows]], X[partner[rows]]
        taken = rng.random((pair[0].shape[0], n_features), dtype=np.float32) < share
        taken[:, is_category] = rng.random((len(taken), 1), dtype=np.float32) < share
        if kinds is None:
            blocks.append(_exchanged(*pair, taken))
        else:
            blocks.append(_mixed(*pair, taken, kinds, rng))
    made = sparse.vstack(blocks, format="csr") if kinds is None else np.concatenate(blocks)
    return GeneratedRows(made, np.column_stack((base, partner)))


class _Kinds(NamedTuple):
    """How features are treated, each `(n_features,)`.

    Attributes
    ----------
    moves : bool array
        Whether a feature is moved; others are exchanged.
    is_whole : bool array
        Whether all of its values are whole numbers.
    """

    moves: NDArray[np.bool_]
    is_whole: NDArray[np.bool_]

    @classmethod
    def of(cls, X: NDArray[np.float32], is_category: NDArray[np.bool_]) -> Self:
        """Tell it from the training rows and the features that are categories."""
        is_whole = np.array([bool((np.nan_to_num(column) % 1 == 0).all()) for column in X.T])
        n_values = np.array([len(np.unique(column[~np.isnan(column)])) for column in X.T])
        return cls((~is_whole | (n_values > _MOST_CODES)) & ~is_category, is_whole)


def _mixed(
    base: NDArray[np.float32],
    partner: NDArray[np.float32],
    taken: NDArray[np.bool_],
    kinds: _Kinds,
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Take features of dense partners, or move them towards these."""
    taken = taken & ~np.isnan(base) & ~np.isnan(partner)
    part = np.where(kinds.moves, rng.random((len(base), 1), dtype=np.float32), np.float32(1))
    # Not base + part * (partner - base): whole numbers stay exact.
    moved = (1 - part) * base + part * partner
    return np.where(taken, np.where(kinds.is_whole, np.rint(moved), moved), base)


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
