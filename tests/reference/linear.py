"""Logistic regressions by definition: one label at a time, by Newton's method on whole matrices."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

type Floats = NDArray[np.float64]


def columns(X: Floats, weight: Floats, text_like: bool) -> Floats:
    """Impute, mark and scale numbers, feature by feature.

    Examples
    --------
    >>> columns(np.array([[1.0], [3.0], [np.nan]]), np.ones(3), text_like=False)
    array([[1.22474487, 0.        ],
           [3.67423461, 0.        ],
           [2.44948974, 2.12132034]])
    """
    found, marks = [], []
    for values in X.T:
        known = ~np.isnan(values)
        mean = np.average(values[known], weights=weight[known])
        found.append(np.where(known, values, mean))
        if not known.all():
            marks.append((~known).astype(float))
    scaled = []
    for values in [*found, *marks]:
        if text_like:
            n, d = weight.sum(), weight[values != 0].sum()
            scaled.append(values * (np.log((1 + n) / (1 + d)) + 1))
        else:
            mean = np.average(values, weights=weight)
            deviation = np.sqrt(np.average((values - mean) ** 2, weights=weight))
            scaled.append(values / deviation if deviation > 0 else 0 * values)
    made = np.column_stack(scaled)
    lengths = np.linalg.norm(made, axis=1) if text_like else np.ones(len(X))
    return made / np.where(lengths > 0, lengths, 1)[:, None]


def fit_one_label(features: Floats, target: Floats, weight: Floats, C: float) -> Floats:
    """Minimise the penalised log-loss; returns coefficients and the intercept in one array.

    Examples
    --------
    >>> coef = fit_one_label(np.array([[-1.0], [1.0]]), np.array([0, 1]), np.ones(2), C=1.0)
    >>> coef.round(3)
    array([0.675, 0.   ])
    """
    known = ~np.isnan(target) & (weight > 0)
    X = np.column_stack((features, np.ones(len(features))))[known]
    y, s = target[known], weight[known]
    penalty = np.append(np.full(features.shape[1], 1 / C), 0)
    coef = np.zeros(X.shape[1])

    def objective(coef: Floats) -> Floats:
        z = X @ coef
        return s @ (np.logaddexp(0, z) - y * z) + 0.5 * penalty @ coef**2

    for _ in range(200):
        proba = expit(X @ coef)
        gradient = X.T @ (s * (proba - y)) + penalty * coef
        hessian = (X.T * (s * proba * (1 - proba))) @ X + np.diag(penalty)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        length = 1.0
        while objective(coef - length * step) > objective(coef) and length > 1e-10:
            length /= 2
        coef = coef - length * step
        if np.abs(step).max() < 1e-12:
            break
    return coef


def margins(X: Floats, Y: Floats, weight: Floats, C: float, text_like: bool) -> Floats:
    """Train on rows and return their log-odds.

    Examples
    --------
    >>> X, Y = np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]])
    >>> margins(X, Y, np.ones(2), 1.0, text_like=False).round(3)
    array([[-0.675],
           [ 0.675]])
    """
    made = columns(X, weight, text_like)
    found = np.empty(Y.shape)
    for label, target in enumerate(Y.T):
        coef = fit_one_label(made, target, weight, C)
        found[:, label] = made @ coef[:-1] + coef[-1]
    return found
