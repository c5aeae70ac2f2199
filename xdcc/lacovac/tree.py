"""``LabelTrees``: trees with horizontal and vertical splits as arrays, and how they are grown.

:func:`grow_trees` is Algorithm 1: a leaf if the labels are pure or the instances too few; else a
vertical split if the labels fall into clusters (``clustering.py``); else a horizontal split on
the best feature. It encodes what the kernel (``_growing.pyx``) needs, lets it grow the nodes, takes
away what pruning takes (``pruning.py``), and then lets the training rows fall through the finished
tree to count labels and labelsets in its leaves (``_leaves.pyx``).

All trees lie in one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, its
root first, and a node's children lie side by side from ``child`` on.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.lacovac import _growing, _leaves
from xdcc.lacovac._growing import KINDS
from xdcc.lacovac.pruning import prune

Criterion = Literal["covariance", "variance", "gain_ratio"]

Clustering = Literal["single_linkage", "all_or_none"]

ThresholdSize = Literal["node", "train"]

_DENSE_ABOVE = 0.5
"""Features of which fewer entries are not zero are searched as sparse ones, whatever they came as.

Above it a dense array needs less memory than a sparse one, too.
"""


class LeafLabelsets(NamedTuple):
    """The labelsets of a leaf.

    Attributes
    ----------
    labels : int array of shape (n_labels_of_leaf,)
        The leaf's labels.
    labelsets : int8 array of shape (n_labelsets, n_labels_of_leaf)
        Zeros and ones. The first one is what the leaf predicts, the others come in the order of
        their probabilities.
    proba : float array of shape (n_labelsets,)
        Their relative frequencies.

    Examples
    --------
    >>> leaf = LeafLabelsets(
    ...     labels=np.array([0, 2]),
    ...     labelsets=np.array([[1, 1], [0, 0]], dtype=np.int8),
    ...     proba=np.array([0.7, 0.3]),
    ... )
    >>> leaf.labels[leaf.labelsets[0] == 1]  # what it predicts
    array([0, 2])
    """

    labels: NDArray[np.int32]
    labelsets: NDArray[np.int8]
    proba: NDArray[np.float64]


@dataclass(frozen=True)
class GrowthRules:
    """How trees are grown; the parameters of `LaCovaCClassifier` describe them.

    Attributes
    ----------
    criterion : {"covariance", "variance", "gain_ratio"}
        Score of a horizontal split.
    clustering : {"single_linkage", "all_or_none"} or None
        When labels are separated.
    threshold_size : {"node", "train"}
        Which number of instances makes λ.
    max_depth : int or None
        Most horizontal splits on a path.
    min_samples_split, min_samples_leaf : int
        Fewest instances of a node that is split, and of a child of a horizontal split.
    ccp_alpha : float
        Strength up to which links are pruned.
    max_leaf_nodes : int or None
        Most leaves.
    max_features : int
        Number of features that are drawn for a horizontal split; 0 is all.
    """

    criterion: Criterion
    clustering: Clustering | None
    threshold_size: ThresholdSize
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    ccp_alpha: float
    max_leaf_nodes: int | None
    max_features: int


@dataclass(frozen=True)
class LabelTrees:
    """Grown trees.

    Attributes
    ----------
    start : int64 array of shape (n_trees + 1,)
        First node of each tree.
    kind : int8 array of shape (n_nodes,)
        What a node is: a number of `KINDS`.
    feature : int32 array of shape (n_nodes,)
        Feature of a horizontal split, else -1.
    threshold : float32 array of shape (n_nodes,)
        A numeric split sends larger values to the second child.
    value : float32 array of shape (n_nodes,)
        Category that leads from the parent's nominal split to the node.
    child, n_children : int32 arrays of shape (n_nodes,)
        First child (-1 in a leaf), number of children.
    default_child : int32 array of shape (n_nodes,)
        Where, counted from the first child, a horizontal split sends missing values and
        categories without a branch.
    n_samples : int32 array of shape (n_nodes,)
        Training instances.
    depth : int32 array of shape (n_nodes,)
        Horizontal splits above the node.
    impurity : float64 array of shape (n_nodes,)
        Sum of the variances of the node's labels.
    label_list : int32 array of shape (n_nodes,)
        Number of the node's list of labels.
    list_start, list_label : int64 and int32 arrays
        List `k` is ``list_label[list_start[k]:list_start[k + 1]]``.
    count_start, label_count : int64 and int32 arrays
        Positive instances of each label of leaf `i` are
        ``label_count[count_start[i]:count_start[i + 1]]``, in the order of its list.
    label_predicted : int8 array
        Whether the most frequent labelset of a leaf has the label, arranged as `label_count`.
    labelset_start, labelset_count : int64 and int32 arrays
        Leaf `i` has the labelsets ``labelset_start[i]`` to ``labelset_start[i + 1]``, the
        predicted one first.
    member_start, member : int64 and int32 arrays
        Labels of labelset `s`: ``member[member_start[s]:member_start[s + 1]]``.
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

    start: NDArray[np.int64]
    kind: NDArray[np.int8]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: NDArray[np.float32]
    child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    default_child: NDArray[np.int32]
    n_samples: NDArray[np.int32]
    depth: NDArray[np.int32]
    impurity: NDArray[np.float64]
    label_list: NDArray[np.int32]
    list_start: NDArray[np.int64]
    list_label: NDArray[np.int32]
    count_start: NDArray[np.int64]
    label_count: NDArray[np.int32]
    label_predicted: NDArray[np.int8]
    labelset_start: NDArray[np.int64]
    labelset_count: NDArray[np.int32]
    member_start: NDArray[np.int64]
    member: NDArray[np.int32]
    n_labels: int
    n_features: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.kind)

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Leaves, in the order of their numbers."""
        return np.flatnonzero(self.kind == KINDS["leaf"])

    def labels(self, node: int) -> NDArray[np.int32]:
        """Labels of a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        int32 array
            Indices of labels, ascending.
        """
        of_node = self.label_list[node]
        return self.list_label[self.list_start[of_node] : self.list_start[of_node + 1]]

    def children(self, node: int) -> range:
        """Numbers of the children of a node; none of a leaf."""
        first = int(self.child[node])
        return range(first, first + int(self.n_children[node]))

    def labelsets(self, leaf: int) -> LeafLabelsets:
        """Labelsets of a leaf with their relative frequencies.

        Parameters
        ----------
        leaf : int
            Number of the leaf among the nodes.

        Returns
        -------
        LeafLabelsets

        Raises
        ------
        ValueError
            If the node is not a leaf.
        """
        if self.kind[leaf] != KINDS["leaf"]:
            raise ValueError(f"Node {leaf} is not a leaf: labelsets are counted in leaves only.")
        labels = self.labels(leaf)
        begin, end = self.labelset_start[leaf : leaf + 2]
        labelsets = np.zeros((end - begin, len(labels)), np.int8)
        for row, k in enumerate(range(begin, end)):
            members = self.member[self.member_start[k] : self.member_start[k + 1]]
            labelsets[row, np.searchsorted(labels, members)] = 1
        counts = self.labelset_count[begin:end]
        return LeafLabelsets(labels, labelsets, counts / self.n_samples[leaf])


@documented
def grow_trees(
    X: Features,
    Y: Labels,
    categorical: NDArray[np.bool_],
    rules: GrowthRules,
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> LabelTrees:
    """Grow trees and count what is in their leaves (Algorithm 1).

    Parameters
    ----------
    {features_with_zeros}
    {zeros_and_ones}
    categorical : bool array of shape (n_features,)
        Which features are nominal: a split has a branch for each category.
    rules : GrowthRules
        How trees are grown.
    rows : int32 array of shape (n_trees, n_rows)
        Training rows of each tree; a row can occur more than once.
    seeds : uint64 array of shape (n_trees,)
        A seed for each tree's choice of features.
    n_threads : int
        Number of threads, over trees or, if there is one only, over features. It does not change
        the trees.

    Returns
    -------
    LabelTrees
    """
    columns = sparse.csc_matrix(X) if sparse.issparse(X) else X
    categories = category_values(columns, categorical)
    # Two categories can be searched like two numbers, which is faster.
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
    """X as a dense array by columns or as a CSR matrix."""
    n_entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    if n_entries <= _DENSE_ABOVE * X.shape[0] * X.shape[1]:
        return sparse.csr_matrix(X)
    return np.asfortranarray(X.toarray() if sparse.issparse(X) else X)


def _name_categories(
    tree: dict[str, NDArray[Any]], values: NDArray[np.float32], start: NDArray[np.int32]
) -> None:
    """Make numeric splits on features with two categories nominal ones."""
    numeric = np.flatnonzero(tree["kind"] == KINDS["numeric"])
    nodes = numeric[np.diff(start)[tree["feature"][numeric]] > 0]
    tree["kind"][nodes] = KINDS["nominal"]
    tree["threshold"][nodes] = 0
    for side in range(2):
        tree["value"][tree["child"][nodes] + side] = values[start[tree["feature"][nodes]] + side]


def _joined(grown: list[dict[str, NDArray[Any]]], n_labels: int, n_features: int) -> LabelTrees:
    """Put trees one after the other; their leaves are empty."""
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
    """Add what the leaves hold."""
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
