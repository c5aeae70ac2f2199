"""Label powerset (LP): every labelset that occurs in training is a class."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from xdcc.baselines.learner_classifier import LearnerClassifier
from xdcc.baselines.powerset_model import PowersetModel
from xdcc.validation import Features, check_features


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
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.

    Notes
    -----
    Probabilities of labels are sums of labelset probabilities, so `predict` need not be where they
    are at least 0.5. Missing values in X are the base learner's affair; in sparse X what is not
    stored is 0.

    References
    ----------
    G. Tsoumakas, I. Vlahavas: Random k-labelsets. ECML 2007.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimator=estimator, random_state=random_state)

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Zeros and ones; one dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : LabelPowerset
            The fitted estimator.

        Raises
        ------
        ValueError
            If the base learner has no probabilities or refuses the data, the data are not as
            described, or a label is unknown (NaN).
        """
        data, learner, _ = self._begin_fit(X, Y, sample_weight)
        self.model_ = PowersetModel(learner).fit(data.X, data.Y, data.sample_weight)
        self.labelsets_ = self.model_.labelsets
        return self

    def predict_labelset_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each labelset of the training data.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features as in `fit`.

        Returns
        -------
        float array of shape (n_samples, n_labelsets)
            In the order of `labelsets_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        check_is_fitted(self)
        return self.model_.labelset_proba(check_features(self, X))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.proba(X)

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return self.model_.predict(X)
