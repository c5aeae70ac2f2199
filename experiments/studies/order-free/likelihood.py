"""What an order-free chain knows of the joint distribution of labels, and what it costs.

    python -m experiments.studies.order-free.likelihood [--data emotions,scene] [--seed 0]

Trained with its defaults on the training part of each data set (slashdot: the first two thirds),
measured on the test part. Three files are written to `--output`, by default beside this one.
`likelihood.csv` has a line for each data set:

* `independent`, `joint`, `mixture`: mean negative log-likelihood of a row's labelset by the
  calibrated first classifier alone, by the chain, and by `CTBNMixtureClassifier` with its defaults;
* `mode`: subset accuracy of the most probable labelset;
* `error_booster`, `error_first`, `error_chain`: expected calibration error (15 bins of equal width,
  all labels together) of a booster on all rows, its iterations found on five folds, of the first
  classifier as its boosters say it, and of the chain's `predict_proba`;
* `others_before`, `others_after`: mean log-loss of the other labels before and after one label is
  revealed, each label in turn (of 500 rows at most);
* `iterations`; `seconds`: processor time of `fit` with one thread.

Of tmc2007-500 the first 800 test rows count, as in the measurements that it is compared with.
`calibration.csv` has the bins of these errors, `calibration.svg` shows them.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.calibration import calibration_curve

from experiments import STUDIES
from experiments.studies.automatic.qualities import plain_booster
from xdcc.chain import OrderFreeChainClassifier
from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.data import load_dataset
from xdcc.decision.out_of_fold import mean_margins

DATASETS = "flags,emotions,birds,genbase,medical,scene,image,yeast,slashdot,tmc2007-500"
ROWS = {"tmc2007-500": 800}
MOST_REVEALED = 500
N_BINS = 15
MEASURED = (
    "data",
    "independent",
    "joint",
    "mixture",
    "mode",
    "error_booster",
    "error_first",
    "error_chain",
    "others_before",
    "others_after",
    "iterations",
    "seconds",
)
BINS = ("data", "model", "predicted", "observed", "entries")
COLOURS = {"booster": "C0", "chain": "C1"}

type Floats = NDArray[np.floating]


def log_loss(proba: Floats, Y: Floats) -> Floats:
    """Compute the log-loss of each entry."""
    return -np.log(np.clip(np.where(Y == 1, proba, 1 - proba), 1e-12, None))


def reliability(proba: Floats, Y: Floats) -> Floats:
    """Compute mean probability, frequency and number of entries of each bin that has any."""
    observed, predicted = calibration_curve(Y.ravel(), proba.ravel(), n_bins=N_BINS)
    # The bins of scikit-learn, which does not tell how many there are in each.
    inner = np.linspace(0, 1, N_BINS + 1)[1:-1]
    entries = np.bincount(np.searchsorted(inner, proba.ravel()), minlength=N_BINS)
    return np.stack((predicted, observed, entries[entries > 0]), axis=1)


def calibration_error(bins: Floats) -> float:
    """Compute the mean distance of probability and frequency over bins, by their entries."""
    predicted, observed, entries = bins.T
    return float(entries @ np.abs(predicted - observed) / entries.sum())


def load(name: str) -> tuple[Any, Floats, Any, Floats]:
    """Load X and Y of the training and the test part."""
    if name == "slashdot":
        data = load_dataset(name)
        n = len(data.Y) * 2 // 3
        return data.X[:n], np.asarray(data.Y[:n]), data.X[n:], np.asarray(data.Y[n:])
    train, test = load_dataset(name, "train"), load_dataset(name, "test")
    return train.X, np.asarray(train.Y), test.X, np.asarray(test.Y)


def measure(name: str, seed: int) -> tuple[list[Any], dict[str, Floats]]:
    """Train on a data set; return its line, and the bins of the booster and of the chain."""
    X, Y, X_test, Y_test = load(name)
    X_test, Y_test = X_test[: ROWS.get(name)], Y_test[: ROWS.get(name)]
    begin = time.process_time()
    model = OrderFreeChainClassifier(random_state=seed, n_jobs=1).fit(X, Y)
    seconds = time.process_time() - begin

    mixture = CTBNMixtureClassifier(random_state=seed, n_jobs=1).fit(X, Y)
    margins = mean_margins(model.estimators_, X_test, model.n_labels_)
    proba = model.predict_proba(X_test)
    booster = reliability(plain_booster(X, Y, seed).predict_proba(X_test), Y_test)
    chain = reliability(proba, Y_test)
    few, truth = X_test[:MOST_REVEALED], Y_test[:MOST_REVEALED]
    before, after = [], []
    for label in np.flatnonzero(model.calibration_.constant.varied):
        known = np.full(truth.shape, np.nan)
        known[:, label] = truth[:, label]
        others = np.arange(truth.shape[1]) != label
        before.append(log_loss(proba[:MOST_REVEALED], truth)[:, others].mean())
        after.append(log_loss(model.predict_proba(few, known=known), truth)[:, others].mean())
    line = [
        name,
        f"{log_loss(model.calibration_.proba(margins), Y_test).sum(axis=1).mean():.3f}",
        f"{-model.log_prob(X_test, Y_test).mean():.3f}",
        f"{-mixture.log_prob(X_test, Y_test).mean():.3f}",
        f"{(model.predict(X_test) == Y_test).all(axis=1).mean():.3f}",
        f"{calibration_error(booster):.4f}",
        f"{calibration_error(reliability(expit(margins), Y_test)):.4f}",
        f"{calibration_error(chain):.4f}",
        f"{np.mean(before):.4f}",
        f"{np.mean(after):.4f}",
        len(model.losses_) - 1,
        f"{seconds:.1f}",
    ]
    return line, {"booster": booster, "chain": chain}


def draw(of_data: dict[str, dict[str, Floats]], file: Path) -> None:
    """Draw a reliability diagram for each data set."""
    n_columns = min(5, len(of_data))
    n_rows = -(-len(of_data) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(2.2 * n_columns + 0.4, 2.3 * n_rows + 0.5),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, (name, models) in zip(axes.flat, of_data.items(), strict=False):
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        for model, bins in models.items():
            error = f"{model}, {calibration_error(bins):.3f}"
            ax.plot(*bins.T[:2], color=COLOURS[model], linewidth=0.8, marker=".", label=error)
        ax.set_title(name, fontsize=9)
        ax.legend(fontsize=6, loc="upper left", frameon=False)
    for ax in axes.flat[len(of_data) :]:
        ax.set_visible(False)
    figure.supxlabel("predicted probability", fontsize=9)
    figure.supylabel("share of labels that are there", fontsize=9)
    with plt.rc_context({"svg.hashsalt": file.stem, "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def write(file: Path, head: tuple[str, ...], lines: Iterator[Any]) -> None:
    """Write a CSV file."""
    with file.open("w", newline="") as opened:
        table = csv.writer(opened, lineterminator="\n")
        table.writerow(head)
        table.writerows(lines)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=DATASETS, help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=STUDIES / "order-free", help="a folder")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    lines, of_data = [], {}
    for name in arguments.data.split(","):
        line, of_data[name] = measure(name, arguments.seed)
        lines.append(line)
        print(*(f"{what} {value}" for what, value in zip(MEASURED, line, strict=True)))
        sys.stdout.flush()
    write(arguments.output / "likelihood.csv", MEASURED, iter(lines))
    write(
        arguments.output / "calibration.csv",
        BINS,
        (
            (name, model, f"{predicted:.4f}", f"{observed:.4f}", int(entries))
            for name, models in of_data.items()
            for model, bins in models.items()
            for predicted, observed, entries in bins
        ),
    )
    draw(of_data, arguments.output / "calibration.svg")


if __name__ == "__main__":
    main()
