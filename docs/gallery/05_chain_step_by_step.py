"""
A chain decides a row step by step
==================================

A dynamic chain decides the labels of each row in an order of its own: first what it is surest of,
and what is decided is a feature of the next round's booster. Two handwritten digits, and what a
chain makes of them round by round.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
chain = xdcc.DynamicChainClassifier(
    chain_length=None, n_estimators=30, max_depth=4, random_state=0, n_jobs=1
)
chain.fit(train.X, train.Y)
order = chain.chain_order(test.X)

# %%
# The rows whose orders differ most from the usual one have most to tell. A framed cell is the
# label that was decided in that round, with the probability that later rounds see; the colours are
# the cumulated prediction (equation 9 of the XDCC paper) after the round.

rounds = order.rounds(train.Y.shape[1])
unusual = np.argsort(-np.abs(rounds - np.median(rounds, axis=0)).sum(axis=1))
names = [name.replace("_", " ") for name in test.label_names]
images = test.X.reshape(-1, 8, 8)
first = unusual[0]
second = next(row for row in unusual if (test.Y[row] != test.Y[first]).sum() > 3)
stages = list(chain.staged_predict_proba(test.X))

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.4), width_ratios=[1, 2.6], layout="constrained")
figure.set_label(
    "Two handwritten digits, and beside each a grid of labels by rounds: one framed cell in every "
    "round says which label was decided and with which probability, in another order for each digit"
)
for (left, right), row in zip(axes, (first, second), strict=True):
    left.imshow(images[row], cmap="gray_r")
    left.set_axis_off()
    labels = [name for name, y in zip(names, test.Y[row], strict=True) if y]
    left.set_title("true:\n" + "\n".join(labels), fontsize=12)
    proba = np.array([stage[row] for stage in stages]).T
    image = right.imshow(proba, vmin=0, vmax=1, aspect="auto")
    for round_, (label, value) in enumerate(zip(order.labels[row], order.values[row], strict=True)):
        if label >= 0:
            frame = plt.Rectangle((round_ - 0.5, label - 0.5), 1, 1, fill=False, color="C1", lw=3)
            right.add_patch(frame)
            colour = "black" if value > 0.5 else "white"
            right.text(round_, label, f"{value:.2f}", ha="center", va="center", color=colour)
    right.set_yticks(range(len(proba)), names)
    right.set_xticks(range(len(stages)), range(1, len(stages) + 1))
    right.grid(visible=False)
    right.set_xlabel("round")
figure.colorbar(image, ax=axes[:, 1], label="cumulated probability", shrink=0.6)
