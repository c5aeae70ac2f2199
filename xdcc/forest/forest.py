"""``ExtraTrees``: extra trees as arrays, their training and their predictions.

All trees share one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, its root
first, and a node's two children are ``child`` and the node after it. A leaf lists its training
rows, so it needs no memory for labels; if few labels are positive in many rows, it holds their
shares instead. :func:`grow_forest` prepares the input of the kernel that grows trees
(``_sketched_growing.pyx``); :func:`mean_proba` predicts probabilities (``_prediction.pyx``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.base.margins import margins_of
from xdcc.base.memory import require_memory
from xdcc.base.state_checks import check_indices, check_tree, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, In, Shape, Starts, Within
from xdcc.base.weights import by_entry, row_weights
from xdcc.base.workers import grand_total, rows_of_all, sum_of_all
from xdcc.forest import _prediction, _sketched_growing
from xdcc.forest._sketched_growing import KINDS
from xdcc.forest.columns import FeatureColumns

_LEAF_BYTES = 52
"""Memory that a leaf takes with its share of the tests above it, without its rows."""

_VALUE_BYTES = 13
"""Memory of a value of a dense feature: the value, a sorted one, its bin, and a copy."""

_ENTRY_BYTES = 24
"""Memory of an entry of a sparse X: with its position in three forms."""

_LABEL_BYTES = 8
"""Memory of a label of a row while positive and unknown ones are listed."""


def _no_shares() -> NDArray[np.float32]:
    return np.empty(0, np.float32)


@stored
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
        Mean of each label over the rows, of all workers, in which it is known.
    weight : float32 array of shape (n_rows,) or (0,)
        Positive weights of the rows; empty if all count equally.
    positive_share, unknown_share : float32 arrays
        For each of `positive` the label, 1 or a probability, times the weight of the entry as a
        share of the row's; for each of `unknown`, which then lists all entries that weigh less than
        their rows, the share that is missing. Empty if labels are 0, 1 or unknown, and known ones
        weigh as much as their rows.
    """

    positive_start: Annotated[NDArray[np.int64], Starts("positive")]
    positive: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]
    unknown_start: Annotated[NDArray[np.int64], Starts("unknown", "n_rows")]
    unknown: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]
    mean: Annotated[NDArray[np.float64], Shape(None), Within(0, 1)]
    weight: Annotated[NDArray[np.float32], Shape(None), Within(0, low_open=True)]
    positive_share: Annotated[NDArray[np.float32], Shape(None), Within(0, 1)] = field(
        default_factory=_no_shares
    )
    unknown_share: Annotated[NDArray[np.float32], Shape(None), Within(0, 1)] = field(
        default_factory=_no_shares
    )

    def _check_state(self) -> None:
        require(len(self.weight) in (0, self.n_rows), "weight")
        require(len(self.positive_share) in (0, len(self.positive)), "positive_share")
        require(len(self.unknown_share) in (0, len(self.unknown)), "unknown_share")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.positive_start) - 1

    @property
    def positive_rows(self) -> sparse.csr_array:
        """Share of the training rows in which each label is positive, `(n_rows, n_labels)`."""
        return self._rows(self.positive_start, self.positive, self.positive_share)

    @property
    def unknown_rows(self) -> sparse.csr_array:
        """Shares in which labels are unknown, `(n_rows, n_labels)`."""
        return self._rows(self.unknown_start, self.unknown, self.unknown_share)

    def _rows(
        self, start: NDArray[np.int64], labels: NDArray[np.int32], share: NDArray[np.float32]
    ) -> sparse.csr_array:
        values = share.astype(np.float64) if len(share) else np.ones(len(labels))
        return sparse.csr_array((values, labels, start), shape=(len(start) - 1, self.n_labels))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.mean)


