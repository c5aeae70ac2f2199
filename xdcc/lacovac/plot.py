"""``plot_tree``: a label tree drawn with Matplotlib, like the paper's Figure 1."""

from typing import TYPE_CHECKING

from xdcc.lacovac.description import DescribedTree, LabelTreeModel, Style, documented_export

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BOXES = {
    "vertical": {"boxstyle": "square,pad=0.4", "facecolor": "#fde5cc", "edgecolor": "#b35a00"},
    "numeric": {"boxstyle": "round,pad=0.5", "facecolor": "#d6e6f4", "edgecolor": "#1f5f99"},
    "nominal": {"boxstyle": "round,pad=0.5", "facecolor": "#d6e6f4", "edgecolor": "#1f5f99"},
    "leaf": {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#666666"},
}

_LETTER = 0.6 / 72
"""Inches that a letter is wide, per point of the font's size: a generous mean."""

_LINE = 1.5 / 72
"""Inches that a line is high, per point."""

_MARGIN = 0.5
"""Inches between nodes."""


@documented_export
def plot_tree(
    model: LabelTreeModel,
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

    Vertical splits are orange squares (VS), their branches bear the names of the labels;
    horizontal splits are blue and name their feature (HS). Leaves list their labelsets with their
    probabilities, the predicted one first.

    Parameters
    ----------
    {tree}
    ax : Axes, optional
        Where to draw; by default a new figure that is large enough for the tree.
    fontsize : float, default=9
        Size of the text in points.

    Returns
    -------
    Axes
        The drawing; every node is a text of it.

    {raises}

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> axes = plot_tree(xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y))
    >>> len(axes.texts) > 1
    True
    """
    from matplotlib import pyplot  # slow to import, and needed for this function only

    described = DescribedTree(model, tree, Style(max_labelsets, max_labels, decimals, max_depth))
    places = _places(described)
    texts = {node: _node_text(described, node, level) for node, (_, level) in places.items()}
    n_leaves = 1 + max(x for x, _ in places.values())
    n_levels = 1 + max(level for _, level in places.values())
    if ax is None:
        lines = [text.split("\n") for text in texts.values()]
        width = fontsize * _LETTER * max(len(line) for text in lines for line in text) + _MARGIN
        # Between two levels is a branch's text.
        height = fontsize * _LINE * (max(map(len, lines)) + 2) + _MARGIN
        ax = pyplot.figure(figsize=(width * n_leaves, height * n_levels)).add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_xlim(-0.5, n_leaves - 0.5)
    ax.set_ylim(n_levels - 0.5, -0.5)
    for node, (x, level) in places.items():
        for child in described.children(node, level):
            below = places[child]
            ax.plot([x, below[0]], [level, below[1]], color="#999999", linewidth=1, zorder=1)
            ax.text(
                # Nearer to the child, where branches are further apart.
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


def _node_text(described: DescribedTree, node: int, level: int) -> str:
    kind = described.kind(node)
    if kind == "leaf":
        return "\n".join(described.leaf_lines(node))
    more = "\n..." if described.is_cut(node, level) else ""
    return ("VS" if kind == "vertical" else f"HS: {described.feature(node)}") + more


def _places(described: DescribedTree) -> dict[int, tuple[float, int]]:
    """Position of each node: leaves side by side, a split in the middle above its children."""
    places: dict[int, tuple[float, int]] = {}
    n_leaves = 0

    def put(node: int, level: int) -> float:
        nonlocal n_leaves
        children = described.children(node, level)
        below = [put(child, level + 1) for child in children]
        if below:
            x = (below[0] + below[-1]) / 2
        else:
            x = float(n_leaves)
            n_leaves += 1
        places[node] = (x, level)
        return x

    put(described.root, 0)
    return places
