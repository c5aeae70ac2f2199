"""Synthetic data with known dependences between the labels.

`make_multilabel` combines labels by logical rules and has several types of features. The other
three functions generate the data of section 5.1 of the BOOMER paper, after Dembczyński, Waegeman,
Cheng, Hüllermeier: "On label dependence and loss minimization in multi-label classification"
(Machine Learning 88, 2012). Points are uniform in the unit disc, a label is the side of a line
through the centre that a point is on, and labels are flipped at random:

- `make_marginally_independent`: each label has its own point;
- `make_marginally_dependent`: all labels have the same point and nearly the same line;
- `make_conditionally_dependent`: as before, but all labels are flipped together.

The optimal predictions are the sides (if the noise is below 1/2), and their losses are known.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.dataset import Features, MultiLabelDataset, as_labels

#: Share of nonzero features in sparse data.
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

    The first label is 1 if a random feature is positive. Each other label combines an earlier label
    (with its noise) and the sign of a random feature by *and*, *or* or *exclusive or*, chosen at
    random. Each label is then flipped with probability `noise`. So a label is an easy function of
    an earlier label and one feature, but a hard function of the features alone.

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
        Share, 0 to 1, of the values of `X` that are replaced by NaN (of the stored values, if `X`
        is sparse) after the labels are generated.
    unknown : float
        Share, 0 to 1, of the labels that are replaced by NaN.
    random_state : int, numpy.random.Generator or None
        Seed; the same int gives the same data.

    Returns
    -------
    MultiLabelDataset
        With the features x0, x1, ... and the labels y0, y1, ...

    Raises
    ------
    ValueError
        If `n_samples`, `n_features` or `n_labels` is below 1, or if `noise`, `missing` or `unknown`
        is not between 0 and 1.

    Examples
    --------
    >>> data = make_multilabel(4, n_features=3, n_labels=2, unknown=0.5, random_state=0)
    >>> data.Y
    array([[ 1., nan],
           [nan,  0.],
           [ 1., nan],
           [ 0., nan]])
    """
    _check_counts(n_samples=n_samples, n_features=n_features, n_labels=n_labels)
    _check_shares(noise=noise, missing=missing, unknown=unknown)
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
    return _dataset(X, Y, "synthetic")


