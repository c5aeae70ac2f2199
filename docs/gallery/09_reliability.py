"""
Reliability before and after calibration
========================================

A boosted model that is trained for too long is overconfident: of the labels to which it assigns a
probability of 95 %, far fewer are present. :class:`~xdcc.decision.TunedDecisionClassifierCV` stops
at the best out-of-fold boosting round and fits a sigmoid to the out-of-fold margins (Platt
scaling).
"""

import matplotlib.pyplot as plt
import numpy as np

import xdcc

data = xdcc.data.make_multilabel(6000, n_features=10, n_labels=6, noise=0.15, random_state=0)
train, test = data[:1500], data[1500:]

booster = xdcc.MultiLabelXGBClassifier(n_estimators=200, n_jobs=1, random_state=0)
calibrated = xdcc.TunedDecisionClassifierCV(
    booster, measure="hamming_accuracy", random_state=0
).fit(train.X, train.Y)
models = {"booster, 200 rounds": booster.fit(train.X, train.Y), "calibrated": calibrated}

# %%
# The test labels are grouped into ten bins by predicted probability. For a calibrated model, labels
# predicted with 70 % are present in 70 % of the cases: its curve is on the diagonal. The lower plot
# shows the fraction of predictions per bin.

edges = np.linspace(0, 1, 11)
figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.4, 6.6), height_ratios=[3, 1], sharex=True)
figure.set_label(
    "Reliability diagram: the booster's curve is flat, far from the diagonal at both ends, and the "
    "calibrated curve follows the diagonal; below, the booster's predictions cluster at 0 and 1"
)
upper.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="perfectly calibrated")
for place, (marker, (name, model)) in enumerate(zip("so", models.items(), strict=True)):
    proba = model.predict_proba(test.X).ravel()
    bins = np.clip(np.digitize(proba, edges) - 1, 0, 9)
    counts = np.bincount(bins, minlength=10)
    shown = counts > 30
    mean = np.bincount(bins, proba, minlength=10)[shown] / counts[shown]
    true = np.bincount(bins, test.Y.ravel(), minlength=10)[shown] / counts[shown]
    error = (np.abs(mean - true) * counts[shown]).sum() / counts.sum()
    upper.plot(mean, true, marker=marker, color=f"C{1 - place}", label=f"{name}: error {error:.3f}")
    x = edges[:-1] + 0.05 + (place - 0.5) * 0.036
    lower.bar(x, counts / counts.sum(), width=0.036, color=f"C{1 - place}")
upper.set_ylabel("fraction of positives")
upper.legend()
lower.set(xlabel="predicted probability", ylabel="fraction of all")
