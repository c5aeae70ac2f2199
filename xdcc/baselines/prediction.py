"""``ProbaMixin``: the predictions that all baselines have, from probabilities."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.validation import Features, MultiLabelMixin, check_features


class ProbaMixin(MultiLabelMixin):
    """Checks X and makes labels of probabilities."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features as in `fit`.

        Returns
        -------
        float array of shape (n_samples, n_labels)
            Probability that the label is 1.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        check_is_fitted(self)
        return self._proba(check_features(self, X))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features as in `fit`.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Zeros and ones.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        check_is_fitted(self)
        return self._labels(check_features(self, X))

    @abstractmethod
    def _proba(self, X: Features) -> NDArray[np.float64]:
        """Predict probabilities for checked features."""

    def _labels(self, X: Features) -> NDArray[np.int64]:
        """Predict labels for checked features: 1 where the probability is at least 0.5."""
        return (self._proba(X) >= 0.5).astype(np.int64)
