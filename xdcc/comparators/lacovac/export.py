"""Export a label tree as text, for Graphviz, or as a Matplotlib figure (as Figure 1 of the paper).

``export_text``, ``export_graphviz`` and ``plot_tree`` traverse a `_DescribedTree`, which formats
nodes and branches.
"""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.comparators.lacovac._growing import KINDS
from xdcc.comparators.lacovac.classifier import LaCovaCClassifier
from xdcc.comparators.lacovac.forest import LaCovaCForestClassifier
from xdcc.comparators.lacovac.tree import LabelTrees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

type _Model = LaCovaCClassifier | LaCovaCForestClassifier

_KIND_NAMES = {number: name for name, number in KINDS.items()}

_documented_export = partial(
    documented,
    entries={
        "tree": """
            model : LaCovaCClassifier or LaCovaCForestClassifier
                A fitted model.
            tree : int, default=0
                Index of the tree in a forest.
            max_depth : int or None, default=None
                Maximum number of levels of splits of both kinds; deeper levels are omitted.
            max_labelsets : int, default=3
                Maximum number of labelsets shown for a leaf.
            max_labels : int, default=5
                Maximum number of names shown in a list of labels.
            decimals : int, default=2
                Number of decimal places.
            """,
        "raises": """
            Raises
            ------
            NotFittedError
                If the model is not fitted.
            ValueError
                If there is no such tree, or a number is out of range.
            """,
    },
)
"""Decorator that fills in the docstring entries of all exports."""

_SHAPES = {
    "vertical": 'shape=box, style=filled, fillcolor="#fde5cc"',
    "numeric": 'shape=ellipse, style=filled, fillcolor="#d6e6f4"',
    "nominal": 'shape=ellipse, style=filled, fillcolor="#d6e6f4"',
    "leaf": 'shape=box, style="rounded,filled", fillcolor="#ffffff"',
}

