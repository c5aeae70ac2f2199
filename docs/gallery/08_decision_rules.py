"""
Decision rules for four metrics
===============================

The best labels for given probabilities depend on the metric. For Hamming accuracy, predict the
labels with probability at least one half; for subset accuracy, the most probable *labelset*; for
F1, more labels than that. :class:`~xdcc.decision.TunedDecisionClassifierCV` selects a rule on
out-of-fold probabilities. This example optimises each of four metrics in turn.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc

# %%
# Each row belongs to one of six classes, which the features separate imperfectly. Each class has
# frequent, occasional and rare labels. The data therefore have typical labelsets, and uncertainty
# about which one applies.

random = np.random.default_rng(0)
kind = random.integers(0, 6, 3000)
X = 1.1 * random.normal(size=(6, 5))[kind] + random.normal(size=(3000, 5))
frequency = random.choice([0.03, 0.15, 0.85], p=[0.6, 0.15, 0.25], size=(6, 10))
Y = (random.random((3000, 10)) < frequency[kind]).astype(int)

booster = xdcc.MultiLabelXGBClassifier(
    n_estimators=150, learning_rate=0.1, max_depth=4, sketch_size=1, n_jobs=1, random_state=0
)

metrics = ("hamming_accuracy", "subset_accuracy", "example_f1", "macro_f1")
scores = []
for optimised in metrics:
    model = xdcc.TunedDecisionClassifierCV(booster, measure=optimised, random_state=0)
    model.fit(X[:600], Y[:600])
    test_scores = xdcc.metrics.evaluate(Y[600:], model.predict(X[600:]))
    scores.append([test_scores[metric] for metric in metrics])
    print(f"{optimised:17} {model.rule_}")

# %%
# Rows show the optimised metric, columns the metric on the test set. The best value of each column
# should be on the diagonal.

scores = np.array(scores)
relative = (scores - scores.min(axis=0)) / np.ptp(scores, axis=0)
names = ["Hamming\naccuracy", "subset\naccuracy", "example-\nbased F1", "macro F1"]
figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "A table of four by four scores, optimised metric by evaluated metric; in each column the "
    "highest score is on the diagonal or close to it"
)
ax.imshow(relative, vmin=-0.6, vmax=1, aspect="auto")
for (row, column), score in np.ndenumerate(scores):
    best = score == scores[:, column].max()
    weight = "bold" if best else "normal"
    colour = "black" if relative[row, column] > 0.4 else "white"
    ax.text(column, row, f"{score:.3f}", ha="center", va="center", weight=weight, color=colour)
ax.set_xticks(range(4), names)
ax.set_yticks(range(4), names)
ax.set(xlabel="evaluated metric", ylabel="optimised metric")
ax.grid(visible=False)
ax.spines[:].set_visible(False)
