"""
Out-of-fold and in-sample chains
================================

In the XDCC paper, later steps of a chain are trained on in-sample predictions of earlier steps. New
rows have worse predictions than that, and the chain trusts them too much. By default, xdcc
propagates out-of-fold predictions during training, which are as uncertain as those of new rows.
"""

import matplotlib.pyplot as plt

import xdcc
from xdcc.metrics import example_f1, subset_accuracy

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
train = train[:250]

common = {"chain_length": None, "n_estimators": 15, "max_depth": 2, "random_state": 0, "n_jobs": 1}
chains = {
    "out of fold (default)": xdcc.DynamicChainClassifier(**common),
    "in sample (paper)": xdcc.DynamicChainClassifier(propagate="in_sample", **common),
}
scores = {}
for name, chain in chains.items():
    stages = list(chain.fit(train.X, train.Y).staged_predict(test.X))
    scores[name] = [(example_f1(test.Y, Y), subset_accuracy(test.Y, Y)) for Y in stages]

# %%
# The first step is the same single booster in both chains. After that, each decided label helps or
# misleads the others: late steps decide the hardest labels. By default, a chain stops early
# (``chain_length="auto"``). Here it continues to the last label to show why.

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.4), sharex=True)
figure.set_label(
    "Example-based F1 and subset accuracy after each of seven steps of two chains: F1 rises for "
    "four steps in both, then the in-sample chain falls below its starting point, and the "
    "out-of-fold chain does not"
)
titles = ("example-based F1", "subset accuracy")
for ax, title, position in zip(axes, titles, range(2), strict=True):
    for marker, (name, values) in zip("os", scores.items(), strict=True):
        curve = [value[position] for value in values]
        ax.plot(range(1, len(curve) + 1), curve, marker=marker, label=name)
    ax.set(title=title, xlabel="chain step")
axes[0].set_ylabel("test set")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
