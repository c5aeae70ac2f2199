"""Reference of `xdcc.decision.labelset_weights`: loops over rows and labelsets, no gradient."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.reference.boosting import Floats


def loss(
    params: Sequence[float] | Floats,
    margins: Floats,
    Y: NDArray[np.integer],
    weight: Floats,
    l2: float,
) -> float:
    """Compute the penalised negative log-likelihood of labelsets, each row left out of the counts.

    `params` are the temperature, the exponent of the counts, and a bias for each label.
    """
    temperature, exponent, bias = params[0], params[1], np.asarray(params[2:])
    counts: dict[tuple[int, ...], float] = {}
    for labels, w in zip(Y.tolist(), weight, strict=True):
        counts[tuple(labels)] = counts.get(tuple(labels), 0.0) + w
    total = l2 / 2 * float(bias @ bias)
    for margin, labels, w in zip(margins, Y.tolist(), weight, strict=True):
        others = dict(counts)
        others[tuple(labels)] -= w
        if others[tuple(labels)] < 1e-6:
            continue
        score = {
            labelset: sum(
                temperature * m + c for m, c, y in zip(margin, bias, labelset, strict=True) if y
            )
            + exponent * np.log(count)
            for labelset, count in others.items()
        }
        total += w * (np.log(sum(np.exp(s) for s in score.values())) - score[tuple(labels)])
    return float(total)


def weights(
    labelsets: NDArray[np.integer],
    counts: Floats,
    margins: Floats,
    Y: NDArray[np.integer],
    weight: Floats,
    l2: float,
) -> Floats:
    """Find the weights of labelsets, the largest being 1."""
    start = np.concatenate(([1.0, 0.5], np.zeros(Y.shape[1])))
    bounds = [(0.05, None), (0, None), *[(None, None)] * Y.shape[1]]
    found = minimize(loss, start, args=(margins, Y, weight, l2), bounds=bounds).x
    log_weight = (labelsets @ found[2:] + found[1] * np.log(counts)) / found[0]
    return np.exp(log_weight - log_weight.max())
