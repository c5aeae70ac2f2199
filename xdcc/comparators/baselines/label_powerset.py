"""Label powerset (LP): each labelset of the training data is a class.

`PowersetModel` is the classifier of labelsets. LPBR (``lpbr.py``) has one for each group of labels.
"""

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.labels import Labels
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.comparators.baselines.learner import LearnerClassifier, fit_learner
from xdcc.decision.labelsets import number_labelsets


@stored
class PowersetModel:
    """A copy of a base learner that predicts `labelsets`, sorted by decreasing frequency.

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

    _learner: BaseEstimator
    labelsets: NDArray[np.int8]
    _model: BaseEstimator | None

    def __init__(self, learner: Any) -> None:
        self._learner = learner

    def fit(self, X: Features, Y: Labels, sample_weight: NDArray[np.float32] | None) -> Self:
        """Fit the learner; a single labelset needs none."""
        self.labelsets, labelset = number_labelsets(Y, sample_weight)
        self._model = None
        if len(self.labelsets) > 1:
            self._model = fit_learner(clone(self._learner), X, labelset, sample_weight)
        return self

    def labelset_proba(self, X: Features) -> NDArray[np.float64]:
        """Predict the probability of each labelset, (n_samples, n_labelsets)."""
        if self._model is None:
            return np.ones((X.shape[0], 1))
        return self._model.predict_proba(X)

    def proba(self, X: Features) -> NDArray[np.float64]:
        """Predict the probability of each label, (n_samples, n_labels)."""
        # Because of rounding, sums can exceed 1.
        return np.minimum(self.labelset_proba(X) @ self.labelsets.astype(np.float64), 1)

    def predict(self, X: Features) -> NDArray[np.int64]:
        """Predict the most probable labelset.

        Ties go to the more frequent labelset, then to the lexicographically smaller one.
        """
        return self.labelsets[self.labelset_proba(X).argmax(axis=1)].astype(np.int64)


@stored
class LabelPowerset(LearnerClassifier):
    """One classifier whose classes are the labelsets of the training data.

    It predicts the most probable labelset of the training data.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba` for several classes; None is a decision tree.
    random_state : int, RandomState instance or None, default=None
        Seed for the base learner; None is the seed 0.

    Attributes
    ----------
    labelsets_ : int8 array of shape (n_labelsets, n_labels)
        The labelsets of the training data, sorted by decreasing frequency.
    model_ : PowersetModel
        The classifier.
    {fitted}

    Notes
    -----
    Probabilities of labels are sums of labelset probabilities, so `predict` does not correspond to
    a threshold of 0.5.

    {missing_values}

    References
    ----------
    G. Tsoumakas, I. Vlahavas: Random k-labelsets. ECML 2007.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.LabelPowerset(random_state=0).fit(data.X, data.Y)
    >>> model.labelsets_.shape
    (8, 3)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    model_: PowersetModel
    labelsets_: Annotated[NDArray[np.int8], Shape(None, "n_labels_")]

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self.model_ = PowersetModel(learner).fit(data.X, data.Y, data.sample_weight)
        self.labelsets_ = self.model_.labelsets

    def predict_labelset_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each labelset of the training data.

        {takes_X}

        Returns
        -------
        float array of shape (n_samples, n_labelsets)
            In the order of `labelsets_`.

        {raises_in_predict}
        """
        return self.model_.labelset_proba(self._read_X(X))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.proba(X)

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return self.model_.predict(X)
