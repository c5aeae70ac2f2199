"""
Out-of-fold against in-sample chains
====================================

In the XDCC paper the later rounds of a chain are trained on what earlier ones predict for the rows
that they were trained on, and know by heart. In prediction the inputs are worse than in training,
and the chain trusts them too much. By default the training rows propagate predictions of boosters
that did not see them, as new rows will.
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
# The first round is the same single booster. After that each decided label helps the others, or
# misleads them: late rounds decide what is left, the hardest labels. By default a chain ends by
# itself (``chain_length="auto"``); here it goes on to the last label, so that one can see why.

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.4), sharex=True)
figure.set_label(
    "Example-based F1 and subset accuracy after each of seven rounds of two chains: both gain F1 "
    "for four rounds, then the in-sample chain falls below where it began, and the out-of-fold "
    "chain does not"
)
titles = ("example-based F1", "subset accuracy")
for ax, title, position in zip(axes, titles, range(2), strict=True):
    for marker, (name, values) in zip("os", scores.items(), strict=True):
        curve = [value[position] for value in values]
        ax.plot(range(1, len(curve) + 1), curve, marker=marker, label=name)
    ax.set(title=title, xlabel="round")
axes[0].set_ylabel("of test rows")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
