"""``ExtraTrees``: extra trees as arrays, how they are grown and what they say of the labels.

All trees lie in one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, its
root first, and a node's children lie side by side from ``child`` on. A leaf lists its training
rows, so it needs no memory for labels; where few labels are positive in many rows it holds their
shares instead. :func:`grow_forest` encodes what the kernel that grows trees needs
(``_sketched_growing.pyx``); :func:`mean_proba` asks a forest for probabilities
(``_prediction.pyx``).
"""

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.forest import _prediction, _sketched_growing
from xdcc.forest.columns import FeatureColumns

_LEAF_BYTES = 52
"""Memory that a leaf takes with its share of the tests above it, without its rows."""


@dataclass(frozen=True)
class LabelRows:
    """Labels of the training rows, as leaves refer to them.

    Attributes
    ----------
    positive_start, positive : int64 array of shape (n_rows + 1,), int32 array
        Row i has the labels ``positive[positive_start[i]:positive_start[i + 1]]``, ascending.
    unknown_start, unknown : int64 array of shape (n_rows + 1,), int32 array
        The same for labels that are unknown.
    mean : float64 array of shape (n_labels,)
        Mean of each label over the rows in which it is known.
    weight : float32 array of shape (n_rows,) or (0,)
        Positive weights of the rows; empty if all count equally.
    """

    positive_start: NDArray[np.int64]
    positive: NDArray[np.int32]
    unknown_start: NDArray[np.int64]
    unknown: NDArray[np.int32]
    mean: NDArray[np.float64]
    weight: NDArray[np.float32]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.mean)


@dataclass(frozen=True)
class ExtraTrees:
    """Extra trees.

    Attributes
    ----------
    start : int64 array of shape (n_trees + 1,)
        First node of each tree.
    kind : int8 array of shape (n_nodes,)
        What a node is: a number of `KINDS`.
    missing : int8 array of shape (n_nodes,)
        Child of a numeric test to which a missing value goes, 0 or 1.
    feature : int32 array of shape (n_nodes,)
        The feature that a node tests.
    threshold : float32 array of shape (n_nodes,)
        A numeric test sends larger values to the second child.
    child : int32 array of shape (n_nodes,)
        First child; the number of a leaf.
    category_set : uint64 array of shape (4 * n_category_nodes,)
        A bit for each bin of categories that goes to the second child, for the nodes that test
        categories in their order; bit 255 is for missing and new values.
    leaf_weight : float64 array of shape (n_leaves,)
        Number of the training rows in each leaf, or sum of their weights.
    row_start, row : int64 array of shape (n_leaves + 1,), int32 array
        Leaf k has the training rows ``row[row_start[k]:row_start[k + 1]]``.
    label_start, label, share : int64 array of shape (n_leaves + 1,), int32 and float32 arrays
        A leaf without rows has these labels, in these shares of its weight; the others are 0.
    labels : LabelRows
        Labels of the training rows.
    category_value, category_start, category_bin : float32, int32 and uint8 arrays
        As in :class:`~xdcc.forest.columns.FeatureColumns`.
    """

    start: NDArray[np.int64]
    kind: NDArray[np.int8]
    missing: NDArray[np.int8]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    child: NDArray[np.int32]
    category_set: NDArray[np.uint64]
    leaf_weight: NDArray[np.float64]
    row_start: NDArray[np.int64]
    row: NDArray[np.int32]
    label_start: NDArray[np.int64]
    label: NDArray[np.int32]
    share: NDArray[np.float32]
    labels: LabelRows
    category_value: NDArray[np.float32]
    category_start: NDArray[np.int32]
    category_bin: NDArray[np.uint8]


class TreeShape(NamedTuple):
    """How trees grow.

    Attributes
    ----------
    n_sampled : int
        Number of rows that a tree grows on, drawn without replacement.
    n_drawn_dense : int
        Number of dense features that a node draws.
    sparse_share : float
        Share that it draws of the sparse features that are not constant in it.
    min_samples_leaf : int
        Fewest rows of a leaf.
    sketch_size : int
        Number of projections of the labels; 0 for the labels themselves.
    """

    n_sampled: int
    n_drawn_dense: int
    sparse_share: float
    min_samples_leaf: int
    sketch_size: int


