r"""
Comparison of split methods
===========================

A split of a shared tree helps some labels more than others. Table 1 of the XDCC paper has six ways
to combine the labels into one score: the sum or the maximum of the labels' gains
:math:`G_j^2/(H_j+\lambda)`, of their leaf values :math:`-G_j/(H_j+\lambda)`, or of the absolute
leaf values.
"""

import matplotlib.pyplot as plt
import xgboost as xgb

import xdcc
from tests.reference.boosting import node_score
from xdcc.boosting import SPLIT_METHODS

# %%
# This is the table's example: the gradients of four labels in a node, with :math:`H_j + \lambda =
# 1` for every label. The leaf values sum to 0, although the node has much to learn:

G, H = [-0.2, -0.8, 0.9, 0.1], [1.0, 1.0, 1.0, 1.0]
for method in SPLIT_METHODS:
    print(f"{method:10} {round(node_score(G, H, method, reg_lambda=0.0), 2) + 0:5.2f}")

# %%
# Train with each method on synthetic data in which labels depend on features and on other labels:

data = xdcc.data.make_multilabel(3000, n_features=12, n_labels=8, noise=0.05, random_state=1)
train, test = xgb.DMatrix(data.X[:1500], data.Y[:1500]), xgb.DMatrix(data.X[1500:], data.Y[1500:])
curves = {}
for method in SPLIT_METHODS:
    log = {}
    xgb.train(
        {
            "objective": "multilabel:logistic",
            "split_method": method,
            "eval_metric": ["logloss", "subset_loss"],
            "learning_rate": 0.1,
            "max_depth": 6,
            "nthread": 1,
        },
        train,
        num_boost_round=150,
        evals=[(test, "test")],
        evals_result=log,
        verbose_eval=False,
    )
    curves[method] = log["test"]

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.6), sharex=True)
figure.set_label(
    "Two panels with falling curves over 150 boosting rounds, log-loss and subset loss on the test "
    "set, one curve per split method: the gain methods fall first and furthest, sumWeight stays "
    "highest"
)
for position, method in enumerate(SPLIT_METHODS):
    style = {"color": f"C{position // 2}", "linestyle": ["-", "--"][position % 2]}
    axes[0].plot(curves[method]["logloss"], label=method, **style)
    axes[1].plot(curves[method]["subset_loss"], **style)
axes[0].set(title="log-loss", xlabel="boosting round", ylabel="test set")
axes[1].set(title="subset 0/1 loss", xlabel="boosting round")
figure.legend(loc="outside lower center", ncols=3)