_BOXES = {
    "vertical": {"boxstyle": "square,pad=0.4", "facecolor": "#fde5cc", "edgecolor": "#b35a00"},
    "numeric": {"boxstyle": "round,pad=0.5", "facecolor": "#d6e6f4", "edgecolor": "#1f5f99"},
    "nominal": {"boxstyle": "round,pad=0.5", "facecolor": "#d6e6f4", "edgecolor": "#1f5f99"},
    "leaf": {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#666666"},
}

_LETTER = 0.6 / 72
"""Generous mean width of a letter in inches, per point of font size."""

_LINE = 1.5 / 72
"""Height of a line in inches, per point of font size."""

_MARGIN = 0.5
"""Inches between nodes."""


class _Style(NamedTuple):
    """Options of an export; see `export_text`."""

    max_labelsets: int
    max_labels: int
    decimals: int
    max_depth: int | None


class _DescribedTree:
    """The nodes and branches of a tree as text."""

    def __init__(self, model: _Model, tree: int, style: _Style) -> None:
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
        self.categories = model._input_form.category_names

    def kind(self, node: int) -> str:
        """Return the kind of a node: leaf, vertical, numeric or nominal."""
        return _KIND_NAMES[self.trees.kind[node]]

    def children(self, node: int, level: int) -> range:
        """Return the children to show; `level` is the number of splits above the node."""
        if self.style.max_depth is not None and level >= self.style.max_depth:
            return range(0)
        return self.trees.children(node)

    def is_cut(self, node: int, level: int) -> bool:
        """Return whether the node has children that are not shown."""
        return self.kind(node) != "leaf" and not self.children(node, level)

    def number(self, value: float) -> str:
        """Format a number with the chosen decimals."""
        return f"{value:.{self.style.decimals}f}"

    def labels(self, node: int) -> str:
        """List the labels of a node."""
        return self._listed([self.label_names[j] for j in self.trees.labels(node)])

    def _listed(self, names: list[str]) -> str:
        more = len(names) - self.style.max_labels
        if more > 0:
            names = [*names[: self.style.max_labels], f"{more} more"]
        return ", ".join(names)

    def feature(self, node: int) -> str:
        """Return the name of the feature of a horizontal split."""
        return self.feature_names[self.trees.feature[node]]

    def condition(self, parent: int, child: int) -> str:
        """Describe the branch from a split to a child, without the name of the feature."""
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
        """List the labelsets of a leaf and their probabilities, as in Figure 1 of the paper."""
        labels, labelsets, proba = self.trees.labelsets(leaf)
        lines: list[str] = []
        for labelset, p in zip(labelsets, proba, strict=True):
            if len(lines) == self.style.max_labelsets:
                lines.append(f"{len(proba) - len(lines)} more")
                break
            names = [self.label_names[j] for j in labels[np.flatnonzero(labelset)]]
            lines.append(f"{{{self._listed(names)}}} {self.number(float(p))}")
        return lines


@_documented_export
def export_text(
    model: _Model,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    max_labelsets: int = 3,
    max_labels: int = 5,
    decimals: int = 2,
) -> str:
    """Export a tree as indented text.

    A line ``labels: ...`` is a branch of a vertical split, a line with a feature a branch of a
    horizontal split. A leaf lists its labelsets and their probabilities, the predicted one first.

    Parameters
    ----------
    {tree}

    Returns
    -------
    str
        The tree, one node per line.

    {raises}

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y)
    >>> print(export_text(model, max_labelsets=1), end="")
    |--- labels: label_0, label_2
    |   |--- feature_0 <= -0.01
    |   |   |--- {} 0.55; 3 more
    |   |--- feature_0 > -0.01
    |   |   |--- {label_0, label_2} 0.58; 3 more
    |--- labels: label_1
    |   |--- feature_0 <= -0.57
    |   |   |--- {label_1} 0.58; 1 more
    |   |--- feature_0 > -0.57
    |   |   |--- {} 0.63; 1 more
    """
    described = _DescribedTree(model, tree, _Style(max_labelsets, max_labels, decimals, max_depth))
    lines: list[str] = []

    def write(node: int, level: int) -> None:
        indent = "|   " * level + "|--- "
        if described.kind(node) == "leaf":
            lines.append(indent + "; ".join(described.leaf_lines(node)))
        elif described.is_cut(node, level):
            lines.append(indent + "...")
        for child in described.children(node, level):
            condition = described.condition(node, child)
            vertical = described.kind(node) == "vertical"
            prefix = "labels:" if vertical else described.feature(node)
            lines.append(f"{indent}{prefix} {condition}")
            write(child, level + 1)

    write(described.root, 0)
    return "\n".join(lines) + "\n"


@_documented_export
def export_graphviz(
    model: _Model,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    max_labelsets: int = 3,
    max_labels: int = 5,
    decimals: int = 2,
) -> str:
    """Export a tree in the DOT language of Graphviz.

    Vertical splits are orange boxes, horizontal splits blue ellipses, and leaves white boxes with
    rounded corners.

    Parameters
    ----------
    {tree}

    Returns
    -------
    str
        A digraph. Show it with ``graphviz.Source(text)`` from the package graphviz.

    {raises}

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y)
    >>> export_graphviz(model).splitlines()[0]
    'digraph Tree {'
    """
    described = _DescribedTree(model, tree, _Style(max_labelsets, max_labels, decimals, max_depth))
    lines = ["digraph Tree {", '  node [fontname="helvetica"];', '  edge [fontname="helvetica"];']

    def write(node: int, level: int) -> None:
        kind = described.kind(node)
        if kind == "leaf":
            text = described.leaf_lines(node)
        else:
            text = ["labels" if kind == "vertical" else described.feature(node)]
            text += ["..."] * described.is_cut(node, level)
        text.append(f"n = {described.trees.n_samples[node]}")
        lines.append(f"  {node} [label={_quoted(*text)}, {_SHAPES[kind]}];")
        for child in described.children(node, level):
            write(child, level + 1)
            condition = _quoted(described.condition(node, child))
            lines.append(f"  {node} -> {child} [label={condition}];")

    write(described.root, 0)
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


@_documented_export
def plot_tree(
    model: _Model,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    max_labelsets: int = 3,
    max_labels: int = 5,
    decimals: int = 2,
    ax: "Axes | None" = None,
    fontsize: float = 9,
) -> "Axes":
    """Draw a tree.

    Vertical splits (VS) are orange, with the names of the labels at their branches. Horizontal
    splits (HS) are blue and show the name of the feature. Leaves list their labelsets and
    probabilities, the predicted one first.

    Parameters
    ----------
    {tree}
    ax : Axes, optional
        Axes to draw on. Default: a new figure that is large enough for the tree.
    fontsize : float, default=9
        Font size in points.

    Returns
    -------
    Axes
        The axes, with a text for each node.

    {raises}

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> axes = plot_tree(xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y))
    >>> len(axes.texts) > 1
    True
    """
    from matplotlib import pyplot  # slow to import

    described = _DescribedTree(model, tree, _Style(max_labelsets, max_labels, decimals, max_depth))
    positions = _positions(described)
    texts = {node: _node_text(described, node, level) for node, (_, level) in positions.items()}
    n_leaves = 1 + max(x for x, _ in positions.values())
    n_levels = 1 + max(level for _, level in positions.values())
    if ax is None:
        lines = [text.split("\n") for text in texts.values()]
        width = fontsize * _LETTER * max(len(line) for text in lines for line in text) + _MARGIN
        # The text of a branch is between two levels.
        height = fontsize * _LINE * (max(map(len, lines)) + 2) + _MARGIN
        size = width * n_leaves, height * n_levels
        ax = pyplot.figure(figsize=size, layout="none").add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_xlim(-0.5, n_leaves - 0.5)
    ax.set_ylim(n_levels - 0.5, -0.5)
    for node, (x, level) in positions.items():
        for child in described.children(node, level):
            below = positions[child]
            ax.plot([x, below[0]], [level, below[1]], color="#999999", linewidth=1, zorder=1)
            ax.text(
                # Closer to the child, where branches are further apart.
                0.4 * x + 0.6 * below[0],
                0.4 * level + 0.6 * below[1],
                described.condition(node, child),
                ha="center",
                va="center",
                fontsize=fontsize,
                zorder=2,
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            )
        ax.text(
            x,
            level,
            texts[node],
            ha="center",
            va="center",
            fontsize=fontsize,
            zorder=3,
            bbox=_BOXES[described.kind(node)],
        )
    return ax


def _node_text(described: _DescribedTree, node: int, level: int) -> str:
    kind = described.kind(node)
    if kind == "leaf":
        return "\n".join(described.leaf_lines(node))
    more = "\n..." if described.is_cut(node, level) else ""
    return ("VS" if kind == "vertical" else f"HS: {described.feature(node)}") + more


def _positions(described: _DescribedTree) -> dict[int, tuple[float, int]]:
    """Place leaves side by side and each split in the middle above its children."""
    positions: dict[int, tuple[float, int]] = {}
    n_leaves = 0

    def place(node: int, level: int) -> float:
        nonlocal n_leaves
        children = described.children(node, level)
        below = [place(child, level + 1) for child in children]
        if below:
            x = (below[0] + below[-1]) / 2
        else:
            x = float(n_leaves)
            n_leaves += 1
        positions[node] = (x, level)
        return x

    place(described.root, 0)
    return positions
