"""PCut: thresholds that predict as many labels as the training data has.

They need no true labels: the probabilities may be those of the data to be predicted, as in the
LaCovaC paper, where one threshold for all labels makes the label density predicted for the test
data equal to that of the training data.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.fit_data import check_weight
from xdcc.decision.cuts import Cuts, Floats, check_proba

_TOLERANCE = 1e-12
"""Differences of densities below it are rounding."""


@documented
def pcut(Y_proba: ArrayLike, density: float, *, sample_weight: ArrayLike | None = None) -> float:
    """Choose the threshold for all labels that predicts a given label density.

    Parameters
    ----------
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities, for example of the test data.
    density : float
        Wanted share of ones among all entries, that of the training labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the share.

    Returns
    -------
    float
        Threshold with the density nearest to the wanted one, the higher one (fewer labels) if
        two are equally near. It lies midway between neighbouring probabilities, so equal
        probabilities are predicted together.

    {raises_for_arguments}

    Examples
    --------
    >>> from xdcc.decision import apply_thresholds
    >>> Y_proba = [[0.9, 0.4], [0.7, 0.1], [0.6, 0.3]]
    >>> threshold = pcut(Y_proba, density=1 / 3)
    >>> round(threshold, 2), apply_thresholds(Y_proba, threshold).mean()
    (0.65, np.float64(0.3333333333333333))
    """
    proba = check_proba(Y_proba)
    return _cut_at(proba.ravel(), float(_shares(density, ())), _entry_weights(proba, sample_weight))


@documented
def per_label_pcut(
    Y_proba: ArrayLike, frequencies: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Choose a threshold for each label that predicts it with a given frequency.

    Parameters
    ----------
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities, for example of the test data.
    frequencies : array-like of shape (n_labels,)
        Wanted share of ones for each label, that of the training labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the share.

    Returns
    -------
    float64 array of shape (n_labels,)
        For each label what `pcut` chooses for it alone.

    {raises_for_arguments}

    Examples
    --------
    >>> per_label_pcut([[0.9, 0.4], [0.7, 0.1], [0.5, 0.2]], [1 / 3, 2 / 3])
    array([0.8 , 0.15])
    """
    proba = check_proba(Y_proba)
    wanted = _shares(frequencies, (proba.shape[1],))
    weight = _entry_weights(proba[:, :1], sample_weight)
    return np.array([_cut_at(*label, weight) for label in zip(proba.T, wanted, strict=True)])


def _cut_at(proba: Floats, share: float, weight: Floats) -> float:
    cuts = Cuts.of(proba)
    distance = np.abs(cuts.sums(weight) / weight.sum() - share)
    nearest = distance <= distance.min() + _TOLERANCE
    return float(cuts.thresholds[np.argmax(nearest)])


def _entry_weights(proba: Floats, sample_weight: ArrayLike | None) -> Floats:
    """Weights of the entries, row by row, of shape (n_samples * n_labels,)."""
    weight = check_weight(sample_weight, len(proba))
    if weight is None:
        return np.ones(proba.size)
    return np.repeat(weight.astype(np.float64), proba.shape[1])


def _shares(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    shares = np.asarray(values)
    if shares.shape != shape or shares.dtype.kind not in "iuf":
        wanted = "one number" if shape == () else f"{shape[0]} numbers, one for each label"
        raise ValueError(
            f"A density or frequency has to be {wanted}; "
            f"got {shares.dtype} of shape {shares.shape}."
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"A density or frequency is a share between 0 and 1; got {values!r}.")
    return shares.astype(np.float64)
