"""
A dynamic chain step by step
============================

A dynamic chain decides the labels of each row in their own order, the most certain one first. Each
decided label becomes a feature for the booster of the next step. This example follows two
handwritten digits through a chain.
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
# Pick rows whose order differs most from the typical one. A framed cell marks the label decided at
# that step, with the probability that is propagated to later steps. Colours show the cumulated
# prediction (equation 9 of the XDCC paper) after the step.

rounds = order.rounds(train.Y.shape[1])
unusual = np.argsort(-np.abs(rounds - np.median(rounds, axis=0)).sum(axis=1))
names = [name.replace("_", " ") for name in test.label_names]
images = test.X.reshape(-1, 8, 8)
first = unusual[0]
second = next(row for row in unusual if (test.Y[row] != test.Y[first]).sum() > 3)
stages = list(chain.staged_predict_proba(test.X))

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.4), width_ratios=[1, 2.6], layout="constrained")
figure.set_label(
    "Two handwritten digits, and next to each a grid of labels by chain steps: one framed cell per "
    "step shows the decided label and its probability, in a different order for each digit"
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
    right.set_xlabel("chain step")
figure.colorbar(image, ax=axes[:, 1], label="cumulated probability", shrink=0.6)

# %%
# Training works the same way. This is Figure 1 of the XDCC paper, drawn from a published chain with
# two steps. The labels are additional features, unknown (?) at first. A booster learns from the
# pixels and these features. Its prediction decides one label per training row, and the next booster
# gets that value as a feature. At prediction time, a row passes through the same boosters from left
# to right.

published = xdcc.DynamicChainClassifier(
    propagate="in_sample", chain_length=2, n_estimators=30, max_depth=4, random_state=0, n_jobs=1
)
published.fit(train.X, train.Y)
some = train.X[:5]
order = published.chain_order(some)
known = [np.full((len(some), len(names)), np.nan)]
for labels, values in zip(order.labels.T, order.values.T, strict=True):
    known.append(known[-1].copy())
    known[-1][range(len(some)), labels] = values
first_stage, second_stage = published.staged_predict_proba(some)
tables = {
    "booster 1 learns\nfrom x and": known[0],
    "→ it predicts": first_stage,
    "→ booster 2 learns\nfrom x and": known[1],
    "→ cumulated\nprediction": second_stage,
    "→ decided": known[2],
}

figure, axes = plt.subplots(1, len(tables), figsize=(12, 4.2), sharey=True, layout="constrained")
figure.set_label(
    "Five tables of training rows by labels, from left to right: question marks, the predictions "
    "of booster 1, one value per row, the prediction after booster 2, two values per row"
)
for ax, (title, table) in zip(axes, tables.items(), strict=True):
    ax.imshow(table, vmin=0, vmax=1, aspect="auto")
    for (row, label), value in np.ndenumerate(table):
        text, colour = f"{value:.2f}".lstrip("0"), "black" if value > 0.5 else "white"
        if np.isnan(value):
            text, colour = "?", "black"
        ax.text(label, row, text, ha="center", va="center", color=colour, fontsize=9)
    ax.set_title(title, fontsize=12)
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=9)
    ax.grid(visible=False)
axes[0].set_ylabel("training row")
