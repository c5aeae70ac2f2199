"""
Tree-structured networks of labels
==================================

In a :class:`~xdcc.comparators.ctbn.CTBNClassifier`, each label depends on the features and on at
most one other label, its parent. :class:`~xdcc.comparators.ctbn.CTBNMixtureClassifier` is a mixture
of several such trees. The plots correspond to Figures 1 and 2 of the MC paper, with labels
generated from known trees.
"""

import numpy as np
import pandas as pd

from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier, plot_trees

random = np.random.default_rng(0)


def draw_labels(X, parents):
    """Draw labels from a tree, parents first: usually the parent's value, else from a feature."""
    Y = {}
    for label, parent in parents.items():
        own = X[label] + random.logistic(scale=0.3, size=len(X)) > 0
        copied = random.random(len(X)) < 0.9
        Y[label] = own if parent is None else np.where(copied, Y[parent], own)
    return pd.DataFrame(Y, index=X.index, dtype=int)[list(X)]


names = ["y1", "y2", "y3", "y4"]
X = pd.DataFrame(random.normal(size=(1200, 4)), columns=names)

# %%
# The paper's example is P(y\|x) = P(y3\|x) P(y2\|x, y3) P(y1\|x, y2) P(y4\|x, y2). The learned tree
# has the same edges. Its root can be any label, because the direction of the edges matters little.

star = {"y3": None, "y2": "y3", "y1": "y2", "y4": "y2"}
Y = draw_labels(X, star)
single = CTBNClassifier(C=1.0, random_state=0).fit(X, Y)
axes = plot_trees(single)
axes[0].figure.set_label("One tree of four labels; y2 is connected to each of the other three")

# %%
# Now generate the rows from two trees without a common edge, which no single tree can represent.
# The mixture adds trees until the likelihood of held-out rows stops improving. Its trees differ
# from the two that generated the data, but its joint distribution is closer to the true one.

paths = [
    {"y1": None, "y2": "y1", "y3": "y2", "y4": "y3"},
    {"y3": None, "y1": "y3", "y4": "y1", "y2": "y4"},
]
parts = np.array_split(np.arange(len(X)), 2)
Y = pd.concat([draw_labels(X.iloc[part], path) for part, path in zip(parts, paths, strict=True)])
mixture = CTBNMixtureClassifier(C=1.0, random_state=0).fit(X, Y)
axes = plot_trees(mixture)
axes[0].figure.set_label("The trees of the mixture side by side, each with its weight above")

fresh = pd.DataFrame(random.normal(size=X.shape), columns=names)
truth = pd.concat(
    [draw_labels(fresh.iloc[part], path) for part, path in zip(parts, paths, strict=True)]
)
single = CTBNClassifier(C=1.0, random_state=0).fit(X, Y)
for name, model in {"one tree": single, "mixture": mixture}.items():
    print(f"{name}: mean log P(y|x) of new rows {model.log_prob(fresh, truth).mean():.3f}")
