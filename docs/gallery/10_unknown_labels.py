"""
Unknown labels
==============

In many tables only some labels of a row were ever looked at. A label that is NaN has no gradient:
the row teaches what is known of it. The alternatives are to take "unknown" for "absent", or to drop
every row that is not complete. All three, while more and more labels are hidden at random.
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc
from xdcc.metrics import micro_f1

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
random = np.random.default_rng(0)
draws = random.random(train.Y.shape)


def score(X, Y):
    """Fit a small booster, and measure it on the test part."""
    if len(X) < 10:
        return np.nan
    booster = xdcc.MultiLabelXGBClassifier(n_estimators=40, learning_rate=0.2, n_jobs=1)
    return micro_f1(test.Y, booster.fit(X, Y).predict(test.X))


shares = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
reached = {"unknown is unknown (NaN)": [], "complete rows only": [], "unknown is absent (0)": []}
for share in shares:
    Y = np.where(draws < share, np.nan, train.Y)
    complete = ~np.isnan(Y).any(axis=1)
    reached["unknown is unknown (NaN)"].append(score(train.X, Y))
    reached["complete rows only"].append(score(train.X[complete], train.Y[complete]))
    reached["unknown is absent (0)"].append(score(train.X, np.nan_to_num(Y)))

# %%
# With half of the labels hidden, hardly a row in a hundred is complete.

figure, ax = plt.subplots()
figure.set_label(
    "Micro F1 against the share of hidden labels: unknown labels as NaN lose little up to 80 %; "
    "complete rows run out at 40 %, and taking unknown labels for absent falls to almost nothing"
)
for marker, (name, values) in zip("os^", reached.items(), strict=True):
    ax.plot(100 * shares, values, marker=marker, label=name)
ax.set(xlabel="hidden labels (%)", ylabel="micro F1 of test rows", ylim=(0, 1))
ax.legend(loc="lower left")
