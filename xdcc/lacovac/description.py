"""What the nodes of a label tree are called in texts and pictures.

Every export (text, Graphviz, Matplotlib) walks a :class:`DescribedTree`: it knows a node's title,
what leads to it, and the lines of a leaf.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from xdcc.base.documentation import documented_with
from xdcc.base.domains import Number, check_domain
from xdcc.lacovac._growing import KINDS
from xdcc.lacovac.classifier import LaCovaCClassifier
from xdcc.lacovac.forest import LaCovaCForestClassifier
from xdcc.lacovac.tree import LabelTrees

type LabelTreeModel = LaCovaCClassifier | LaCovaCForestClassifier

_KIND_NAMES = {number: name for name, number in KINDS.items()}

documented_export = documented_with(
    {
        "tree": """
            model : LaCovaCClassifier or LaCovaCForestClassifier
                A fitted model.
            tree : int, default=0
                Number of the tree, for a forest.
            max_depth : int or None, default=None
                Most levels of splits of both kinds; what is below is left out.
            max_labelsets : int, default=3
                Most labelsets that a leaf lists.
            max_labels : int, default=5
                Most names in a list of labels.
            decimals : int, default=2
                Digits after the point.
            """,
        "raises": """
            Raises
            ------
            NotFittedError
                If the model is not fitted.
            ValueError
                If there is no such tree, or a number is out of its range.
            """,
    }
)
"""Fills in what the documentation of all exports shares, as a decorator."""


class Style(NamedTuple):
    """How nodes are written.

    Attributes
    ----------
    max_labelsets : int
        Most labelsets of a leaf, the predicted one first.
    max_labels : int
        Most names in a list of labels.
    decimals : int
        Digits after the point.
    max_depth : int or None
        Most levels of splits of both kinds below the root; None is no limit.
    """

    max_labelsets: int
    max_labels: int
    decimals: int
    max_depth: int | None


class DescribedTree:
    """One tree of a fitted model, in words.

    Parameters
    ----------
    model : LaCovaCClassifier or LaCovaCForestClassifier
        A fitted model.
    tree : int
        Number of the tree; 0 for a classifier.
    style : Style
        How nodes are written.

    Attributes
    ----------
    root : int
        Number of the root.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If there is no such tree, or an entry of `style` is not a number in its range.
    """

    def __init__(self, model: LabelTreeModel, tree: int, style: Style) -> None:
        check_is_fitted(model)
        is_forest = isinstance(model, LaCovaCForestClassifier)
        self.trees: LabelTrees = model.trees_ if is_forest else model.tree_
        check_domain("tree", tree, Number(low=0, high=len(self.trees.start) - 2, whole=True))
        check_domain("max_labelsets", style.max_labelsets, Number(low=1, whole=True))
        check_domain("max_labels", style.max_labels, Number(low=1, whole=True))
        check_domain("decimals", style.decimals, Number(low=0, whole=True))
        if style.max_depth is not None:
            check_domain("max_depth", style.max_depth, Number(low=0, whole=True))
        self.style = style
        self.root = int(self.trees.start[tree])
        self.label_names = [str(name) for name in model.label_names_]
        numbered = [f"feature_{f}" for f in range(model.n_features_in_)]
        self.feature_names = [str(f) for f in getattr(model, "feature_names_in_", numbered)]
        self.categories = getattr(model, "categories_", {})

    def kind(self, node: int) -> str:
        """Tell whether a node is a leaf, vertical, numeric or nominal."""
        return _KIND_NAMES[self.trees.kind[node]]

    def children(self, node: int, level: int) -> range:
        """Children that are shown, `level` being the number of splits above the node."""
        if self.style.max_depth is not None and level >= self.style.max_depth:
            return range(0)
        return self.trees.children(node)

    def is_cut(self, node: int, level: int) -> bool:
        """Tell whether the node has children that are not shown."""
        return self.kind(node) != "leaf" and not self.children(node, level)

    def number(self, value: float) -> str:
        """Write a number with the chosen digits."""
        return f"{value:.{self.style.decimals}f}"

    def labels(self, node: int) -> str:
        """List the node's labels."""
        return self._listed([self.label_names[j] for j in self.trees.labels(node)])

    def _listed(self, names: list[str]) -> str:
        more = len(names) - self.style.max_labels
        if more > 0:
            names = [*names[: self.style.max_labels], f"{more} more"]
        return ", ".join(names)

    def feature(self, node: int) -> str:
        """Name the feature of a horizontal split."""
        return self.feature_names[self.trees.feature[node]]

    def condition(self, parent: int, child: int) -> str:
        """Say what leads from a split to its child, without the feature's name."""
        if self.kind(parent) == "vertical":
            return self.labels(child)
        position = child - self.trees.child[parent]
        if self.kind(parent) == "numeric":
            sign = "<=" if position == 0 else ">"
            return f"{sign} {self.number(float(self.trees.threshold[parent]))}"
        value = float(self.trees.value[child])
        categories = self.categories.get(int(self.trees.feature[parent]))
        name = f"{value:g}" if categories is None else str(categories[int(value)])
        is_default = position == self.trees.default_child[parent]
        return f"= {name} or other" if is_default else f"= {name}"

    def leaf_lines(self, leaf: int) -> list[str]:
        """Labelsets of a leaf with their probabilities, as in the paper's Figure 1."""
        labels, labelsets, proba = self.trees.labelsets(leaf)
        lines: list[str] = []
        for labelset, p in zip(labelsets, proba, strict=True):
            if len(lines) == self.style.max_labelsets:
                lines.append(f"{len(proba) - len(lines)} more")
                break
            names = [self.label_names[j] for j in labels[np.flatnonzero(labelset)]]
            lines.append(f"{{{self._listed(names)}}} {self.number(float(p))}")
        return lines
