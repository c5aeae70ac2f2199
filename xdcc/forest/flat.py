"""The flat form of a forest, for the kernel of :mod:`xdcc.prediction`.

Equal leaves, of which there are many, are stored once.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import Categories
from xdcc.forest.forest import ExtraTrees
from xdcc.forest.leaves import leaf_shares
from xdcc.prediction.builder import (
    ABSENT_IS_ZERO,
    MISSING_RIGHT,
    LayoutBuilder,
    Nodes,
    NotFlat,
)

_LEAF = 0
"""Kinds of the nodes of a forest, as in ``_node.pxd``."""

_MISSING_BIN = 255


def add_forest(builder: LayoutBuilder, forest: ExtraTrees, categories: Categories) -> None:
    """Add a forest to the member that a builder makes.

    Parameters
    ----------
    builder : LayoutBuilder
        Gets the trees.
    forest : ExtraTrees
        The trees.
    categories : dict
        Categories of the columns that have any, as estimators keep them.

    Raises
    ------
    NotFlat
        If a discrete feature is not one of them.
    """
    if not set(np.flatnonzero(np.diff(forest.category_start))) <= set(categories):
        raise NotFlat(
            "a forest whose discrete features were named in `categorical_features`, and are not "
            "columns of the type category"
        )
    # Label frequencies, then the shares in which labels are unknown.
    positive, unknown = leaf_shares(forest)
    shares = sparse.csr_array(positive)
    if unknown.nnz:
        shares = sparse.csr_array(sparse.hstack((positive, unknown)))
    shares.resize(positive.shape[0], 2 * positive.shape[1])
    leaves, number = _distinct_rows(shares)
    is_leaf = forest.kind == _LEAF
    # value > threshold exactly where it is not less than the next number; none is that large if the
    # next one is infinity.
    with np.errstate(over="ignore"):
        threshold = np.nextafter(forest.threshold, np.float32(np.inf))
    goes_right = forest.missing.astype(np.int32)
    of_sets = forest.category_nodes
    places = np.zeros(len(of_sets), np.int32)
    for i, node in enumerate(of_sets.tolist()):
        words = forest.category_set[4 * i : 4 * i + 4].astype("<u8")
        bits = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
        feature = int(forest.feature[node])
        places[i] = builder.add_set(bits[_bins(forest, feature, len(categories[feature]))])
        goes_right[node] = bits[_MISSING_BIN]
    threshold[of_sets] = places.view(np.float32)
    slot = forest.feature << 2 | goes_right * MISSING_RIGHT | ABSENT_IS_ZERO
    slot[of_sets] = ~slot[of_sets]
    leaf, cover = np.zeros(len(slot), np.intp), np.zeros(len(slot))
    leaf[is_leaf] = number[forest.child[is_leaf]]
    cover[is_leaf] = forest.leaf_weight[forest.child[is_leaf]]
    builder.add_forest(
        Nodes(forest.child, forest.child + 1, threshold, slot, leaf, is_leaf),
        forest.start[:-1],
        cover,
        leaves,
        np.ascontiguousarray(forest.labels.mean),
        has_unknown=bool(len(forest.labels.unknown)),
    )


def _bins(forest: ExtraTrees, feature: int, n_categories: int) -> NDArray[np.uint8]:
    """Return the bin of each category; new ones are missing."""
    part = slice(forest.category_start[feature], forest.category_start[feature + 1])
    bins = np.full(n_categories, _MISSING_BIN, np.uint8)
    bins[forest.category_value[part].astype(np.intp)] = forest.category_bin[part]
    return bins


def _distinct_rows(matrix: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Return the distinct rows, and the number of each row among them.

    Rows of the same hash are compared; one that differs from the first of them is kept.
    """
    matrix.sort_indices()
    length, begin = np.diff(matrix.indptr), matrix.indptr[:-1].astype(np.intp)
    _, first, number = np.unique(_row_hashes(matrix), return_index=True, return_inverse=True)
    alike = first[number]
    moved = np.repeat(begin[alike] - begin, length) + np.arange(matrix.nnz)
    moved = np.minimum(moved, matrix.nnz - 1)  # of rows that are longer
    differs = matrix.indices[moved] != matrix.indices
    differs |= matrix.data[moved] != matrix.data
    is_other = length != length[alike]
    is_other[np.repeat(np.arange(len(length)), length)[differs]] = True
    others = np.flatnonzero(is_other)
    number[others] = len(first) + np.arange(len(others))
    return matrix[np.concatenate((first, others))], number


def _row_hashes(matrix: sparse.csr_array) -> NDArray[np.uint64]:
    """Add up hashes of the entries of each row."""
    found = matrix.indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found ^= matrix.data.view(np.uint64)
    for factor in (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)):
        found ^= found >> np.uint64(29)
        found *= factor
    total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(found, dtype=np.uint64)))
    return total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