@stored
@dataclass(frozen=True)
class ExtraTrees:
    """Extra trees.

    Attributes
    ----------
    start : int64 array of shape (n_trees + 1,)
        First node of each tree.
    kind : int8 array of shape (n_nodes,)
        Kind of each node: a number of `KINDS`.
    missing : int8 array of shape (n_nodes,)
        Child of a numeric test to which a missing value goes, 0 or 1.
    feature : int32 array of shape (n_nodes,)
        The feature that a node tests.
    threshold : float32 array of shape (n_nodes,)
        A numeric test sends larger values to the second child.
    child : int32 array of shape (n_nodes,)
        First child; the number of a leaf.
    category_set : uint64 array of shape (4 * n_category_nodes,)
        A bit for each bin of categories that goes to the second child, for each of
        `category_nodes`; bit 255 is for missing and new values.
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

    start: Annotated[NDArray[np.int64], Starts("kind")]
    kind: Annotated[NDArray[np.int8], Shape(None), In(KINDS.values())]
    missing: Annotated[NDArray[np.int8], Shape("kind"), In((0, 1))]
    feature: Annotated[NDArray[np.int32], Shape("kind")]
    threshold: Annotated[NDArray[np.float32], Shape("kind"), Within()]
    child: Annotated[NDArray[np.int32], Shape("kind")]
    category_set: Annotated[NDArray[np.uint64], Shape(None)]
    leaf_weight: Annotated[NDArray[np.float64], Shape(None), Within(0, low_open=True)]
    row_start: Annotated[NDArray[np.int64], Starts("row", "leaf_weight")]
    row: Annotated[NDArray[np.int32], Shape(None), Below("labels.n_rows")]
    label_start: Annotated[NDArray[np.int64], Starts("label", "leaf_weight")]
    label: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]
    share: Annotated[NDArray[np.float32], Shape("label"), Within(0, 1)]
    labels: LabelRows
    category_value: NDArray[np.float32]
    category_start: NDArray[np.int32]
    category_bin: NDArray[np.uint8]

    def _check_state(self) -> None:
        is_leaf = self.kind == KINDS["leaf"]
        check_tree(self.start, is_leaf, self.child, np.where(is_leaf, 0, 2))
        leaves, n_leaves = self.child[is_leaf], len(self.leaf_weight)
        check_indices(leaves, n_leaves, "child")
        require((np.bincount(leaves, minlength=n_leaves) == 1).all(), "child")
        n_sets = int((self.kind == KINDS["categories"]).sum())
        require(len(self.category_set) == 4 * n_sets, "category_set")

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.labels.n_labels

    @property
    def tested_features(self) -> NDArray[np.int32]:
        """The feature of each test, (n_tests,)."""
        return self.feature[self.kind != KINDS["leaf"]]

    @property
    def category_nodes(self) -> NDArray[np.intp]:
        """The nodes that test categories, in the order in which they became tests.

        A node gets its children when it becomes a test, and the smaller child grows first: so this
        is not the order of the nodes, but that of their children.
        """
        nodes = np.flatnonzero(self.kind == KINDS["categories"])
        return nodes[np.argsort(self.child[nodes])]

    @property
    def set_number(self) -> NDArray[np.int32]:
        """Position of each node in `category_nodes`, (n_nodes,), 0 if it is not there; or empty.

        Examples
        --------
        >>> import xdcc
        >>> X, Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.eye(4, dtype=int)
        >>> params = {"min_samples_leaf": 1, "categorical_features": [0, 1]}
        >>> model = xdcc.SketchedExtraTreesClassifier(1, **params).fit(X, Y)
        >>> (model.forest_.set_number[model.forest_.category_nodes] == [0, 1, 2]).all()
        np.True_
        """
        nodes = self.category_nodes
        number = np.zeros(len(self.kind) if len(nodes) else 0, np.int32)
        number[nodes] = np.arange(len(nodes))
        return number


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
        0, 1, or NaN where a label is unknown; or probabilities.
    weight : float32 array of shape (n_rows,) or (n_rows, n_labels), or None
        Positive weights of the rows, or weights of the entries, 0 where a label is unknown.

    Returns
    -------
    LabelRows
    """
    if ((Y > 0) & (Y < 1)).any() or (weight is not None and weight.ndim == 2):
        return _shared_label_rows(Y, weight)
    is_unknown = np.isnan(Y)
    positive, unknown = sparse.csr_array(Y == 1), sparse.csr_array(is_unknown)
    by_row = np.ones(len(Y)) if weight is None else weight.astype(np.float64)
    mean = sum_of_all(by_row @ positive) / sum_of_all(by_row @ ~is_unknown)
    return LabelRows(
        positive.indptr.astype(np.int64),
        positive.indices.astype(np.int32),
        unknown.indptr.astype(np.int64),
        unknown.indices.astype(np.int32),
        mean,
        np.empty(0, np.float32) if weight is None else weight,
    )


def _shared_label_rows(Y: Labels, weight: NDArray[np.float32] | None) -> LabelRows:
    """List what is positive and what is unknown in each row, by the shares of entries."""
    every = np.ones(len(Y), np.float32) if weight is None else weight
    of_entries = by_entry(every) * ~np.isnan(Y)
    share = of_entries / by_entry(row_weights(every))
    positive, unknown = sparse.csr_array(np.nan_to_num(Y) * share), sparse.csr_array(1 - share)
    of_positive = (of_entries * np.nan_to_num(Y)).sum(axis=0, dtype=np.float64)
    mean = sum_of_all(of_positive) / sum_of_all(of_entries.sum(axis=0, dtype=np.float64))
    return LabelRows(
        positive.indptr.astype(np.int64),
        positive.indices.astype(np.int32),
        unknown.indptr.astype(np.int64),
        unknown.indices.astype(np.int32),
        mean,
        np.empty(0, np.float32) if weight is None else row_weights(weight),
        positive.data.astype(np.float32),
        unknown.data.astype(np.float32),
    )


