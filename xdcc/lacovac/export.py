"""``export_text`` and ``export_graphviz``: a label tree to read and to draw elsewhere."""

from xdcc.lacovac.description import DescribedTree, LabelTreeModel, Style, documented_export

_SHAPES = {
    "vertical": 'shape=box, style=filled, fillcolor="#fde5cc"',
    "numeric": 'shape=ellipse, style=filled, fillcolor="#d6e6f4"',
    "nominal": 'shape=ellipse, style=filled, fillcolor="#d6e6f4"',
    "leaf": 'shape=box, style="rounded,filled", fillcolor="#ffffff"',
}


@documented_export
def export_text(
    model: LabelTreeModel,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    max_labelsets: int = 3,
    max_labels: int = 5,
    decimals: int = 2,
) -> str:
    """Write a tree as indented text.

    A line ``labels: ...`` is a branch of a vertical split, a line with a feature one of a
    horizontal split; a leaf lists its labelsets with their probabilities, the predicted one first.

    Parameters
    ----------
    {tree}

    Returns
    -------
    str
        The tree, a node per line.

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
    described = DescribedTree(model, tree, Style(max_labelsets, max_labels, decimals, max_depth))
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


@documented_export
def export_graphviz(
    model: LabelTreeModel,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    max_labelsets: int = 3,
    max_labels: int = 5,
    decimals: int = 2,
) -> str:
    """Write a tree in the language of Graphviz.

    Vertical splits are orange boxes, horizontal splits blue ellipses, leaves white boxes with
    round corners.

    Parameters
    ----------
    {tree}

    Returns
    -------
    str
        A digraph. ``graphviz.Source(text)`` shows it, if the package graphviz is there.

    {raises}

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=3, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCClassifier(max_depth=1).fit(data.X, data.Y)
    >>> export_graphviz(model).splitlines()[0]
    'digraph Tree {'
    """
    described = DescribedTree(model, tree, Style(max_labelsets, max_labels, decimals, max_depth))
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
