"""
A tree of labels, and a mixture of two
======================================

:class:`~xdcc.ctbn.CTBNClassifier` gives each label at most one other label as its parent, beside
the features; :class:`~xdcc.ctbn.CTBNMixtureClassifier` adds up several such trees. The drawings are
Figures 1 and 2 of the MC paper, of labels that are made from known trees.
"""

import numpy as np
import pandas as pd

from xdcc.ctbn import CTBNClassifier, CTBNMixtureClassifier, plot_trees

random = np.random.default_rng(0)


def draw_labels(X, parents):
    """Labels from a tree, parents first: mostly the parent's value, else what a feature says."""
    Y = {}
    for label, parent in parents.items():
        own = X[label] + random.logistic(scale=0.3, size=len(X)) > 0
        copied = random.random(len(X)) < 0.9
        Y[label] = own if parent is None else np.where(copied, Y[parent], own)
    return pd.DataFrame(Y, index=X.index, dtype=int)[list(X)]


names = ["y1", "y2", "y3", "y4"]
X = pd.DataFrame(random.normal(size=(1200, 4)), columns=names)

# %%
# P(y\|x) = P(y3\|x) P(y2\|x, y3) P(y1\|x, y2) P(y4\|x, y2), the paper's example. The learned tree
# has the same edges; any label may be the root, as the direction of a tree's edges changes little.

star = {"y3": None, "y2": "y3", "y1": "y2", "y4": "y2"}
Y = draw_labels(X, star)
single = CTBNClassifier(C=1.0, random_state=0).fit(X, Y)
axes = plot_trees(single)
axes[0].figure.set_label("One tree of four labels; y2 is joined to each of the other three")

# %%
# Rows of two trees, which share no edge: no single tree has them all. A mixture gets one more tree
# as long as held-out rows gain by it. Its trees are not the two that made the data, but the joint
# distribution is nearer to the truth.

paths = [
    {"y1": None, "y2": "y1", "y3": "y2", "y4": "y3"},
    {"y3": None, "y1": "y3", "y4": "y1", "y2": "y4"},
]
parts = np.array_split(np.arange(len(X)), 2)
Y = pd.concat([draw_labels(X.iloc[part], path) for part, path in zip(parts, paths, strict=True)])
mixture = CTBNMixtureClassifier(C=1.0, random_state=0).fit(X, Y)
axes = plot_trees(mixture)
axes[0].figure.set_label("The trees of the mixture side by side, each below its weight")

fresh = pd.DataFrame(random.normal(size=X.shape), columns=names)
truth = pd.concat(
    [draw_labels(fresh.iloc[part], path) for part, path in zip(parts, paths, strict=True)]
)
single = CTBNClassifier(C=1.0, random_state=0).fit(X, Y)
for name, model in {"one tree": single, "mixture": mixture}.items():
    print(f"{name}: mean log P(y|x) of new rows {model.log_prob(fresh, truth).mean():.3f}")
