"""``LabelTrees``: trees with horizontal and vertical splits, stored as arrays.

:func:`grow_trees` is Algorithm 1: a node becomes a leaf if its labels are pure or its instances too
few; otherwise a vertical split if its labels form clusters; otherwise a horizontal split on the
best feature. The trees are grown (``_growing.pyx``) and pruned (``pruning.py``); then the labels
and labelsets of the training rows are counted in the leaves (``_leaves.pyx``).

All trees share one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, root
first, and the children of a node are contiguous, starting at ``child``.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.base.state_checks import check_counts, check_indices, check_tree, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, In, Shape, Starts, Within
from xdcc.comparators.lacovac import _growing, _leaves
from xdcc.comparators.lacovac._growing import KINDS
from xdcc.comparators.lacovac.pruning import prune

Criterion = Literal["covariance", "variance", "gain_ratio"]

Clustering = Literal["single_linkage", "all_or_none"]

ThresholdSize = Literal["node", "train"]

_DENSE_ABOVE = 0.5
"""Share of nonzero entries above which X is dense in the search: then it needs less memory, too."""


class LeafLabelsets(NamedTuple):
    """The labelsets of a leaf.

    Attributes
    ----------
    labels : int array of shape (n_labels_of_leaf,)
        Labels of the leaf.
    labelsets : int8 array of shape (n_labelsets, n_labels_of_leaf)
        Zeros and ones. The leaf predicts the first labelset; the others are sorted by decreasing
        probability.
    proba : float array of shape (n_labelsets,)
        Relative frequencies of the labelsets.

    Examples
    --------
    >>> leaf = LeafLabelsets(
    ...     labels=np.array([0, 2]),
    ...     labelsets=np.array([[1, 1], [0, 0]], dtype=np.int8),
    ...     proba=np.array([0.7, 0.3]),
    ... )
    >>> leaf.labels[leaf.labelsets[0] == 1]  # the predicted labels
    array([0, 2])
    """

    labels: NDArray[np.int32]
    labelsets: NDArray[np.int8]
    proba: NDArray[np.float64]


@dataclass(frozen=True)
class GrowthRules:
    """Checked parameters of `LaCovaCClassifier`, and `max_features` as a number (0 for all)."""

    criterion: Criterion
    clustering: Clustering | None
    threshold_size: ThresholdSize
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    ccp_alpha: float
    max_leaf_nodes: int | None
    max_features: int


@stored
@dataclass(frozen=True)
class LabelTrees:
    """Grown trees.

    Attributes
    ----------
    start : int64 array of shape (n_trees + 1,)
        First node of each tree.
    kind : int8 array of shape (n_nodes,)
        Kind of each node, one of `KINDS`.
    feature : int32 array of shape (n_nodes,)
        Feature of a horizontal split, else -1.
    threshold : float32 array of shape (n_nodes,)
        A numeric split sends larger values to the second child.
    value : float32 array of shape (n_nodes,)
        Category of the branch from the parent's nominal split.
    child, n_children : int32 arrays of shape (n_nodes,)
        First child (-1 in a leaf) and number of children.
    default_child : int32 array of shape (n_nodes,)
        Child of a horizontal split for missing values and categories without a branch, as an offset
        from the first child.
    n_samples : int32 array of shape (n_nodes,)
        Number of training instances.
    depth : int32 array of shape (n_nodes,)
        Number of horizontal splits above the node.
    impurity : float64 array of shape (n_nodes,)
        Sum of the variances of the node's labels.
    label_list : int32 array of shape (n_nodes,)
        Index of the node's list of labels.
    list_start, list_label : int64 and int32 arrays
        List `k` is ``list_label[list_start[k]:list_start[k + 1]]``.
    count_start, label_count : int64 and int32 arrays
        The labels of leaf `i`, in the order of its list, have
        ``label_count[count_start[i]:count_start[i + 1]]`` positive instances.
    label_predicted : int8 array
        Whether the most frequent labelset of a leaf has a label, in the order of `label_count`.
    labelset_start, labelset_count : int64 and int32 arrays
        Leaf `i` has the labelsets ``labelset_start[i]`` to ``labelset_start[i + 1]``, the
        predicted one first.
    member_start, member : int64 and int32 arrays
        Labelset `s` has the labels ``member[member_start[s]:member_start[s + 1]]``.
    n_labels, n_features : int
        Numbers of labels and features.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> tree = xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y).tree_
    >>> tree.n_children, tree.feature
    (array([2, 2, 2, 0, 0, 0, 0], dtype=int32), array([-1,  0,  0, -1, -1, -1, -1], dtype=int32))
    """

    start: Annotated[NDArray[np.int64], Starts("kind")]
    kind: Annotated[NDArray[np.int8], Shape(None), In(KINDS.values())]
    feature: Annotated[NDArray[np.int32], Shape("kind")]
    threshold: Annotated[NDArray[np.float32], Shape("kind")]
    value: Annotated[NDArray[np.float32], Shape("kind")]
    child: Annotated[NDArray[np.int32], Shape("kind")]
    n_children: Annotated[NDArray[np.int32], Shape("kind")]
    default_child: Annotated[NDArray[np.int32], Shape("kind")]
    n_samples: Annotated[NDArray[np.int32], Shape("kind"), Within(1)]
    depth: Annotated[NDArray[np.int32], Shape("kind")]
    impurity: Annotated[NDArray[np.float64], Shape("kind")]
    label_list: Annotated[NDArray[np.int32], Shape("kind"), Below("n_lists")]
    list_start: Annotated[NDArray[np.int64], Starts("list_label")]
    list_label: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]
    count_start: Annotated[NDArray[np.int64], Starts("label_count", "kind")]
    label_count: NDArray[np.int32]
    label_predicted: Annotated[NDArray[np.int8], Shape("label_count")]
    labelset_start: Annotated[NDArray[np.int64], Starts("labelset_count", "kind")]
    labelset_count: Annotated[NDArray[np.int32], Shape(None), Within(1)]
    member_start: Annotated[NDArray[np.int64], Starts("member", "labelset_count")]
    member: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]
    n_labels: int
    n_features: int

    def _check_state(self) -> None:
        of_kind = {name: self.kind == number for name, number in KINDS.items()}
        is_leaf, vertical = of_kind["leaf"], of_kind["vertical"]
        parent = check_tree(self.start, is_leaf, self.child, self.n_children)
        horizontal = ~is_leaf & ~vertical
        check_indices(self.feature[horizontal], self.n_features, "feature")
        of_node = self.n_children[horizontal]
        check_indices(self.default_child[horizontal], of_node, "default_child")
        require((self.n_children[of_kind["numeric"]] == 2).all(), "n_children")
        n_listed = np.diff(self.list_start)[self.label_list]
        fits = np.diff(self.count_start) == np.where(is_leaf, n_listed, 0)
        require(fits.all(), "count_start")
        check_counts(self.label_count, self.n_samples, self.count_start, "label_count")
        self._check_labels_of_nodes(parent, vertical)

    def _check_labels_of_nodes(self, parent: NDArray[np.intp], vertical: NDArray[np.bool_]) -> None:
        """Check that one leaf predicts each label, and that its labelsets have no other labels."""
        # A label in a list, as one number.
        listed = np.repeat(np.arange(self.n_lists), np.diff(self.list_start)) * self.n_labels
        listed += self.list_label
        require((np.diff(listed) > 0).all(), "list_label")
        for root in self.start[:-1].tolist():
            require(np.array_equal(self.labels(root), np.arange(self.n_labels)), "list_label")
        below = (parent >= 0) & ~vertical[parent]
        same = self.label_list[below] == self.label_list[parent[below]]
        require(same.all(), "label_list")
        for node in np.flatnonzero(vertical).tolist():
            parts = np.concatenate([self.labels(child) for child in self.children(node)])
            require(np.array_equal(np.sort(parts), self.labels(node)), "label_list")
        leaf = np.repeat(np.arange(self.n_nodes), np.diff(self.labelset_start))
        of_member = np.repeat(self.label_list[leaf].astype(np.int64), np.diff(self.member_start))
        found = np.isin(of_member * self.n_labels + self.member, listed)
        require(found.all(), "member")

    @property
    def n_lists(self) -> int:
        """Number of lists of labels."""
        return len(self.list_start) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.kind)

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Indices of the leaves."""
        return np.flatnonzero(self.kind == KINDS["leaf"])

    def labels(self, node: int) -> NDArray[np.int32]:
        """Return the labels of a node.

        Parameters
        ----------
        node : int
            Index of the node.

        Returns
        -------
        int32 array
            Ascending indices of labels.
        """
        of_node = self.label_list[node]
        return self.list_label[self.list_start[of_node] : self.list_start[of_node + 1]]

    def children(self, node: int) -> range:
        """Return the indices of the children of a node."""
        first = int(self.child[node])
        return range(first, first + int(self.n_children[node]))

    def labelsets(self, leaf: int) -> LeafLabelsets:
        """Return the labelsets of a leaf and their relative frequencies.

        Parameters
        ----------
        leaf : int
            Index of the leaf.

        Returns
        -------
        LeafLabelsets

        Raises
        ------
        ValueError
            If the node is not a leaf.
        """
        if self.kind[leaf] != KINDS["leaf"]:
            raise ValueError(f"Node {leaf} is not a leaf; only leaves have labelsets.")
        labels = self.labels(leaf)
        begin, end = self.labelset_start[leaf : leaf + 2]
        labelsets = np.zeros((end - begin, len(labels)), np.int8)
        for row, k in enumerate(range(begin, end)):
            members = self.member[self.member_start[k] : self.member_start[k + 1]]
            labelsets[row, np.searchsorted(labels, members)] = 1
        counts = self.labelset_count[begin:end]
        return LeafLabelsets(labels, labelsets, counts / self.n_samples[leaf])


