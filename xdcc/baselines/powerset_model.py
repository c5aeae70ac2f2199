"""Label powerset: one classifier whose classes are the labelsets of the training data."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.baselines.learner import fit_learner
from xdcc.decision.labelsets import number_labelsets


@documented
class PowersetModel:
    """A base learner for labelsets; a single labelset needs no learner.

    Parameters
    ----------
    learner : scikit-learn classifier
        Is copied.

    Attributes
    ----------
    labelsets : int8 array of shape (n_labelsets, n_labels)
        The labelsets of the training data, the most frequent first.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[0, 1], [1, 1], [1, 1]])
    >>> model = PowersetModel(DecisionTreeClassifier()).fit(X, Y, None)
    >>> model.labelsets, model.predict(X[:2])
    (array([[1, 1],
           [0, 1]], dtype=int8), array([[0, 1],
           [1, 1]]))
    """

    def __init__(self, learner: Any) -> None:
        self._learner = learner

    def fit(self, X: Features, Y: Labels, sample_weight: NDArray[np.float32] | None) -> Self:
        """Fit the learner.

        Parameters
        ----------
        {features}
        {zeros_and_ones}
        sample_weight : float32 array of shape (n_samples,) or None
            Weights of the rows, positive.

        Returns
        -------
        self : PowersetModel
        """
        self.labelsets, labelset = number_labelsets(Y, sample_weight)
        self._model = None
        if len(self.labelsets) > 1:
            self._model = fit_learner(clone(self._learner), X, labelset, sample_weight)
        return self

    def labelset_proba(self, X: Features) -> NDArray[np.float64]:
        """Probability of each labelset.

        {takes_features}

        Returns
        -------
        float array of shape (n_samples, n_labelsets)
        """
        if self._model is None:
            return np.ones((X.shape[0], 1))
        return self._model.predict_proba(X)

    def proba(self, X: Features) -> NDArray[np.float64]:
        """Probability of each label: the sum over the labelsets that hold it.

        {takes_features}

        Returns
        -------
        float array of shape (n_samples, n_labels)
        """
        # Sums of rounded probabilities may exceed 1 by a rounding error.
        return np.minimum(self.labelset_proba(X) @ self.labelsets.astype(np.float64), 1)

    def predict(self, X: Features) -> NDArray[np.int64]:
        """Predict the most probable labelset.

        {takes_features}

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Ties go to the more frequent labelset, then to the lexicographically smaller one.
        """
        return self.labelsets[self.labelset_proba(X).argmax(axis=1)].astype(np.int64)
