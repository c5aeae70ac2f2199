"""
Extra trees with sketches
=========================

:class:`~xdcc.forest.SketchedExtraTreesClassifier` grows extremely randomised trees (Geurts, Ernst
and Wehenkel, 2006). With ``sketch_size=k``, a tree searches its splits on k random projections of
the labels instead of all labels. Its leaves still hold values for all labels. Each tree draws its
own projections.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

import xdcc

data = xdcc.data.make_multilabel(3000, n_features=30, n_labels=80, noise=0.05, random_state=0)
train, test = data[:1500], data[1500:]


def log_loss(Y, proba):
    """Return the mean log-loss over all entries, with probabilities clipped to [0.001, 0.999]."""
    proba = np.clip(proba, 0.001, 0.999)
    return -np.where(Y == 1, np.log(proba), np.log(1 - proba)).mean()


# %%
# Plot the held-out log-loss against the training time, for an increasing number of trees.

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
    ylabel="held-out log-loss",
    xscale="log",
)
ax.legend()

# %%
# Each tree is trained on a sample of the rows and can predict the others. With ``oob_proba=True``,
# the estimator stores these out-of-bag probabilities, so no cross-validation is needed.

model = xdcc.SketchedExtraTreesClassifier(oob_proba=True, random_state=0, n_jobs=1)
model.fit(train.X, train.Y)
for name, Y, proba in [
    ("out of bag", train.Y, model.oob_proba_),
    ("held out", test.Y, model.predict_proba(test.X)),
]:
    print(f"{name}: log-loss {log_loss(Y, proba):.3f}")

# %%
# ``label_importances_`` has one row per label: how much the splits on each feature reduce the
# impurity of the label.

figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label("A map of the importances of 30 features for the first 20 labels")
image = ax.imshow(model.label_importances_[:20], aspect="auto", cmap="Blues")
ax.set(title="Importances", xlabel="feature", ylabel="label", yticks=range(0, 20, 5))
figure.colorbar(image, label="fraction of the impurity decrease")
