"""Folds, and the predictions of models that were trained without a fold.

In each fold every label is about as frequent as in all rows. A rare label in a single fold cannot
be learned there or measured elsewhere, so rows are dealt out by iterative stratification (Sechidis,
Tsoumakas, Vlahavas: "On the Stratification of Multi-label Data", 2011), by the library
`iterative-stratification`.

An estimator that can train the models of all folds together, and find out in the same training
how long to train, has a method ``out_of_fold`` with the signature of :class:`TrainsOutOfFold`;
estimators of this package also have ``_out_of_fold``, which takes checked data.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.base.seeds import generator_from


def stratified_folds(
    Y: NDArray[np.floating | np.bool_],
    n_folds: int,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.intp]:
    """Deal rows out to folds, label by label.

    Parameters
    ----------
    Y : float or bool array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown, which is dealt out like 0.
    n_folds : int
        Number of folds, from 2 to n_samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.

    Returns
    -------
    int array of shape (n_samples,)
        Number of each row's fold, from 0.

    Raises
    ------
    ValueError
        If there are not as many rows as folds.

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> folds = stratified_folds(Y, 2, random_state=0)
    >>> Y[folds == 0].sum(axis=0), Y[folds == 1].sum(axis=0)
    (array([1, 1]), array([1, 1]))
    """
    if n_folds > len(Y):
        raise ValueError(f"{n_folds} folds need as many rows, but n_samples={len(Y)}.")
    deal = MultilabelStratifiedKFold(
        n_folds, shuffle=True, random_state=generator_from(random_state)
    )
    present = np.nan_to_num(Y).astype(bool)
    # Whether a row has no label at all is dealt out like a label.
    present = np.column_stack((present, ~present.any(axis=1))).astype(np.int64)
    folds = np.empty(len(Y), dtype=np.intp)
    for number, (_, rows) in enumerate(deal.split(np.zeros(len(Y)), present)):
        folds[rows] = number
    return folds


def check_folds(folds: NDArray[np.intp], n_samples: int) -> None:
    """Raise a ValueError if there is not a fold for each of `n_samples` rows.

    Examples
    --------
    >>> check_folds(np.array([0, 1]), 3)
    Traceback (most recent call last):
    ValueError: folds has the shape (2,); it must be (3,), one per row.
    """
    if np.shape(folds) != (n_samples,):
        raise ValueError(
            f"folds has the shape {np.shape(folds)}; it must be {(n_samples,)}, one per row."
        )


type ShouldEnd = Callable[[int], bool]
"""Called between the steps of a training with their number; True ends it with what it has."""


class OutOfTime(Exception):
    """A training was ended before there was a model of each fold."""


class OutOfFold(NamedTuple):
    """The result of training without one fold after the other.

    Attributes
    ----------
    margins : float array of shape (n_samples, n_labels)
        Log-odds that a label is 1, by the model that was trained without the row's fold.
    estimators : list of estimators, one for each fold
        Those models.
    unfitted : estimator
        Not fitted; with the settings that the folds found best, to be trained on all rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> found = OutOfFold(np.zeros((4, 1)), [DummyClassifier()] * 2, DummyClassifier())
    >>> found.proba.T
    array([[0.5, 0.5, 0.5, 0.5]])
    """

    margins: NDArray[np.floating]
    estimators: list[Any]
    unfitted: Any

    @property
    def proba(self) -> NDArray[np.floating]:
        """Probability that a label is 1, `(n_samples, n_labels)`."""
        return np.asarray(expit(self.margins))


@runtime_checkable
class TrainsOutOfFold(Protocol):
    """An estimator that trains the models of all folds by itself.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> isinstance(DummyClassifier(), TrainsOutOfFold)
    False
    """

    def out_of_fold(
        self, X: Any, Y: Any, folds: NDArray[np.intp], sample_weight: Any = None
    ) -> OutOfFold:
        """Train a model for each fold without it; see :class:`OutOfFold`."""
