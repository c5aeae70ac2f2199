"""
Time to quality, against LightGBM
=================================

How long does it take until held-out rows are predicted well? One booster for all labels, exact and
with splits on a random direction, and a LightGBM model per label, all with the same depth and
learning rate, on one thread. The benchmark on more data is among the
:doc:`results </results/index>`; this one is made in seconds.
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
    """Mean over all entries of the test rows' labels."""
    return -np.log(np.clip(np.where(Y_test == 1, proba, 1 - proba), 1e-7, 1)).mean()


def boosted(**sketch):
    """Train for all labels at once: seconds and probabilities of the test rows, now and then."""
    matrix, new = xgb.DMatrix(X, Y), xgb.DMatrix(X_test)
    settings = {"objective": "multilabel:logistic", "learning_rate": 0.1, "max_depth": 6}
    booster = xgb.Booster({**settings, "nthread": 1, "max_bin": 255, **sketch}, [matrix])
    seconds = 0.0
    for iteration in range(300):
        start = process_time()
        booster.update(matrix, iteration)
        seconds += process_time() - start
        if iteration % 15 == 14:
            yield seconds, booster.predict(new)


def one_per_label():
    """Train a LightGBM model for each label, a few iterations of each in turn."""
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
    "LightGBM, a model per label": one_per_label(),
    "one booster, exact": boosted(),
    "one booster, one direction": boosted(sketch_size=1),
}
figure, ax = plt.subplots(figsize=(7.5, 4.8))
figure.set_label(
    "Held-out log-loss against CPU seconds on a logarithmic axis: one booster with splits on one "
    "direction is lowest at any time, then the exact one; LightGBM begins later"
)
for marker, (name, curve) in zip("^os", curves.items(), strict=True):
    points = [(seconds, log_loss(proba)) for seconds, proba in curve]
    ax.plot(*zip(*points, strict=True), marker=marker, label=name)
ax.set_xscale("log")
ax.set(
    title="digits: 7 labels, 1,198 rows",
    xlabel="CPU seconds of training (log scale)",
    ylabel="log-loss of held-out rows",
)
ax.legend()
