"""
Thirty targets, one tree
========================

:class:`~xdcc.boosting.MultiTargetXGBRegressor` grows each tree for all numeric targets. This
example compares it with XGBoost's own two strategies, a booster per target and vector leaves, by
the time to a held-out error.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import xgboost as xgb

from xdcc.boosting import MultiTargetXGBRegressor

N_TARGETS = 30
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20))
factors = np.column_stack([X[:, :5], np.sin(2 * X[:, 5:9]), X[:, 9:12] * X[:, 12:15]])
Y = factors @ rng.normal(size=(12, N_TARGETS)) + rng.normal(size=(3000, N_TARGETS))
train, test = slice(0, 2000), slice(2000, 3000)

# %%
# All train 60 rounds at rate 0.15, in one thread. ``sketch_size=0`` has the trees of vector leaves.

common = {"max_depth": 5, "learning_rate": 0.15, "n_jobs": 1}
candidates = {
    "XGBoost, a booster per target": xgb.XGBRegressor(n_estimators=60, **common),
    "XGBoost, vector leaves": xgb.XGBRegressor(
        n_estimators=60, multi_strategy="multi_output_tree", **common
    ),
    "all targets": MultiTargetXGBRegressor(
        n_estimators=60, sketch_size=0, scale_targets=False, **common
    ),
    "one sketch dimension": MultiTargetXGBRegressor(n_estimators=500, sketch_size=1, **common),
}
curves = {}
for name, model in candidates.items():
    start = process_time()
    model.fit(X[train], Y[train])
    seconds = process_time() - start
    shown = np.unique(np.geomspace(3, model.n_estimators, 15).astype(int))
    predicted = [
        model.get_booster().inplace_predict(X[test], iteration_range=(0, n)) for n in shown
    ]
    errors = [np.sqrt(np.mean((each - Y[test]) ** 2)) for each in predicted]
    curves[name] = (seconds * shown / model.n_estimators, errors)

figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "Falling curves of held-out error against seconds of training, for two strategies of XGBoost "
    "and two of MultiTargetXGBRegressor"
)
for name, (seconds, errors) in curves.items():
    ax.plot(seconds, errors, marker=".", label=name)
ax.set(
    title="30 targets, 2,000 rows",
    xlabel="CPU seconds of training",
    ylabel="held-out root mean squared error",
    xscale="log",
)
ax.legend()

# %%
# Targets may be in different units. Splits are searched on gradients that are divided by the spread
# of each target, so that the one in the largest unit does not choose them alone:

units = np.geomspace(1e-3, 1e3, N_TARGETS)
Y_units = factors[:, np.arange(N_TARGETS) % 12] + rng.normal(size=Y.shape) / 2
Y_units *= units
for scale_targets in (True, False):
    model = MultiTargetXGBRegressor(
        n_estimators=60, sketch_size=0, scale_targets=scale_targets, **common
    )
    score = model.fit(X[train], Y_units[train]).score(X[test], Y_units[test])
    print(f"scale_targets={scale_targets}: mean R² {score:.2f}")
