"""
A readable tree with LaCovaC
============================

:class:`~xdcc.comparators.lacovac.LaCovaCClassifier` grows one tree for all labels. A node splits
the rows by a feature, or splits the *labels* into groups that do not depend on each other in the
rows of the node. A leaf lists the labelsets of its rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import plot_tree as draw_single

import xdcc
from xdcc.comparators.lacovac import export_text, plot_tree

# %%
# Generate data about cars with known rules, so that you can verify the tree: a large engine means
# high tax, a large engine in a car that is not old means fast, and a diesel is noisy.

random = np.random.default_rng(1)
n = 600
engine, age = random.uniform(0.8, 4, n), random.integers(0, 20, n)
diesel = random.random(n) < 0.4
labels = np.column_stack([engine > 2.2, (engine > 2.2) & (age < 12), diesel]).astype(int)
labels ^= random.random(labels.shape) < 0.02

X = pd.DataFrame({"engine": engine, "age": age, "diesel": diesel.astype(int)})
Y = pd.DataFrame(labels, columns=["high tax", "fast", "noisy"])
tree = xdcc.LaCovaCClassifier(max_leaf_nodes=9).fit(X, Y)
print(export_text(tree))

# %%
# ``plot_tree`` draws the tree. Orange squares split the labels, blue boxes split the rows, and
# leaves list their labelsets with probabilities, the predicted one first.

axes = plot_tree(tree, max_labelsets=2, fontsize=11)
axes.figure.set_label(
    "The tree drawn top-down: boxes that split rows by a feature, squares that split the labels "
    "into groups, and leaves with their labelsets and probabilities"
)

# %%
# The LaCovaC paper has an example with twelve films (its Table 1) and a tree for all labels (its
# Figure 1). *Crime* and *horror* depend on each other if a film is dark; the leaves show this.

films = """
    1 1 1 1 1    1 0 0 0 1    1 0 1 1 1    1 0 0 0 1    1 0 1 1 1    0 1 0 0 1
    0 1 1 1 1    0 1 0 0 1    0 1 1 1 1    1 1 1 1 0    1 0 0 0 0    0 1 1 1 0
"""
films = np.array(films.split(), dtype=int).reshape(12, 5)
genres = pd.DataFrame(films[:, :3], columns=["crime", "horror", "drama"])
traits = pd.DataFrame(films[:, 3:], columns=["love", "dark"])
limits = {"min_samples_split": 3, "min_samples_leaf": 2}
joint = xdcc.LaCovaCClassifier(threshold_size="train", **limits).fit(traits, genres)
axes = plot_tree(joint, fontsize=11)
axes.figure.set_label(
    "The tree for the films: the root separates drama from crime and horror, and these two are "
    "separated if a film is not dark; in the other leaves, one of them excludes the other"
)

# %%
# Binary relevance instead learns one tree per label (Figure 2 of the paper), here with
# scikit-learn. For a dark film about love, the first two trees predict "yes" with probability .6
# each, although only one such film in five is both. The tree above predicts only one of the two.

figure, panels = plt.subplots(1, 3, figsize=(12, 4.5))
figure.set_label(
    "Three small trees side by side: the crime tree tests dark, then love; the horror tree tests "
    "love, then dark; the drama tree tests love only"
)
relevance = {}
for ax, genre in zip(panels, genres, strict=True):
    relevance[genre] = DecisionTreeClassifier(**limits, random_state=0).fit(traits, genres[genre])
    draw_single(
        relevance[genre], feature_names=traits.columns, class_names=["no", "yes"], ax=ax,
        impurity=False, proportion=True, rounded=True, fontsize=8,
    )  # fmt: skip
    ax.set_title(genre)
film = pd.DataFrame({"love": [1], "dark": [1]})
print("a tree per label:", {genre: int(tree.predict(film)[0]) for genre, tree in relevance.items()})
print("one tree:        ", dict(zip(genres, joint.predict(film)[0].tolist(), strict=True)))
