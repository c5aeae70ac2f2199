"""
Unknown labels
==============

In many tables, some labels of a row are unknown. In xdcc, a label that is NaN has no gradient, so
the model learns from the known labels of each row. The alternatives are to treat unknown labels as
absent, or to drop every incomplete row. This example compares all three while hiding more and more
labels at random.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc
from xdcc.metrics import micro_f1

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
random = np.random.default_rng(0)
draws = random.random(train.Y.shape)


def score(X, Y):
    """Fit a small booster and return its micro F1 on the test set."""
    if len(X) < 10:
        return np.nan
    booster = xdcc.MultiLabelXGBClassifier(n_estimators=40, learning_rate=0.2, n_jobs=1)
    return micro_f1(test.Y, booster.fit(X, Y).predict(test.X))


shares = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
scores = {"unknown labels as NaN": [], "complete rows only": [], "unknown labels as 0": []}
for share in shares:
    Y = np.where(draws < share, np.nan, train.Y)
    complete = ~np.isnan(Y).any(axis=1)
    scores["unknown labels as NaN"].append(score(train.X, Y))
    scores["complete rows only"].append(score(train.X[complete], train.Y[complete]))
    scores["unknown labels as 0"].append(score(train.X, np.nan_to_num(Y)))

# %%
# With half of the labels hidden, fewer than one row in a hundred is complete.

figure, ax = plt.subplots()
figure.set_label(
    "Micro F1 against the percentage of hidden labels: with NaN, little is lost up to 80 %; "
    "complete rows run out at 40 %, and treating unknown labels as 0 falls to almost nothing"
)
for marker, (name, values) in zip("os^", scores.items(), strict=True):
    ax.plot(100 * shares, values, marker=marker, label=name)
ax.set(xlabel="hidden labels (%)", ylabel="micro F1 on the test set", ylim=(0, 1))
ax.legend(loc="lower left")
