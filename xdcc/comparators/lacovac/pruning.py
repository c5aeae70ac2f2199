"""Cost-complexity pruning of a label tree by weakest links (Breiman et al., 1984).

The cost of a leaf is the sum of its label variances, weighted by its share of the training
instances; its complexity is its number of labels, since each label in a leaf is one estimate. A
vertical split changes neither, so pruning removes horizontal splits. The weakest link, whose
subtree lowers the cost least per additional estimate, becomes a leaf first.
"""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.comparators.lacovac._growing import KINDS

_NODE_ARRAYS = (
    "kind",
    "feature",
    "threshold",
    "value",
    "child",
    "n_children",
    "default_child",
    "n_samples",
    "depth",
    "impurity",
    "label_list",
)


def prune(
    tree: dict[str, NDArray[Any]], ccp_alpha: float, max_leaf_nodes: int | None
) -> dict[str, NDArray[Any]]:
    """Prune a tree, weakest link first; `tree` holds its arrays as in `LabelTrees`.

    Links up to the strength `ccp_alpha` (decrease of cost per estimate; 0 keeps all) are cut, and
    further links until there are at most `max_leaf_nodes` leaves. If no horizontal split is left,
    vertical splits are removed, the last one first.
    """
    pruning = _Pruning(tree)
    limit = len(tree["kind"]) if max_leaf_nodes is None else max_leaf_nodes
    while pruning.n_leaves > 1:
        node, strength = pruning.weakest_link()
        if pruning.n_leaves <= limit and (strength > ccp_alpha or not ccp_alpha):
            break
        pruning.cut(node)
    return pruning.rest()


class _Pruning:
    """A tree being pruned."""

    def __init__(self, tree: dict[str, NDArray[Any]]) -> None:
        self.tree = tree
        n_labels = np.diff(tree["list_start"])[tree["label_list"]]
        self.cost = tree["impurity"] * tree["n_samples"] / tree["n_samples"][0]
        self.size = n_labels
        self.is_leaf = tree["kind"] == KINDS["leaf"]
        self.vertical = tree["kind"] == KINDS["vertical"]
        self.parent = np.full(len(n_labels), -1)
        # Cost, estimates and number of the leaves below each node.
        self.below_cost = np.where(self.is_leaf, self.cost, 0)
        self.below_size = np.where(self.is_leaf, n_labels, 0)
        self.below_leaves = self.is_leaf.astype(np.int64)
        for node in range(len(n_labels) - 1, -1, -1):
            for child in self.children(node):
                self.parent[child] = node
                self.below_cost[node] += self.below_cost[child]
                self.below_size[node] += self.below_size[child]
                self.below_leaves[node] += self.below_leaves[child]
        self.links = [
            (self.strength(node), -node)
            for node in np.flatnonzero(~self.is_leaf & ~self.vertical).tolist()
        ]
        heapq.heapify(self.links)

    @property
    def n_leaves(self) -> int:
        return int(self.below_leaves[0])

    def children(self, node: int) -> range:
        first = self.tree["child"][node]
        return range(first, first + self.tree["n_children"][node])

    def strength(self, node: int) -> float:
        gain = self.cost[node] - self.below_cost[node]
        return float(gain / (self.below_size[node] - self.size[node]))

    def weakest_link(self) -> tuple[int, float]:
        """Return the next node to become a leaf, and its strength."""
        while self.links:
            strength, negative = self.links[0]
            node = -negative
            if self.is_leaf[node] or strength != self.strength(node):
                heapq.heappop(self.links)  # cut, or its strength has changed
                continue
            return node, strength
        return int(np.flatnonzero(self.vertical & ~self.is_leaf)[-1]), np.inf

    def cut(self, node: int) -> None:
        change = (
            self.cost[node] - self.below_cost[node],
            self.size[node] - self.below_size[node],
            1 - self.below_leaves[node],
        )
        below = [node]
        while below:
            inner = below.pop()
            if not self.is_leaf[inner]:
                self.is_leaf[inner] = True
                below.extend(self.children(inner))
        above = node
        while above >= 0:
            self.below_cost[above] += change[0]
            self.below_size[above] += change[1]
            self.below_leaves[above] += change[2]
            if not self.is_leaf[above] and not self.vertical[above]:
                heapq.heappush(self.links, (self.strength(above), -above))
            above = int(self.parent[above])

    def rest(self) -> dict[str, NDArray[Any]]:
        kept = np.zeros(len(self.parent), dtype=bool)
        kept[0] = True
        for node in range(1, len(kept)):
            parent = self.parent[node]
            kept[node] = kept[parent] and not self.is_leaf[parent]
        if kept.all():
            return self.tree
        number = np.cumsum(kept) - 1
        rest = self.tree | {name: self.tree[name][kept] for name in _NODE_ARRAYS}
        leaf = self.is_leaf[kept]
        rest["kind"][leaf] = KINDS["leaf"]
        rest["feature"][leaf] = -1
        rest["threshold"][leaf] = 0
        rest["n_children"][leaf] = 0
        rest["default_child"][leaf] = -1
        rest["child"] = np.where(leaf, -1, number[rest["child"]]).astype(np.int32)
        return rest
