"""
LaCovaC: a tree that can be read
================================

:class:`~xdcc.lacovac.LaCovaCClassifier` grows one tree for all labels. It splits rows by a feature,
and splits *labels* into groups where these do not depend on each other in the rows of a node; a
leaf says which labelsets are there.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import plot_tree as draw_single

import xdcc
from xdcc.lacovac import export_text, plot_tree

# %%
# Made data about cars, so that the tree can be judged by reading it: whoever has a large engine
# pays more tax, is fast if the car is not old, too, and a diesel is noisy.

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
# The same as a drawing: orange squares split the labels, blue boxes split the rows, and the leaves
# list their labelsets with their probabilities, the predicted one first.

axes = plot_tree(tree, max_labelsets=2, fontsize=11)
axes.figure.set_label(
    "The tree drawn from the top: boxes that split rows by a feature, squares that split the "
    "labels into groups, and leaves with their labelsets and probabilities"
)

# %%
# The example of the LaCovaC paper: twelve films (its Table 1), and the tree of all labels (its
# Figure 1). *Crime* and *horror* depend on each other where a film is dark; their leaves say so.

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
    "The tree of the films: drama parts from crime and horror at the root, and these two part "
    "where a film is not dark; in the other leaves one of them excludes the other"
)

# %%
# Binary relevance learns a tree for each label instead (its Figure 2), here scikit-learn's. Of a
# film that is dark and about love the first two say "yes", each with .6, though only one such film
# in five is both; the tree above predicts one of them.

figure, panels = plt.subplots(1, 3, figsize=(12, 4.5))
figure.set_label(
    "Three small trees side by side: that of crime asks for dark, then for love, that of horror "
    "the other way round, and that of drama for love alone"
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