def make_marginally_independent(
    n_samples: int = 10_000,
    n_labels: int = 6,
    *,
    noise: float = 0.1,
    directions: Sequence[float] | NDArray[np.float64] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> MultiLabelDataset:
    """Generate independent labels.

    Label k is the side of its own point, the features 2k and 2k + 1. Each label is flipped with
    probability `noise`, independently. The optimal Hamming loss is `noise`, the optimal subset 0/1
    loss 1 - (1 - noise)^n_labels; the defaults give .1 and .469.

    Parameters
    ----------
    n_samples, n_labels : int
        At least 1.
    noise : float
        Probability, 0 to 1, that a label is flipped.
    directions : sequence of n_labels floats, optional
        The direction of the positive side of each label, as an angle in radians from the first
        axis; random if None.
    random_state : int, numpy.random.Generator or None
        Seed; the same int gives the same data.

    Returns
    -------
    MultiLabelDataset
        With 2 n_labels features.

    Raises
    ------
    ValueError
        For a number outside its range, or a wrong number of directions.

    Examples
    --------
    >>> data = make_marginally_independent(n_labels=2, random_state=0)
    >>> bool(abs(np.corrcoef(data.Y.T)[0, 1]) < 0.05)
    True
    """
    _check_counts(n_samples=n_samples, n_labels=n_labels)
    _check_shares(noise=noise)
    random = np.random.default_rng(random_state)
    if directions is None:
        angles = random.uniform(0, 2 * np.pi, n_labels)
    else:
        angles = np.asarray(directions, dtype=np.float64)
    if angles.shape != (n_labels,) or not np.isfinite(angles).all():
        raise ValueError(f"directions must contain {n_labels} finite angles, one for each label")
    points = _points_in_disc((n_samples, n_labels), random)
    Y = points[..., 0] * np.cos(angles) + points[..., 1] * np.sin(angles) > 0
    Y ^= random.random(Y.shape) < noise
    return _dataset(points.reshape(n_samples, -1), Y, "marginal independence")


def make_marginally_dependent(
    n_samples: int = 10_000,
    n_labels: int = 6,
    *,
    noise: float = 0.1,
    spread: float = np.pi / 60,
    direction: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> MultiLabelDataset:
    """Generate labels that mostly coincide and are independent given the features.

    All labels are sides of the same point; the directions of their positive sides divide the angle
    `spread` equally. So the sides of the first and the last label differ for a share of spread / pi
    of the points. Each label is flipped with probability `noise`, independently; the optimal losses
    are as in `make_marginally_independent`.

    Parameters
    ----------
    n_samples, n_labels : int
        At least 1.
    noise : float
        Probability, 0 to 1, that a label is flipped.
    spread : float
        Angle, 0 to pi radians, between the directions of the first and the last label.
    direction : float
        Angle in radians from the first axis to the middle of the directions. With 0, the lines are
        nearly parallel to the second axis, so one condition on one feature separates the sides.
    random_state : int, numpy.random.Generator or None
        Seed; the same int gives the same data.

    Returns
    -------
    MultiLabelDataset
        With 2 features.

    Raises
    ------
    ValueError
        For a number outside its range.

    Examples
    --------
    >>> data = make_marginally_dependent(n_labels=2, noise=0, random_state=0)
    >>> bool(np.corrcoef(data.Y.T)[0, 1] > 0.95)
    True
    """
    random = np.random.default_rng(random_state)
    X, Y = _common_point(n_samples, n_labels, noise, spread, direction, random)
    Y ^= random.random(Y.shape) < noise
    return _dataset(X, Y, "strong marginal dependence")


def make_conditionally_dependent(
    n_samples: int = 10_000,
    n_labels: int = 6,
    *,
    noise: float = 0.1,
    spread: float = np.pi / 60,
    direction: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> MultiLabelDataset:
    """Generate labels that mostly coincide and also depend on each other given the features.

    As `make_marginally_dependent`, but with probability `noise`, all labels of a sample are
    flipped; otherwise none is. So the optimal Hamming loss and subset 0/1 loss are both `noise`.

    Parameters, results and errors are as in `make_marginally_dependent`.

    Examples
    --------
    >>> data = make_conditionally_dependent(1000, noise=0.3, spread=0, random_state=0)
    >>> data.n_labelsets
    2
    """
    random = np.random.default_rng(random_state)
    X, Y = _common_point(n_samples, n_labels, noise, spread, direction, random)
    Y ^= random.random((n_samples, 1)) < noise
    return _dataset(X, Y, "strong conditional dependence")


def _common_point(
    n_samples: int,
    n_labels: int,
    noise: float,
    spread: float,
    direction: float,
    random: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check the parameters; return points (n_samples, 2) and their sides (n_samples, n_labels)."""
    _check_counts(n_samples=n_samples, n_labels=n_labels)
    _check_shares(noise=noise)
    if not 0 <= spread <= np.pi:
        raise ValueError(f"spread is {spread}; expected 0 to pi")
    if not np.isfinite(direction):
        raise ValueError(f"direction is {direction}; expected a finite angle")
    points = _points_in_disc((n_samples,), random)
    # A single label has the direction of the middle.
    angles = direction + spread * (
        np.linspace(-0.5, 0.5, n_labels) if n_labels > 1 else np.zeros(1)
    )
    return points, points @ np.stack((np.cos(angles), np.sin(angles))) > 0


def _points_in_disc(shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float64]:
    """Draw points, shape + (2,), uniformly from the unit disc."""
    # The area within a radius is proportional to its square.
    radius = np.sqrt(random.random(shape))
    angle = random.uniform(0, 2 * np.pi, shape)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)


def _check_counts(**counts: int) -> None:
    for argument, number in counts.items():
        if number < 1:
            raise ValueError(f"{argument} is {number}; expected at least 1")


def _check_shares(**shares: float) -> None:
    for argument, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{argument} is {share}; expected 0 to 1")


def _dataset(
    X: Features, Y: NDArray[np.floating] | NDArray[np.bool_], name: str
) -> MultiLabelDataset:
    """Create a data set with numeric features x0, x1, ... and labels y0, y1, ..."""
    n_features, n_labels = X.shape[1], Y.shape[1]
    return MultiLabelDataset(
        X=X,
        Y=as_labels(Y.astype(float)),
        feature_names=tuple(f"x{i}" for i in range(n_features)),
        feature_types=tuple("numeric" for _ in range(n_features)),
        categories=tuple(None for _ in range(n_features)),
        label_names=tuple(f"y{k}" for k in range(n_labels)),
        name=name,
    )


def _chain_of_labels(
    positive: NDArray[np.bool_], n_labels: int, noise: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Generate labels (n_samples, n_labels) from `positive` features and earlier labels."""
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