class MemoryNeed(NamedTuple):
    """Bytes that forests take, at most.

    Attributes
    ----------
    forest : float
        A grown forest; it is there twice while trees are joined.
    growing : float
        Further memory of threads while they grow trees.
    data : float
        The features as trees search them, and the labels as leaves refer to them.
    """

    forest: float
    growing: float
    data: float

    @classmethod
    def of(
        cls, shape: TreeShape, n_trees: int, X: Features, n_labels: int, n_sparse: int, threads: int
    ) -> Self:
        """Estimate them for trees on rows `X`; each worker gets the trees of all."""
        n_rows, n_values = shape.n_sampled, shape.sketch_size or n_labels
        n_leaves = max(n_rows // shape.min_samples_leaf, 1)
        n_slots = n_rows.bit_length()  # the smaller child grows first
        of_thread = 16.0 * n_rows * n_values + 4.0 * n_sparse * (1 + n_values) * n_slots
        of_data = float(_VALUE_BYTES * X.shape[0] * X.shape[1])
        if isinstance(X, sparse.csr_matrix):
            n_dense = X.shape[1] - n_sparse
            of_data = float(_VALUE_BYTES * X.shape[0] * n_dense + _ENTRY_BYTES * X.nnz)
        return cls(
            grand_total(n_trees * (4.0 * n_rows + _LEAF_BYTES * n_leaves)),
            min(threads, n_trees) * of_thread,
            of_data + float(_LABEL_BYTES * X.shape[0] * n_labels),
        )

    def total(self, n_forests: int = 1, at_once: int = 1) -> float:
        """Return the bytes of a number of forests, of which `at_once` are grown at a time."""
        return (n_forests + at_once) * self.forest + self.growing + at_once * self.data

    def require(self, what: str, n_forests: int = 1, at_once: int = 1) -> None:
        """Raise a `MemoryError`, on all workers, if there is not that much memory."""
        advice = "Take fewer trees, a smaller max_samples or a larger min_samples_leaf."
        if self.growing > 2 * self.forest:
            advice = "Take a smaller sketch_size, fewer threads or a smaller max_samples."
        require_memory(self.total(n_forests, at_once), what, advice)


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


def share_of_trees(n_trees: int, n_rows: int) -> slice:
    """Tell which trees a worker grows, by the number of its rows: as large a share as of the rows.

    Examples
    --------
    >>> share_of_trees(200, 1000)
    slice(0, 200, None)
    """
    before, n_rows_of_all = rows_of_all(n_rows)
    first, end = (n_trees * n // max(n_rows_of_all, 1) for n in (before, before + n_rows))
    return slice(first, end)


def join(forests: Sequence[ExtraTrees]) -> ExtraTrees:
    """Join forests whose labels have the same means, and whose categories have the same bins.

    Parameters
    ----------
    forests : sequence of ExtraTrees
        At least one.

    Returns
    -------
    ExtraTrees
        All trees, in their order.
    """
    if len(forests) == 1:
        return forests[0]
    of_labels = [forest.labels for forest in forests]
    n_nodes = [len(forest.kind) for forest in forests]
    n_leaves = [len(forest.leaf_weight) for forest in forests]
    n_rows = [len(labels.positive_start) - 1 for labels in of_labels]
    is_leaf = np.concatenate([forest.kind for forest in forests]) == KINDS["leaf"]
    child = [forest.child for forest in forests]
    labels = LabelRows(
        _joined_starts([each.positive_start for each in of_labels]),
        np.concatenate([each.positive for each in of_labels]),
        _joined_starts([each.unknown_start for each in of_labels]),
        np.concatenate([each.unknown for each in of_labels]),
        of_labels[0].mean,
        np.concatenate([each.weight for each in of_labels]),
        np.concatenate([each.positive_share for each in of_labels]),
        np.concatenate([each.unknown_share for each in of_labels]),
    )
    joined = ("kind", "missing", "feature", "threshold", "category_set", "leaf_weight")
    return replace(
        forests[0],
        **{
            name: np.concatenate([getattr(forest, name) for forest in forests])
            for name in (*joined, "label", "share")
        },
        start=_joined_starts([forest.start for forest in forests]),
        child=np.where(is_leaf, _moved(child, n_leaves), _moved(child, n_nodes)),
        row_start=_joined_starts([forest.row_start for forest in forests]),
        row=_moved([forest.row for forest in forests], n_rows),
        label_start=_joined_starts([forest.label_start for forest in forests]),
        labels=labels,
    )


def _moved[T: np.integer](parts: Sequence[NDArray[T]], sizes: Sequence[int]) -> NDArray[T]:
    """Concatenate indices of things; `sizes` has the number of things of each part."""
    first = np.cumsum([0, *sizes[:-1]])
    pairs = zip(parts, first, strict=True)
    return np.concatenate([part + part.dtype.type(at) for part, at in pairs])


def _joined_starts(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Concatenate the beginnings of lists, each followed by the end of the last list."""
    ends = [start[1:] for start in starts]
    return np.append(starts[0][:1], _moved(ends, [int(start[-1]) for start in starts]))


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


def smoothed_proba(forest: ExtraTrees, proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average with one more tree that knows the labels' frequencies and nothing else."""
    n_trees = len(forest.start) - 1
    return (n_trees * proba + forest.labels.mean) / (n_trees + 1)


def smoothed_margins(forest: ExtraTrees, proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute log-odds of smoothed probabilities, finite."""
    return margins_of(smoothed_proba(forest, proba))
