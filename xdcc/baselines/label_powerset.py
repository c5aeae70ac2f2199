"""Label powerset (LP): every labelset that occurs in training is a class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.baselines.learner_classifier import LearnerClassifier
from xdcc.baselines.powerset_model import PowersetModel


class LabelPowerset(LearnerClassifier):
    """One classifier whose classes are the labelsets of the training data.

    It predicts the most probable labelset; only labelsets that occur in training are predicted.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba` for several classes; None is a decision tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the base learner.

    Attributes
    ----------
    labelsets_ : int8 array of shape (n_labelsets, n_labels)
        The labelsets of the training data, the most frequent first.
    model_ : PowersetModel
        Holds the classifier.
    {fitted}

    Notes
    -----
    Probabilities of labels are sums of labelset probabilities, so `predict` need not be where they
    are at least 0.5. Missing values in X are the base learner's affair; in sparse X what is not
    stored is 0.

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

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self.model_ = PowersetModel(learner).fit(data.X, data.Y, data.sample_weight)
        self.labelsets_ = self.model_.labelsets

    def predict_labelset_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each labelset of the training data.

        {takes_X}

        Returns
        -------
        float array of shape (n_samples, n_labelsets)
            In the order of `labelsets_`.

        {raises_in_predict}
        """
        return self.model_.labelset_proba(self._check_X(X))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.proba(X)

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return self.model_.predict(X)
