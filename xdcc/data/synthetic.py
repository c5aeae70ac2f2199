"""Generated data whose labels depend on each other by known logical rules."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.dataset import Features, MultiLabelDataset, as_labels

#: Share of the features of a sample that are not 0 in sparse data.
_SPARSE_SHARE = 0.3


def make_multilabel(
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    noise: float = 0.05,
    sparse_features: bool = False,
    missing: float = 0.0,
    unknown: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> MultiLabelDataset:
    """Generate data with a chain of dependent labels.

    The first label says whether a random feature is positive. Every further label combines an
    earlier label (of the noisy data, so that it is worth knowing) and whether a random feature is
    positive, by a random one of *and*, *or* and *exclusive or*. Each label is then flipped with
    probability `noise`. So a label is an easy function of an earlier label and one feature, but a
    hard function of the features alone.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        At least 1.
    noise : float
        Probability, 0 to 1, that a label is flipped.
    sparse_features : bool
        If True, `X` is a CSR array in which 30 % of the values are positive and the others 0. If
        False, `X` is dense with standard normal values.
    missing : float
        Share, 0 to 1, of the values of `X` that become NaN (of its stored values, if `X` is
        sparse). The labels are made before.
    unknown : float
        Share, 0 to 1, of the labels that become NaN.
    random_state : int, numpy.random.Generator or None
        Seed; the same int gives the same data.

    Returns
    -------
    MultiLabelDataset

    Raises
    ------
    ValueError
        For a number or share outside its range.
    """
    for argument, number in (
        ("n_samples", n_samples),
        ("n_features", n_features),
        ("n_labels", n_labels),
    ):
        if number < 1:
            raise ValueError(f"{argument} is {number}; expected at least 1")
    for argument, share in (("noise", noise), ("missing", missing), ("unknown", unknown)):
        if not 0 <= share <= 1:
            raise ValueError(f"{argument} is {share}; expected 0 to 1")
    random = np.random.default_rng(random_state)
    X: Features
    if sparse_features:
        stored = random.random((n_samples, n_features)) < _SPARSE_SHARE
        values = np.where(stored, random.uniform(0.5, 1.5, stored.shape), 0.0)
    else:
        values = random.standard_normal((n_samples, n_features))
    Y = _chain_of_labels(values > 0, n_labels, noise, random).astype(float)
    if sparse_features:
        X = sparse.csr_array(values)
        X.data[random.random(X.data.shape) < missing] = np.nan
    else:
        X = values
        X[random.random(X.shape) < missing] = np.nan
    Y[random.random(Y.shape) < unknown] = np.nan
    return MultiLabelDataset(
        X=X,
        Y=as_labels(Y),
        feature_names=tuple(f"x{i}" for i in range(n_features)),
        feature_types=tuple("numeric" for _ in range(n_features)),
        categories=tuple(None for _ in range(n_features)),
        label_names=tuple(f"y{k}" for k in range(n_labels)),
        name="synthetic",
    )


def _chain_of_labels(
    positive: NDArray[np.bool_], n_labels: int, noise: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return labels (n_samples, n_labels) that follow from `positive` features and each other."""
    n_samples, n_features = positive.shape
    rules = (np.logical_and, np.logical_or, np.logical_xor)
    Y = np.empty((n_samples, n_labels), dtype=bool)
    for label in range(n_labels):
        Y[:, label] = positive[:, random.integers(n_features)]
        if label > 0:
            earlier = Y[:, random.integers(label)]
            Y[:, label] = rules[random.integers(len(rules))](earlier, Y[:, label])
        Y[:, label] ^= random.random(n_samples) < noise
    return Y
