"""Which Hessian a random combination of gradients is searched with: on folds of training parts.

    python -m experiments.benchmarks.sketch_hessians emotions medical --seeds 5

Row i of a tree is searched on g_i = sum_j c_j g_ij, with the labels' Hessians h_ij and normal c_j.
The rules for its Hessian:

- `squared`: sum_j c_j^2 h_ij, the second derivative along c, which the plugin has;
- `constant`: 1, as in SketchBoost;
- `mean of rows`: the mean of `squared` over the rows;
- `mean of labels`: the mean of h_ij over the labels, times sum_j c_j^2;
- `bound`: sum_j |c_j| h_ij times the largest |c_j|, which `squared` is never above;
- `fisher`: g_i^2.

The gradients come from an objective in Python that brings its own sketch (XGBoost's `split_grad`).
Learning rate 0.1, depth 6, 64 bins. Of three stratified folds of the training part each is held
out once; a cell of the table is the least held-out log-loss over the rounds, the mean of folds and
seeds, and how far the means of seeds lie apart (standard error). No test part is read.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy: libraries of linear algebra, too

import argparse
from collections.abc import Callable

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.folds import stratified_folds
from xdcc.boosting.log_loss import LogLoss
from xdcc.data import load_dataset

type Floats = NDArray[np.float32]

RULES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    # Labels' Hessians (n_samples, n_labels), coefficients (n_labels,), combined gradients.
    "squared": lambda h, c, g: h @ c**2,
    "constant": lambda h, c, g: np.ones_like(g),
    "mean of rows": lambda h, c, g: np.full_like(g, (h @ c**2).mean()),
    "mean of labels": lambda h, c, g: h.mean(axis=1) * (c**2).sum(),
    "bound": lambda h, c, g: (h @ np.abs(c)) * np.abs(c).max(),
    "fisher": lambda h, c, g: g**2,
}

PARAMS = {
    "updater": "grow_multilabel_hist",
    "multi_strategy": "multi_output_tree",
    "tree_method": "hist",
    "min_child_weight": 0,
    "base_score": 0.0,
    "eta": 0.1,
    "max_depth": 6,
    "max_bin": 64,
    "nthread": 1,
    "verbosity": 0,
}
PATIENCE, MOST_ROUNDS = 40, 1000


class Sketched(xgb.objective.TreeObjective):
    """Logistic loss, with splits searched on one random combination of the labels."""

    def __init__(self, Y: Floats, rule: str, seed: int) -> None:
        self._Y, self._rule, self._seed = Y, RULES[rule], seed

    def __call__(
        self, iteration: int, y_pred: Floats, dtrain: xgb.DMatrix
    ) -> tuple[Floats, Floats]:
        """Gradients and Hessians of all labels."""
        one = np.float32(1)
        p = one / (one + np.exp(-y_pred))
        return p - self._Y, np.maximum(p * (one - p), np.float32(1e-16))

    def split_grad(self, iteration: int, grad: Floats, hess: Floats) -> tuple[Floats, Floats]:
        """Gradients and Hessians that the iteration's tree is searched on."""
        rng = np.random.default_rng([self._seed, iteration])
        c = np.asarray(rng.standard_normal(grad.shape[1]), dtype=np.float32)
        combined = grad @ c
        return combined[:, np.newaxis], self._rule(hess, c, combined)[:, np.newaxis]


def held_out_loss(X: Floats, Y: Floats, held_out: NDArray[np.bool_], rule: str, seed: int) -> float:
    """Least log-loss of the rows that are held out, over the rounds."""
    start = np.clip(Y[~held_out].mean(axis=0), 1e-6, 1 - 1e-6)
    margin = np.log(start / (1 - start))
    matrices = []
    for rows in (~held_out, held_out):
        matrix = xgb.DMatrix(X[rows], Y[rows], nthread=1)
        matrix.set_base_margin(np.tile(margin, (int(rows.sum()), 1)))
        matrices.append(matrix)
    booster = xgb.Booster(PARAMS, matrices)
    objective = Sketched(Y[~held_out], rule, seed)
    loss = LogLoss(Y[held_out], None)
    best, best_round = np.inf, 0
    for round_ in range(MOST_ROUNDS):
        booster.update(matrices[0], round_, fobj=objective)
        now = loss(booster.predict(matrices[1], output_margin=True)) / Y[held_out].size
        if now < best:
            best, best_round = now, round_
        elif round_ - best_round >= PATIENCE:
            break
    return best


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", help="names of data sets with a training part")
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(f"| data | {' | '.join(arguments.rules)} |")
    print("| --- " * (len(arguments.rules) + 1) + "|")
    for name in arguments.data:
        data = load_dataset(name, "train")
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, np.float32)
        Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y, np.float32)
        folds = stratified_folds(Y.astype(float), 3, 0)
        cells = []
        for rule in arguments.rules:
            losses = np.array(
                [
                    [held_out_loss(X, Y, folds == fold, rule, seed) for fold in range(3)]
                    for seed in range(arguments.seeds)
                ]
            ).mean(axis=1)
            error = losses.std(ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else np.nan
            cells.append(f"{losses.mean():.5f} ± {error:.5f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