def label_rows(Y: Labels, weight: NDArray[np.float32] | None) -> LabelRows:
    """List what is positive and what is unknown in each row.

    Parameters
    ----------
    Y : float32 array of shape (n_rows, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float32 array of shape (n_rows,) or None
        Positive weights.

    Returns
    -------
    LabelRows
    """
    is_unknown = np.isnan(Y)
    positive, unknown = sparse.csr_array(Y == 1), sparse.csr_array(is_unknown)
    by_row = np.ones(len(Y)) if weight is None else weight.astype(np.float64)
    return LabelRows(
        positive.indptr.astype(np.int64),
        positive.indices.astype(np.int32),
        unknown.indptr.astype(np.int64),
        unknown.indices.astype(np.int32),
        (by_row @ positive) / (by_row @ ~is_unknown),
        np.empty(0, np.float32) if weight is None else weight,
    )


def check_memory(
    shape: TreeShape, n_trees: int, n_labels: int, n_sparse: int, n_threads: int
) -> None:
    """Stop before a forest is grown that this machine has no memory for.

    Parameters
    ----------
    shape : TreeShape
        How trees grow.
    n_trees : int
        Number of trees.
    n_labels : int
        Number of labels.
    n_sparse : int
        Number of sparse features.
    n_threads : int
        Number of threads.

    Raises
    ------
    MemoryError
        If the largest forest of this shape, or growing it, takes more than the memory of the
        machine.
    """
    n_rows, n_values = shape.n_sampled, shape.sketch_size or n_labels
    n_leaves = max(n_rows // shape.min_samples_leaf, 1)
    grown = 2 * n_trees * (4 * n_rows + _LEAF_BYTES * n_leaves)  # twice while trees are joined
    n_slots = n_rows.bit_length()  # the smaller child grows first
    growing = 16 * n_rows * n_values + 4 * n_sparse * (1 + n_values) * n_slots
    needed = grown + min(n_threads, n_trees) * growing
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        advice = "Take fewer trees, a smaller max_samples or a larger min_samples_leaf."
        if growing * n_threads > grown:
            advice = "Take a smaller sketch_size, fewer threads or a smaller max_samples."
        raise MemoryError(
            f"{n_trees} trees of {n_rows} rows may take {needed / 2**30:.1f} GiB, but this machine "
            f"has {memory / 2**30:.1f} GiB. {advice}"
        )


def grow_forest(
    columns: FeatureColumns,
    labels: LabelRows,
    shape: TreeShape,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> ExtraTrees:
    """Grow a forest.

    Parameters
    ----------
    columns : FeatureColumns
        Features of the training rows.
    labels : LabelRows
        Their labels.
    shape : TreeShape
        How trees grow.
    seeds : uint64 array of shape (n_trees,)
        A seed for each tree.
    n_threads : int
        Number of threads; it does not change the forest.

    Returns
    -------
    ExtraTrees
    """
    arrays = _sketched_growing.grow(columns, labels, shape, seeds, n_threads)
    return ExtraTrees(
        **arrays,
        labels=labels,
        category_value=columns.category_value,
        category_start=columns.category_start,
        category_bin=columns.category_bin,
    )


@documented
def mean_proba(
    forest: ExtraTrees,
    X: Features,
    n_threads: int,
    is_left_out: NDArray[np.uint8] | None = None,
) -> NDArray[np.float64]:
    """Average the label frequencies in the leaves that rows reach.

    Parameters
    ----------
    forest : ExtraTrees
        The trees.
    {features_with_zeros}
    n_threads : int
        Number of threads.
    is_left_out : uint8 array of shape (n_trees, n_samples), optional
        1 where a tree is not asked about a row.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
        Probabilities. A label of which the leaves know nothing has its mean in training.
    """
    return _prediction.predict(forest, X, is_left_out, n_threads)
