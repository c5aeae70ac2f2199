"""
Extra trees on sketches of the labels
=====================================

:class:`~xdcc.forest.SketchedExtraTreesClassifier` grows extremely randomised trees (Geurts, Ernst
and Wehenkel, 2006). With ``sketch_size=k``, a tree searches its splits on k random projections of
the labels instead of all labels. Its leaves still hold values for all labels, and the next tree
gets other projections.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

import xdcc

data = xdcc.data.make_multilabel(3000, n_features=30, n_labels=80, noise=0.05, random_state=0)
train, test = data[:1500], data[1500:]


def log_loss(Y, proba):
    """Mean over all entries; probabilities are at least 0.001 away from 0 and 1."""
    proba = np.clip(proba, 0.001, 0.999)
    return -np.where(Y == 1, np.log(proba), np.log(1 - proba)).mean()


# %%
# The log-loss of held-out rows against the CPU time of training, for growing numbers of trees.

losses = {}
for sketch_size in (1, 4, None):
    curve = []
    for n_estimators in (25, 50, 100, 200):
        model = xdcc.SketchedExtraTreesClassifier(
            n_estimators, sketch_size=sketch_size, random_state=0, n_jobs=1
        )
        start = process_time()
        model.fit(train.X, train.Y)
        seconds = process_time() - start
        proba = model.predict_proba(test.X)
        curve.append((seconds, log_loss(test.Y, proba)))
    losses[sketch_size] = curve

figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "Three falling curves of held-out log-loss against seconds of training, for one projection, "
    "four projections and all labels"
)
for sketch_size, curve in losses.items():
    name = "all labels" if sketch_size is None else f"sketch_size={sketch_size}"
    ax.plot(*zip(*curve, strict=True), marker=".", label=name)
ax.set(
    title="80 labels, 1,500 rows",
    xlabel="CPU seconds of training",
    ylabel="log-loss of held-out rows",
    xscale="log",
)
ax.legend()

# %%
# Trees that grow on a part of the rows predict the others. With ``oob_proba=True`` the estimator
# returns these out-of-bag probabilities, which cost no cross-validation.

model = xdcc.SketchedExtraTreesClassifier(oob_proba=True, random_state=0, n_jobs=1)
model.fit(train.X, train.Y)
for name, Y, proba in [
    ("out of bag", train.Y, model.oob_proba_),
    ("held out", test.Y, model.predict_proba(test.X)),
]:
    print(f"{name}: log-loss {log_loss(Y, proba):.3f}")

# %%
# Importances by label: how much the tests of each feature lower the impurity of the label.

figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label("A map of the importances of 30 features for the first 20 labels")
image = ax.imshow(model.label_importances_[:20], aspect="auto", cmap="Blues")
ax.set(title="Importances", xlabel="feature", ylabel="label")
figure.colorbar(image, label="share of the decrease of impurity")
