"""
LaCovaC: a tree that can be read
================================

:class:`~xdcc.lacovac.LaCovaCClassifier` grows one tree for all labels. It splits rows by a feature,
and splits *labels* into groups where these do not depend on each other in the rows of a node; a
leaf says which labelsets are there.
"""

import numpy as np
import pandas as pd

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
