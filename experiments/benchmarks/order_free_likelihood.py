"""What an order-free chain knows of the joint distribution of labels, and what it costs.

    python experiments/benchmarks/order_free_likelihood.py [--data emotions,scene] [--seed 0]

Trained with its defaults on the training part of each data set (slashdot: the first two thirds),
measured on the test part, a line for each:

* `rows`: the first so many test rows of tmc2007-500 count, as in the measurements that it is
  compared with;
* `independent`, `joint`: mean negative log-likelihood of a row's labelset by the calibrated first
  classifier alone and by the chain;
* `mode`: subset accuracy of the most probable labelset;
* `ece`: expected calibration error (15 bins of equal width, all labels together) of the first
  classifier as its boosters say it, calibrated, and of `predict_proba`;
* `others`: mean log-loss of the other labels before and after one label is revealed, each label in
  turn (of 500 rows at most);
* `seconds`: processor time of `fit` with one thread.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.chain import OrderFreeChainClassifier
from xdcc.data import load_dataset
from xdcc.decision.out_of_fold import mean_margins

DATASETS = "flags,emotions,birds,genbase,medical,scene,image,yeast,slashdot,tmc2007-500"
ROWS = {"tmc2007-500": 800}
MOST_REVEALED = 500

type Floats = NDArray[np.floating]


def log_loss(proba: Floats, Y: Floats) -> Floats:
    """Compute the log-loss of each entry."""
    return -np.log(np.clip(np.where(Y == 1, proba, 1 - proba), 1e-12, None))


def calibration_error(proba: Floats, Y: Floats, n_bins: int = 15) -> float:
    """Compute the mean distance of probability and frequency over bins, by their entries."""
    bin_ = np.minimum((proba * n_bins).astype(int), n_bins - 1).ravel()
    distance = np.bincount(bin_, (proba - Y).ravel(), n_bins)
    return float(np.abs(distance).sum() / proba.size)


def load(name: str) -> tuple[Any, Floats, Any, Floats]:
    """Load X and Y of the training and the test part."""
    if name == "slashdot":
        data = load_dataset(name)
        n = len(data.Y) * 2 // 3
        return data.X[:n], np.asarray(data.Y[:n]), data.X[n:], np.asarray(data.Y[n:])
    train, test = load_dataset(name, "train"), load_dataset(name, "test")
    return train.X, np.asarray(train.Y), test.X, np.asarray(test.Y)


def measure(name: str, seed: int) -> str:
    """Train on a data set; return its line."""
    X, Y, X_test, Y_test = load(name)
    X_test, Y_test = X_test[: ROWS.get(name)], Y_test[: ROWS.get(name)]
    begin = time.process_time()
    model = OrderFreeChainClassifier(random_state=seed, n_jobs=1).fit(X, Y)
    seconds = time.process_time() - begin

    margins = mean_margins(model.estimators_, X_test, model.n_labels_)
    raw, calibrated = expit(margins), model.calibration_.proba(margins)
    proba = model.predict_proba(X_test)
    errors = [calibration_error(each, Y_test) for each in (raw, calibrated, proba)]

    few, truth = X_test[:MOST_REVEALED], Y_test[:MOST_REVEALED]
    before, after = [], []
    for label in np.flatnonzero(model.calibration_.constant.varied):
        known = np.full(truth.shape, np.nan)
        known[:, label] = truth[:, label]
        others = np.arange(truth.shape[1]) != label
        before.append(log_loss(proba[:MOST_REVEALED], truth)[:, others].mean())
        after.append(log_loss(model.predict_proba(few, known=known), truth)[:, others].mean())
    return (
        f"{name}: independent {log_loss(calibrated, Y_test).sum(axis=1).mean():.3f} "
        f"joint {-model.log_prob(X_test, Y_test).mean():.3f} "
        f"mode {(model.predict(X_test) == Y_test).all(axis=1).mean():.3f} "
        f"ece {' '.join(f'{error:.4f}' for error in errors)} "
        f"others {np.mean(before):.4f} {np.mean(after):.4f} "
        f"seconds {seconds:.1f} (iterations {len(model.losses_) - 1})"
    )


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=DATASETS, help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.data.split(","):
        print(measure(name, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
