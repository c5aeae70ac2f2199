"""
One tree for all labels
=======================

A shared tree chooses splits by their total gain over all labels, and each leaf holds a value for
every label. This example has three labels on points in a square, each positive around its own
centre. It compares one shared tree with one tree per label, all of depth 4.
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
# Each region of constant colour is a leaf. In the upper row, the three labels share the same
# regions with different values.

ticks = (np.arange(300) + 0.5) / 300
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
shared_proba = shared.predict(xgb.DMatrix(grid)).reshape(300, 300, 3)
leaves = shared.predict(xgb.DMatrix(grid), pred_leaf=True)

figure, axes = plt.subplots(2, 3, figsize=(8.4, 4.9), sharex=True, sharey=True)
figure.set_label(
    "Six squares divided into coloured rectangles. In the upper row, one tree for all labels, the "
    "rectangles are the same for the three labels and only their colours differ; in the lower row "
    "each label has its own rectangles"
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
axes[1, 0].set_ylabel("one tree per label")
figure.colorbar(image, ax=axes, label="probability", shrink=0.7)

# %%
# The shared tree spends some of its splits on other labels. It therefore needs more boosting
# rounds, but each round takes a fraction of the time: :doc:`16_time_to_quality`.
