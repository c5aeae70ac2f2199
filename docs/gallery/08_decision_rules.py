"""
Decision rules for four measures
================================

Which labels are the best prediction depends on how it is judged. Those of probability one half or
more are best for Hamming accuracy, the most probable *set* is for subset accuracy, and for F1 it
pays to predict more. :class:`~xdcc.decision.TunedDecisionClassifierCV` chooses a rule on
out-of-fold probabilities; here it is told each of four measures in turn.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc

# %%
# Rows are of six kinds, which the features tell apart with errors; a kind has labels that are
# frequent, occasional and rare. So there are typical labelsets, and doubt about which it is.

random = np.random.default_rng(0)
kind = random.integers(0, 6, 3000)
X = 1.1 * random.normal(size=(6, 5))[kind] + random.normal(size=(3000, 5))
frequency = random.choice([0.03, 0.15, 0.85], p=[0.6, 0.15, 0.25], size=(6, 10))
Y = (random.random((3000, 10)) < frequency[kind]).astype(int)

booster = xdcc.MultiLabelXGBClassifier(
    n_estimators=150, learning_rate=0.1, max_depth=4, sketch_size=1, n_jobs=1, random_state=0
)

measures = ("hamming_accuracy", "subset_accuracy", "example_f1", "macro_f1")
scores = []
for told in measures:
    model = xdcc.TunedDecisionClassifierCV(booster, measure=told, random_state=0)
    model.fit(X[:600], Y[:600])
    reached = xdcc.metrics.evaluate(Y[600:], model.predict(X[600:]))
    scores.append([reached[measure] for measure in measures])
    print(f"{told:17} {model.rule_}")

# %%
# A row says what was counted in training, a column what is counted on the test rows. The best of a
# column should be where the two meet.

scores = np.array(scores)
relative = (scores - scores.min(axis=0)) / np.ptp(scores, axis=0)
names = ["Hamming\naccuracy", "subset\naccuracy", "example-\nbased F1", "macro F1"]
figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "A table of four by four scores, told measure by counted measure; in each column the highest "
    "score is on the diagonal or close to it"
)
ax.imshow(relative, vmin=-0.6, vmax=1, aspect="auto")
for (row, column), score in np.ndenumerate(scores):
    best = score == scores[:, column].max()
    weight = "bold" if best else "normal"
    colour = "black" if relative[row, column] > 0.4 else "white"
    ax.text(column, row, f"{score:.3f}", ha="center", va="center", weight=weight, color=colour)
ax.set_xticks(range(4), names)
ax.set_yticks(range(4), names)
ax.set(xlabel="what is counted", ylabel="what was asked for")
ax.grid(visible=False)
ax.spines[:].set_visible(False)
