"""
Label sequences of random decision trees
========================================

:class:`~xdcc.comparators.rdt.RandomDecisionTreeClassifier` draws random tests on features and on
labels instead of fitting them. A forest therefore does not depend on a label order, and a chain can
decide the most certain label next, in a different order for each row.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import xdcc

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
forest = xdcc.RandomDecisionTreeClassifier(random_state=0).fit(train.X, train.Y)
trace = forest.trace(test.X)

# %%
# Each line shows one test row per digit. Tiles are the decided labels from left to right: blue if
# the label is predicted as present, grey if absent, with an orange frame if the decision is wrong.
# The number is the posterior that the decision is based on.

short = {
    "at_least_5": "≥ 5",
    "multiple_of_3": "3 divides",
    "perfect_square": "square",
    "closed_loop": "loop",
    "straight_strokes": "strokes",
}
names = [short.get(name, name) for name in test.label_names]
sets = [tuple(row) for row in test.Y]
rows = [sets.index(labelset) for labelset in dict.fromkeys(sets)]

figure, ax = plt.subplots(figsize=(8.4, 6.4))
figure.set_label(
    "Ten lines, one per digit: its image, and tiles with its label names in the order in which the "
    "chain decided them; the orders differ between digits"
)
for place, row in enumerate(rows):
    image = ax.inset_axes([-1.0, place + 0.06, 0.88, 0.88], transform=ax.transData)
    image.imshow(test.X[row].reshape(8, 8), cmap="gray_r")
    image.set_axis_off()
    for position, label in enumerate(trace.labels[row]):
        if label < 0:
            continue
        present = trace.Y_pred[row, label] == 1
        wrong = present != (test.Y[row, label] == 1)
        ax.add_patch(
            plt.Rectangle(
                (position + 0.04, place + 0.1),
                0.92,
                0.8,
                facecolor="#9fc9e6" if present else "#e8e8e8",
                edgecolor="C1" if wrong else "none",
                linewidth=3,
            )
        )
        text = f"{names[label]}\n{trace.Y_proba[row, label]:.2f}"
        ax.text(position + 0.5, place + 0.5, text, ha="center", va="center", fontsize=10)
ax.set(xlim=(-1, test.n_labels), ylim=(len(rows), 0))
ax.set_xticks(np.arange(test.n_labels) + 0.5, range(1, test.n_labels + 1))
ax.set_yticks([])
ax.set_xlabel("decision")
ax.grid(visible=False)
ax.spines[:].set_visible(False)
ax.tick_params(length=0)

# %%
# Known labels refine a prediction, as in Figure 1 of the paper, shown here with one small tree and
# one row. If a test needs a label that is still unknown, the row follows all branches. All leaves
# that it reaches (blue) contribute to the posterior. Each decision can only remove leaves.

single = xdcc.RandomDecisionTreeClassifier(
    n_estimators=1, max_depth=4, label_test_fraction=0.6, random_state=0
)
tree = single.fit(train.X, train.Y).forest_
row = test.X[:1]
decided, values = single.trace(row).labels[0], single.predict(row)[0]
LEAF, NUMBER, LABEL = 0, 1, 3  # kinds of nodes


def children(node):
    """Return the children of a node."""
    return list(range(tree.child[node], tree.child[node] + tree.branches[node]))


def place(node, depth, leaves):
    """Return the positions of a node and its descendants, with leaves side by side."""
    below = [place(child, depth + 1, leaves) for child in children(node)]
    across = np.mean([found[0][1] for found in below]) if below else next(leaves)
    return [(node, across, -depth), *(spot for found in below for spot in found)]


def reached(node, known):
    """Return the nodes that the row reaches."""
    below = children(node)
    if tree.kind[node] == NUMBER and len(below) == 2:
        below = [below[int(row[0, tree.index[node]] > tree.threshold[node])]]
    elif tree.kind[node] == LABEL and tree.index[node] in known:
        below = [c for c in below if tree.value[c] == known[tree.index[node]]] or below
    return {node}.union(*(reached(child, known) for child in below))


spots = {node: spot for node, *spot in place(0, 0, itertools.count())}
figure, axes = plt.subplots(3, 1, figsize=(8.4, 9.6))
figure.set_label(
    "The same tree three times: with no known label the row reaches five leaves, with one known "
    "label two, with two known labels one"
)
for n_known, ax in enumerate(axes):
    known = {label: values[label] for label in decided[:n_known]}
    visited = reached(0, known)
    n_leaves = sum(tree.kind[node] == LEAF for node in visited)
    for node, spot in spots.items():
        for child in children(node):
            colour = "C0" if child in visited and node in visited else "0.8"
            ax.plot(*zip(spot, spots[child], strict=True), color=colour, zorder=0)
        text = {LEAF: "", NUMBER: f"pixel {tree.index[node]}"}.get(tree.kind[node])
        text = names[tree.index[node]] if text is None else text
        style = {"boxstyle": "round", "edgecolor": "C0" if node in visited else "0.8"}
        style["facecolor"] = "#9fc9e6" if node in visited and not text else "white"
        ax.text(*spot, text or "   ", ha="center", va="center", fontsize=8, bbox=style)
    ax.set_title(f"known labels: {n_known}, leaves: {n_leaves}")
    ax.set_axis_off()
