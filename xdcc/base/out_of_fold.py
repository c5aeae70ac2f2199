"""Probabilities of rows from models that have not seen them, and the models themselves.

An estimator that can train the models of all folds together, and find out in the same training
how long to train, offers a method ``out_of_fold`` with the signature of
:class:`TrainsOutOfFold`. Whoever needs such probabilities asks for the method, not for a class.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class OutOfFold(NamedTuple):
    """What training without one fold after the other gives.

    Attributes
    ----------
    proba : float array of shape (n_samples, n_labels)
        Probability that a label is 1, by the model that was trained without the row's fold.
    estimators : list of estimators, one for each fold
        Those models.
    unfitted : estimator
        Not fitted; with the settings that the folds found best, to be trained on all rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> found = OutOfFold(np.full((4, 1), 0.5), [DummyClassifier()] * 2, DummyClassifier())
    >>> len(found.estimators)
    2
    """

    proba: NDArray[np.floating]
    estimators: list[Any]
    unfitted: Any


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