def grow_trees(
    X: Features,
    Y: Labels,
    categorical: NDArray[np.bool_],
    rules: GrowthRules,
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> LabelTrees:
    """Grow trees and count the labels in their leaves (Algorithm 1).

    `rows` (n_trees, n_rows) are the training rows of each tree, with repetitions, and `seeds`
    (n_trees,) draw its features. `categorical` (n_features,) marks nominal features.
    """
    columns = sparse.csc_matrix(X) if sparse.issparse(X) else X
    categories = category_values(columns, categorical)
    # Searching two categories as two numbers is faster.
    searched = category_values(columns, np.diff(categories[1]) > 2)
    label_rows = sparse.csr_array(Y)
    grown = _growing.grow(_searched(X), label_rows, searched, rules, rows, seeds, n_threads)
    for tree in grown:
        _name_categories(tree, *categories)
    if rules.ccp_alpha or rules.max_leaf_nodes is not None:
        grown = [prune(tree, rules.ccp_alpha, rules.max_leaf_nodes) for tree in grown]
    trees = _joined(grown, Y.shape[1], X.shape[1])
    contents = _leaves.fill(trees, X, label_rows, rows, n_threads)
    return _filled(trees, contents)


def _searched(X: Any) -> Features:
    """Convert X to a dense array in Fortran order or a CSR matrix."""
    n_entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    if n_entries <= _DENSE_ABOVE * X.shape[0] * X.shape[1]:
        return sparse.csr_matrix(X)
    return np.asfortranarray(X.toarray() if sparse.issparse(X) else X)


def _name_categories(
    tree: dict[str, NDArray[Any]], values: NDArray[np.float32], start: NDArray[np.int32]
) -> None:
    """Turn numeric splits on features with two categories into nominal splits."""
    numeric = np.flatnonzero(tree["kind"] == KINDS["numeric"])
    nodes = numeric[np.diff(start)[tree["feature"][numeric]] > 0]
    tree["kind"][nodes] = KINDS["nominal"]
    tree["threshold"][nodes] = 0
    for side in range(2):
        tree["value"][tree["child"][nodes] + side] = values[start[tree["feature"][nodes]] + side]


def _joined(grown: list[dict[str, NDArray[Any]]], n_labels: int, n_features: int) -> LabelTrees:
    """Join trees, with empty leaves."""
    start = np.cumsum([0, *(len(tree["kind"]) for tree in grown)])
    lists = np.cumsum([0, *(len(tree["list_start"]) - 1 for tree in grown)])
    labels = np.cumsum([0, *(len(tree["list_label"]) for tree in grown)])
    for tree, node, label_list, label in zip(grown, start, lists, labels, strict=False):
        tree["child"][tree["child"] >= 0] += node
        tree["label_list"] += label_list
        tree["list_start"] = tree["list_start"][:-1] + label
    arrays = {name: np.concatenate([tree[name] for tree in grown]) for name in grown[0]}
    arrays["list_start"] = np.append(arrays["list_start"], labels[-1])
    no_count = np.empty(0, np.int32)
    return LabelTrees(
        start=start,
        **arrays,
        count_start=np.zeros(1, np.int64),
        label_count=no_count,
        label_predicted=np.empty(0, np.int8),
        labelset_start=np.zeros(1, np.int64),
        labelset_count=no_count,
        member_start=np.zeros(1, np.int64),
        member=no_count,
        n_labels=n_labels,
        n_features=n_features,
    )


def _filled(trees: LabelTrees, contents: list[dict[str, NDArray[Any]]]) -> LabelTrees:
    """Add the counts of the leaves."""
    arrays = {field.name: getattr(trees, field.name) for field in fields(trees)}
    for name in ("label_count", "label_predicted", "labelset_count", "member"):
        arrays[name] = np.concatenate([tree[name] for tree in contents])
    for ends, name, counted in (
        ("count_end", "count_start", "label_count"),
        ("labelset_end", "labelset_start", "labelset_count"),
        ("member_end", "member_start", "member"),
    ):
        before = np.cumsum([0, *(len(tree[counted]) for tree in contents)])
        arrays[name] = np.concatenate(
            [[0], *(tree[ends] + n for tree, n in zip(contents, before, strict=False))]
        ).astype(np.int64)
    return LabelTrees(**arrays)
