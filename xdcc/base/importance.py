"""``LabelImportances``: how much an estimator uses each feature, for each label and for all."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


class LabelImportances:
    """An estimator that knows how much of the variation of its predictions each feature makes.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Plain(LabelImportances, BaseEstimator):
    ...     def fit(self, gains):
    ...         self.gains_ = np.array(gains)
    ...         return self
    ...
    ...     def _label_gains(self):
    ...         return self.gains_
    >>> model = Plain().fit([[1.0, 3.0], [0.0, 0.0]])
    >>> model.label_importances_, model.feature_importances_
    (array([[0.25, 0.75],
           [0.  , 0.  ]]), array([0.25, 0.75]))
    """

    @abstractmethod
    def _label_gains(self) -> NDArray[np.float64]:
        """Sum up what each feature contributes for each label, `(n_labels, n_features)`."""

    @property
    def label_importances_(self) -> NDArray[np.float64]:
        """How much each feature contributes to the predictions of each label.

        Returns
        -------
        float64 array of shape (n_labels, n_features)
            Each row sums to 1; it is zero if no feature contributes to the label.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        return _shares(self._label_gains())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each feature contributes to the predictions, summed over the labels.

        Returns
        -------
        float64 array of shape (n_features,)
            Sums to 1; zeros if no feature contributes.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        return _shares(self._label_gains().sum(axis=0, keepdims=True))[0]


def _shares(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its sum, `(n_rows, n_features)`."""
    total = gains.sum(axis=1, keepdims=True)
    return np.divide(gains, total, out=np.zeros_like(gains), where=total > 0)
