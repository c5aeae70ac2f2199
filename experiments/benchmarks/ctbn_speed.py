"""Speed of the trees of labels: the batched solver against one fit after the other.

    python -m experiments.benchmarks.ctbn_speed [--data emotions,yeast] [--mixture enron]

For each data set it trains the models that score the edges, of every label given every other one
as a feature (C=1), on two thirds of the rows: all in one batch as the classifier does it, with the
rotation of the features and a warm start at the parentless models, and with scikit-learn's
LogisticRegression one by one, by its default solver (lbfgs) and by newton-cholesky. Where there
are more than `--alone` models, so many drawn at random are fitted one by one. Tolerances are such
that coefficients are right to 1e-4, measured against newton-cholesky with a tolerance of 1e-12;
lbfgs cannot be that exact on emotions. Everything runs on one thread in the same process; ratios
are those of the CPU times per model. `--mixture` times a fit of CTBNMixtureClassifier on two
threads.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.ctbn.design import Design
from xdcc.ctbn.logistic import Penalty, Problems, solve
from xdcc.data import load_dataset

PENALTY = Penalty(1.0, l2_intercept=1e-9, tol=1e-11)
EXACT = {"solver": "newton-cholesky", "tol": 1e-12}
ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "lbfgs": {"solver": "lbfgs", "tol": 1e-8},
    "newton-cholesky": {"solver": "newton-cholesky", "tol": 1e-6},
}


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


def one_by_one(X: Any, Y: Any, pairs: Any, params: dict[str, Any]) -> NDArray[np.float64]:
    """Do the same with scikit-learn."""
    found = []
    for above, below in pairs:
        features = np.column_stack((X, Y[:, above]))
        model = LogisticRegression(max_iter=20_000, **params).fit(features, Y[:, below])
        found.append(np.append(model.coef_[0], model.intercept_[0]))
    return np.array(found).T


def compare(name: str, n_alone: int) -> None:
    """Time both on a data set and print what was found."""
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(data))[: 2 * len(data) // 3]
    part: Any = data.X[rows]
    X = np.asarray(part.toarray() if sparse.issparse(part) else part, float)
    Y = data.Y[rows].astype(float)
    Y = Y[:, (Y.sum(axis=0) > 1) & (Y.sum(axis=0) < len(Y) - 1)]
    pairs = np.argwhere(~np.eye(Y.shape[1], dtype=bool))
    some = np.sort(np.random.default_rng(0).permutation(len(pairs))[:n_alone])
    exact = one_by_one(X, Y, pairs[some], EXACT)
    begin = time.process_time()
    ours = batched(X, Y, pairs)[:, some]
    batch = (time.process_time() - begin) / len(pairs)
    print(
        f"{name}: {len(pairs)} models in a batch, {1000 * batch:.2f} ms each, coefficients off by "
        f"{np.abs(ours - exact).max():.0e}",
        flush=True,
    )
    for solver, params in ONE_BY_ONE.items():
        begin = time.process_time()
        theirs = one_by_one(X, Y, pairs[some], params)
        alone = (time.process_time() - begin) / len(some)
        print(
            f"  one by one with {solver}: {1000 * alone:.2f} ms, {alone / batch:.1f} times as "
            f"long, coefficients off by {np.abs(theirs - exact).max():.0e}",
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
    parser.add_argument("--alone", type=int, default=20)
    parser.add_argument("--mixture", default="enron")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in filter(None, options.data.split(",")):
            compare(name, options.alone)
    if options.mixture:
        mixture(options.mixture)


if __name__ == "__main__":
    main()
