"""``plot_trees``: the trees of a mixture, with their weights."""

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from xdcc.base.pyplot import require_pyplot
from xdcc.comparators.ctbn.estimator import BaseCTBN
from xdcc.comparators.ctbn.tree_inference import Parents, top_down

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_trees(model: BaseCTBN) -> "list[Axes]":
    """Draw the trees of a fitted mixture, each in its own axes.

    Parameters
    ----------
    model : CTBNMixtureClassifier or CTBNClassifier
        A fitted model.

    Returns
    -------
    list of Axes
        The axes of the trees by decreasing weight, in one figure. Arrows go from parents to labels.

    Raises
    ------
    ImportError
        If Matplotlib cannot be imported.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> (axes,) = plot_trees(xdcc.CTBNClassifier(C=1.0).fit(data.X, data.Y))
    >>> axes.get_title()
    'weight 1.000'
    """
    pyplot = require_pyplot("plot_trees")
    check_is_fitted(model)
    order = np.argsort(-model.mixture_weights_, kind="stable")
    n_columns = min(3, len(order))
    n_rows = -(-len(order) // n_columns)
    trees = [_positions(model.mixture_.components[number].parents) for number in order]
    width, height = _size(trees)
    _, grid = pyplot.subplots(
        n_rows, n_columns, figsize=(width * n_columns, height * n_rows), squeeze=False
    )
    drawn = []
    for ax, number, positions in zip(grid.flat, order, trees, strict=False):
        _draw_tree(ax, model, model.mixture_.components[number].parents, positions)
        ax.set_title(f"weight {model.mixture_weights_[number]:.3f}")
        drawn.append(ax)
    for ax in grid.flat:
        ax.set_axis_off()
    return drawn


def _size(trees: list[dict[int, tuple[float, float]]]) -> tuple[float, float]:
    """Return the width and height in inches of the widest and the deepest tree."""
    across, down = np.array([position for tree in trees for position in tree.values()]).T
    return max(4.0, 0.9 * (across.max() + 1)), max(3.0, 0.6 * (1 - down.min()))


def _draw_tree(
    ax: "Axes",
    model: BaseCTBN,
    parents: Parents,
    positions: dict[int, tuple[float, float]],
) -> None:
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(model.n_labels_))
    graph.add_edges_from((int(parents[k]), k) for k in range(model.n_labels_) if parents[k] >= 0)
    nx.draw_networkx(
        graph,
        positions,
        ax=ax,
        clip_on=False,
        labels=dict(enumerate(map(str, model.label_names_))),
        node_color="white",
        node_size=600,  # arrows end before the boxes of the names
        font_size="small",
        bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:blue"},
    )


def _positions(parents: Parents) -> dict[int, tuple[float, float]]:
    """Place leaves side by side and each parent in the middle above its children."""
    order = top_down(parents)
    depth: dict[int, int] = {}
    for label in order:
        depth[label] = depth[int(parents[label])] + 1 if parents[label] >= 0 else 0
    across: dict[int, float] = {}
    n_leaves = 0

    def place(label: int) -> float:
        nonlocal n_leaves
        children = np.flatnonzero(parents == label).tolist()
        if children:
            across[label] = float(np.mean([place(child) for child in children]))
        else:
            across[label] = n_leaves
            n_leaves += 1
        return across[label]

    for root in np.flatnonzero(parents < 0).tolist():
        place(root)
    return {label: (across[label], -depth[label]) for label in order}
