"""
What sharing a tree means
=========================

One tree serves all labels: its splits are where they help most in sum, and each leaf holds a value
for every label. Here are three labels of points in a square, each label round a centre of its own,
as one shared tree sees them, and a tree for each label, all of depth 4.
"""

import matplotlib.pyplot as plt
import numpy as np
import xgboost as xgb

random = np.random.default_rng(0)
X = random.random((600, 2))
centres = np.array([[0.3, 0.35], [0.5, 0.65], [0.72, 0.35]])
distances = np.linalg.norm(X[:, None] - centres, axis=2)
Y = (distances < 0.3).astype(int)

settings = {"max_depth": 4, "learning_rate": 1.0, "max_bin": 64, "nthread": 1}
shared = xgb.train({"objective": "multilabel:logistic", **settings}, xgb.DMatrix(X, Y), 1)
alone = [xgb.train({"objective": "binary:logistic", **settings}, xgb.DMatrix(X, y), 1) for y in Y.T]

# %%
# On a grid, each cell of one colour is a leaf. The cells of the upper row are the same three times,
# with other values.

ticks = (np.arange(300) + 0.5) / 300
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
shared_proba = shared.predict(xgb.DMatrix(grid)).reshape(300, 300, 3)
leaves = shared.predict(xgb.DMatrix(grid), pred_leaf=True)

figure, axes = plt.subplots(2, 3, figsize=(8.4, 4.9), sharex=True, sharey=True)
figure.set_label(
    "Six squares cut into coloured rectangles. In the upper row, one tree for all labels, the "
    "rectangles are the same for the three labels and only their colours differ; in the lower row "
    "each label has rectangles of its own"
)
for label in range(3):
    proba = alone[label].predict(xgb.DMatrix(grid)).reshape(300, 300)
    for ax, values in zip(axes[:, label], (shared_proba[..., label], proba), strict=True):
        image = ax.pcolormesh(ticks, ticks, values, vmin=0, vmax=1, rasterized=True)
        ax.scatter(*X[Y[:, label] == 1].T, s=5, color="white", edgecolors="black", linewidths=0.4)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.grid(visible=False)
    axes[0, label].set_title(f"label {label + 1}")
axes[0, 0].set_ylabel(f"one shared tree,\n{len(np.unique(leaves))} leaves")
axes[1, 0].set_ylabel("a tree for each label")
figure.colorbar(image, ax=axes, label="probability", shrink=0.7)

# %%
# Where a label alone would not have split, the shared tree does, for another label; so it needs
# more iterations, and each of them takes a fraction of the time: :doc:`16_time_to_quality`.
