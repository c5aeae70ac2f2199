"""The strength of the L2 penalty, by cross-validation.

As in the paper one strength serves all models. It is the `C` of a grid with the smallest held-out
log loss of the parentless models, all labels together. The grid is walked from strong to weak
penalties, each starting at the last solutions, and left when the loss rises.
"""

import numpy as np

from xdcc.base.folds import stratified_folds
from xdcc.ctbn.logistic import Floats, Matrix, Penalty, Problems, linear_predictor, solve

GRID = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)

_FOLDS = 5

_TOL = 1e-5
"""Tolerance of the solver (``logistic.py``)."""


def choose_C(X: Matrix, Y: Floats, random: np.random.RandomState) -> float:
    """Choose the inverse strength `C` from `GRID`.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, n_features)
        Features, at least two rows.
    Y : float array of shape (n, n_labels)
        0, 1, or NaN for unknown, which does not count.
    random : RandomState
        Deals the rows out to five folds.

    Returns
    -------
    float
    """
    folds = stratified_folds(Y, min(_FOLDS, len(Y)), random)
    known = (~np.isnan(Y)).astype(float)
    labels = np.nan_to_num(Y)
    starts = [np.zeros((X.shape[1] + 2, Y.shape[1])) for _ in np.unique(folds)]
    smallest, chosen = np.inf, GRID[0]
    for C in GRID:
        loss = 0.0
        for number, fold in enumerate(np.unique(folds)):
            train, test = folds != fold, folds == fold
            problems = Problems(labels[train], known[train], np.zeros_like(labels[train]))
            solution = solve(X[train], problems, Penalty(1 / C, tol=_TOL), starts[number])
            starts[number] = solution.coef
            z = linear_predictor(X[test], solution.coef, np.zeros_like(labels[test]))
            loss += float((known[test] * (np.logaddexp(0, z) - labels[test] * z)).sum())
        if loss > smallest:
            break
        smallest, chosen = loss, C
    return chosen
