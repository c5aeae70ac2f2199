"""
Time to quality compared with LightGBM
======================================

How long does training take to reach a given held-out log-loss? This example compares one booster
for all labels, with exact splits and with a sketch, to one LightGBM model per label. All use the
same depth and learning rate and one thread. The :doc:`results </results/index>` include a benchmark
on more data; this one runs in seconds.
"""

from time import process_time

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import xgboost as xgb

import xdcc

train, test = (xdcc.data.load_dataset("digits", part) for part in ("train", "test"))
X, Y, X_test, Y_test = train.X, train.Y, test.X, test.Y


def log_loss(proba):
    """Return the mean log-loss over all test labels."""
    return -np.log(np.clip(np.where(Y_test == 1, proba, 1 - proba), 1e-7, 1)).mean()


def boosted(**sketch):
    """Train one booster for all labels; yield CPU seconds and test probabilities at intervals."""
    matrix, new = xgb.DMatrix(X, Y), xgb.DMatrix(X_test)
    settings = {"objective": "multilabel:logistic", "learning_rate": 0.1, "max_depth": 6}
    booster = xgb.Booster({**settings, "nthread": 1, "max_bin": 255, **sketch}, [matrix])
    seconds = 0.0
    for round_number in range(300):
        start = process_time()
        booster.update(matrix, round_number)
        seconds += process_time() - start
        if round_number % 15 == 14:
            yield seconds, booster.predict(new)


def one_per_label():
    """Train one LightGBM model per label, a few boosting rounds at a time."""
    settings = {"objective": "binary", "learning_rate": 0.1, "max_depth": 6, "num_leaves": 63}
    settings |= {"min_data_in_leaf": 1, "lambda_l2": 1.0, "num_threads": 1, "verbose": -1}
    start = process_time()
    models = [lightgbm.Booster(settings, lightgbm.Dataset(X, y, params=settings)) for y in Y.T]
    seconds = process_time() - start
    for _ in range(20):
        start = process_time()
        for model in models:
            for _ in range(15):
                model.update()
        seconds += process_time() - start
        yield seconds, np.column_stack([model.predict(X_test) for model in models])


curves = {
    "LightGBM, one model per label": one_per_label(),
    "one booster, exact splits": boosted(),
    "one booster, one sketch dimension": boosted(sketch_size=1),
}
figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "Held-out log-loss against CPU seconds on a logarithmic axis: the booster with one sketch "
    "dimension is lowest at all times, followed by exact splits; LightGBM starts later"
)
for marker, (name, curve) in zip("^os", curves.items(), strict=True):
    points = [(seconds, log_loss(proba)) for seconds, proba in curve]
    ax.plot(*zip(*points, strict=True), marker=marker, label=name)
ax.set_xscale("log")
ax.set(
    title="digits: 7 labels, 1,198 rows",
    xlabel="CPU seconds of training (log scale)",
    ylabel="held-out log-loss",
)
ax.legend()
