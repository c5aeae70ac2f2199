"""Weights of known labelsets by maximum likelihood.

With independent labels given x, labels that depend on each other are counted several times, and a
prior by frequency (``labelsets.py``) corrects all labelsets alike. Here each label has a bias c_j,
too: the posterior over the known labelsets U with their counts n_U is

    P(U | x)  is proportional to  exp(sum over j in U of (t m_j + c_j)) * n_U ** a,

where m are log-odds. This is a multinomial logistic regression whose classes are labelsets, so t, a
and c are found by convex optimisation of the likelihood, with a penalty on c. A row's own labelset
counts without this row; if no other row has it, the row is left out. So its own labelset is the
rarer one in a row, which by itself would make a negative; a is at least 0. What is most probable
does not change if all is divided by t: then a labelset has one number, its weight

    exp(sum over j in U of c_j / t) * n_U ** (a / t),

which takes the place of its count. This is a small conditional random field for labelsets, on
log-odds instead of features (N. Ghamrawi and A. McCallum: Collective Multi-label Classification,
CIKM 2005).
"""

import numpy as np

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import sample_rows
from xdcc.base.libraries import optimize, sparse
from xdcc.decision.cuts import Floats
from xdcc.decision.labelsets import KnownLabelsets

_L2 = 10.0
"""Penalty on the biases of labels."""

_LEAST_TEMPERATURE = 0.05
MOST_PAIRS = 2**20
"""Rows times labelsets of the likelihood: with more it is that of a sample of the rows."""

_MAX_ITER = 50
_LOWEST = -600.0
"""Lowest logarithm of a weight; the highest is 0."""


def fitted_weights(
    known: KnownLabelsets, data: FitData, most_pairs: int = MOST_PAIRS
) -> KnownLabelsets:
    """Give labelsets weights that make the labelsets of rows most likely.

    Parameters
    ----------
    known : KnownLabelsets
        Those of these rows.
    data : FitData
        X are log-odds that were not learned from the rows.
    most_pairs : int
        About this many rows times labelsets, but 500 rows at least: a sample if there are more.

    Returns
    -------
    KnownLabelsets
        The same labelsets; `counts` are their weights, the largest of which is 1.

    Examples
    --------
    Log-odds of 0 say nothing, so the more frequent labelset weighs more:

    >>> data = FitData(np.zeros((5, 2)), np.eye(2, dtype=np.float32)[[0, 0, 0, 1, 1]], None)
    >>> known = KnownLabelsets.of_data(data)
    >>> known.labelsets.tolist(), fitted_weights(known, data).counts.round(2).tolist()
    ([[0, 1], [1, 0]], [0.92, 1.0])
    """
    pairs = len(data.Y), len(known.labelsets)
    likelihood = _Likelihood(known, data.take(sample_rows(pairs, data.whole, most_pairs)))
    n_labels = known.labelsets.shape[1]
    bounds = [(_LEAST_TEMPERATURE, None), (0.0, None), *[(None, None)] * n_labels]
    start = np.concatenate(([1.0, 0.5], np.zeros(n_labels)))
    found = optimize.minimize(
        likelihood.loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": _MAX_ITER},
    ).x
    t, a, c = found[0], found[1], found[2:]
    log_weight = (known.labelsets @ c + a * np.log(known.counts)) / t
    weight = np.exp(np.maximum(log_weight - log_weight.max(), _LOWEST))
    return KnownLabelsets(known.labelsets, weight)


class _Likelihood:
    """The penalised negative log-likelihood of rows that share their labelset with others."""

    def __init__(self, known: KnownLabelsets, rows: FitData) -> None:
        position = {labelset.tobytes(): i for i, labelset in enumerate(known.labelsets)}
        own = np.array([position[labels.tobytes()] for labels in rows.Y.astype(np.int8)])
        weight = rows.weight
        left = known.counts[own] - weight
        shared = left > 1e-9 * known.counts[own]
        self._own, self._weight = own[shared], weight[shared]
        self._own_of_row = (self._own, np.arange(len(self._own)))
        self._log_count = np.log(known.counts)
        self._without = np.log(left[shared]) - self._log_count[self._own]
        # Rows are contiguous, as in the products with labelsets.
        self._margins = rows.X[shared].T.astype(np.float64)
        self._labels = self._weight * known.labelsets[self._own].T
        self._labelsets = sparse.csr_array(known.labelsets.astype(np.float64))
        self._transposed = sparse.csr_array(self._labelsets.T)

    def loss(self, params: Floats) -> tuple[float, Floats]:
        """Compute it, and its gradient."""
        t, a, c = params[0], params[1], params[2:]
        score = self._labelsets @ (t * self._margins + c[:, np.newaxis])
        score += (a * self._log_count)[:, np.newaxis]
        score[self._own_of_row] += a * self._without
        score -= score.max(axis=0)
        own = score[self._own_of_row]
        proba = np.exp(score, out=score)
        total = proba.sum(axis=0)
        loss = self._weight @ (np.log(total) - own)
        proba *= self._weight / total
        surplus = self._transposed @ proba - self._labels
        of_counts = proba.sum(axis=1) @ self._log_count - self._weight @ self._log_count[self._own]
        of_own = (proba[self._own_of_row] - self._weight) @ self._without
        gradient = [[(surplus * self._margins).sum(), of_counts + of_own]]
        gradient.append(surplus.sum(axis=1) + _L2 * c)
        return float(loss + _L2 / 2 * c @ c), np.concatenate(gradient)
