"""
The label sequences of random decision trees
============================================

:class:`~xdcc.rdt.RandomDecisionTreeClassifier` draws its tests, on features and on labels, instead
of fitting them. So a forest knows no order of the labels, and a chain takes the label that is
surest next: another order for each row.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
forest = xdcc.RandomDecisionTreeClassifier(random_state=0).fit(train.X, train.Y)
trace = forest.trace(test.X)

# %%
# One test row of each digit. A tile is a decided label, from left to right; blue tiles were
# decided to be present, grey ones to be absent, and an orange frame marks a
# mistake; the number is the posterior on which the decision was made.

short = {
    "at_least_5": "≥ 5",
    "multiple_of_3": "3 divides",
    "perfect_square": "square",
    "closed_loop": "loop",
    "straight_strokes": "strokes",
}
names = [short.get(name, name) for name in test.label_names]
sets = [tuple(row) for row in test.Y]
rows = [sets.index(labelset) for labelset in dict.fromkeys(sets)]

figure, ax = plt.subplots(figsize=(8.4, 6.4))
figure.set_label(
    "Ten rows, one for each digit: its image, and tiles with the names of its labels in the order "
    "in which the chain decided them; the orders differ from digit to digit"
)
for place, row in enumerate(rows):
    image = ax.inset_axes([-1.0, place + 0.06, 0.88, 0.88], transform=ax.transData)
    image.imshow(test.X[row].reshape(8, 8), cmap="gray_r")
    image.set_axis_off()
    for position, label in enumerate(trace.labels[row]):
        if label < 0:
            continue
        present = trace.Y_pred[row, label] == 1
        wrong = present != (test.Y[row, label] == 1)
        ax.add_patch(
            plt.Rectangle(
                (position + 0.04, place + 0.1),
                0.92,
                0.8,
                facecolor="#9fc9e6" if present else "#e8e8e8",
                edgecolor="C1" if wrong else "none",
                linewidth=3,
            )
        )
        text = f"{names[label]}\n{trace.Y_proba[row, label]:.2f}"
        ax.text(position + 0.5, place + 0.5, text, ha="center", va="center", fontsize=10)
ax.set(xlim=(-1, test.n_labels), ylim=(len(rows), 0))
ax.set_xticks(np.arange(test.n_labels) + 0.5, range(1, test.n_labels + 1))
ax.set_yticks([])
ax.set_xlabel("decision")
ax.grid(visible=False)
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
