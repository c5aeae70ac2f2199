"""
Automatic model selection for a metric
======================================

:class:`~xdcc.automatic.MultiLabelClassifier` trains boosters, extra trees and linear models on
shared folds, mixes those that help, and selects a decision rule. Its only required choice is the
metric to optimise: here subset accuracy, the fraction of rows whose labels are all correct.
"""

import xdcc

data = xdcc.data.make_multilabel(1800, n_features=10, n_labels=8, noise=0.08, random_state=1)
train, test = data[:600], data[600:]
model = xdcc.MultiLabelClassifier("subset_accuracy", random_state=0, n_jobs=1)
model.fit(train.X, train.Y)

reached = xdcc.metrics.evaluate(test.Y, model.predict(test.X))["subset_accuracy"]
print(f"expected {model.best_score_:.3f}, on test rows {reached:.3f}")

# %%
# The mixture's log-loss falls as candidates enter it. Those with a share have another colour.

axes = model.plot_summary()
axes.figure.set_label(
    "Bar chart of the out-of-fold log-loss of four candidates, with a line for the mixture so far"
)

# %%
# Then the decision rules are compared on the mixture's out-of-fold probabilities. Scores are
# corrected for the optimism of selecting the best of many rules; error bars are one standard error.

axes = model.plot_rules()
axes.set_xlabel("subset accuracy")
axes.figure.set_label("Bar chart of the subset accuracy of each kind of decision rule")
