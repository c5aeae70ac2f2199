"""Speed of the trees of labels: the batched solver against one fit after the other.

    python experiments/benchmarks/ctbn_speed.py [--data yeast,scene,enron] [--mixture enron]

For each data set it trains the models that score the edges, of every label given every other one
as a feature (C=1), on two thirds of the rows: all in one batch as the classifier does it, with the
rotation of the features and a warm start at the parentless models, and with scikit-learn's
LogisticRegression one by one, of which at most 40, drawn at random, are fitted where there are
more. Both run on one thread in the same process; the ratio is that of the times per model, as CPU
time. It prints the largest difference of a coefficient, too. `--mixture` times a whole fit of
CTBNMixtureClassifier on two threads.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.ctbn.design import Design
from xdcc.ctbn.logistic import Penalty, Problems, solve
from xdcc.data import load_dataset

N_ALONE = 40
PENALTY = Penalty(1.0, l2_intercept=1e-9, tol=1e-14)


def batched(X: NDArray[np.float64], Y: NDArray[np.float64], pairs: Any) -> NDArray[np.float64]:
    """Coefficients (n_features + 2, n_pairs) of all models of (parent, label)."""
    design = Design(X)
    rows = design.transform(X)
    ones = np.ones_like(Y)
    start = np.zeros((rows.shape[1] + 2, Y.shape[1]))
    alone = solve(rows, Problems(Y, ones, 0 * ones), PENALTY, start)
    above, below = pairs.T
    problems = Problems(Y[:, below], np.ones((len(Y), len(pairs))), Y[:, above])
    return design.original(solve(rows, problems, PENALTY, alone.coef[:, below]).coef)


def one_by_one(X: NDArray[np.float64], Y: NDArray[np.float64], pairs: Any) -> NDArray[np.float64]:
    """Do the same with scikit-learn."""
    found = []
    for above, below in pairs:
        features = np.column_stack((X, Y[:, above]))
        model = LogisticRegression(tol=1e-7, max_iter=10_000).fit(features, Y[:, below])
        found.append(np.append(model.coef_[0], model.intercept_[0]))
    return np.array(found).T


def compare(name: str) -> None:
    """Time both on a data set and print a line."""
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(data))[: 2 * len(data) // 3]
    X = np.asarray(data.X[rows].toarray() if hasattr(data.X, "toarray") else data.X[rows], float)
    Y = data.Y[rows].astype(float)
    Y = Y[:, (Y.sum(axis=0) > 1) & (Y.sum(axis=0) < len(Y) - 1)]
    pairs = np.argwhere(~np.eye(Y.shape[1], dtype=bool))
    some = np.sort(np.random.default_rng(0).permutation(len(pairs))[:N_ALONE])
    begin = time.process_time()
    ours = batched(X, Y, pairs)
    batch = (time.process_time() - begin) / len(pairs)
    begin = time.process_time()
    theirs = one_by_one(X, Y, pairs[some])
    alone = (time.process_time() - begin) / len(some)
    print(
        f"{name}: {len(pairs)} models, {1000 * batch:.2f} ms each in a batch, "
        f"{1000 * alone:.2f} ms each one by one: {alone / batch:.1f} times faster; "
        f"coefficients differ by at most {np.abs(ours[:, some] - theirs).max():.1e}",
        flush=True,
    )


def mixture(name: str) -> None:
    """Time a whole mixture."""
    data = load_dataset(name)
    begin, cpu = time.perf_counter(), time.process_time()
    model = CTBNMixtureClassifier(random_state=0, n_jobs=2).fit(data.X, data.Y)
    print(
        f"{name}: mixture of {len(model.mixture_weights_)} trees (C={model.C_:g}) of "
        f"{len(data)} rows in {time.perf_counter() - begin:.0f} s on two threads, "
        f"{time.process_time() - cpu:.0f} s of CPU time",
        flush=True,
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="emotions,yeast,scene,enron")
    parser.add_argument("--mixture", default="enron")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in filter(None, options.data.split(",")):
            compare(name)
    if options.mixture:
        mixture(options.mixture)


if __name__ == "__main__":
    main()
